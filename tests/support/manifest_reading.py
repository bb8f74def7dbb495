"""Reads a dataset back as its manifest describes it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import penstock as ps


def read_records(folder: str | Path, manifest: ps.Manifest) -> list[bytes]:
    return [record for shard in manifest.shards for record in ps.RecordReader(f"{folder}/{shard.name}")]


def read_back(folder: str | Path, manifest: ps.Manifest) -> ps.Batch:
    return ps.Decoder(manifest.schema).decode(read_records(folder, manifest))


def values(folder: str | Path, manifest: ps.Manifest, name: str = "x") -> list[Any]:
    return read_back(folder, manifest)[name].tolist()


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in sorted(os.listdir(folder))}
