"""Folders as TFDS writes them, made without TFDS."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import penstock as ps

SCHEMA = ps.Schema({"id": int})


def write_directory(folder: Path, splits: Mapping[str, Sequence[int]], template: str = "", **info: Any) -> Path:
    """Write a dataset with shards of some lengths; ids count through all splits. ``info`` may name another format."""
    file_format = info.setdefault("fileFormat", "tfrecord")
    folder.mkdir(parents=True, exist_ok=True)
    next_id, entries = 0, []
    for split, lengths in splits.items():
        entry = {"name": split, "shardLengths": [str(length) for length in lengths]}
        entries.append(entry | ({"filepathTemplate": template} if template else {}))
        for shard, length in enumerate(lengths):
            name = (template or "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}").format(
                DATASET="toy",
                SPLIT=split,
                FILEFORMAT=file_format,
                SHARD_INDEX=f"{shard:05}",
                NUM_SHARDS=f"{len(lengths):05}",
                SHARD_X_OF_Y=f"{shard:05}-of-{len(lengths):05}",
            )
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with closing(_open(folder / name, file_format)) as writer:
                for record in ps.Encoder(SCHEMA).encode({"id": list(range(next_id, next_id + length))}):
                    writer.write(record)
            next_id += length
    document = {"name": "toy", "version": "1.0.0", "splits": entries} | info
    (folder / "dataset_info.json").write_text(json.dumps(document))
    (folder / "features.json").write_text(SCHEMA.to_tfds())
    return folder


def _open(path: Path, file_format: str) -> Any:
    if file_format == "tfrecord":
        return ps.RecordWriter(path)
    module = pytest.importorskip("array_record.python.array_record_module")
    return module.ArrayRecordWriter(str(path), "group_size:1")
