"""Datasets of numbered records, for tests of what comes when."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import penstock as ps

COUNTS = (7, 1, 0, 12, 5)
"""Records in each shard."""
TOTAL = sum(COUNTS)

KINDS = ("plain", "members", "stream")
"""Plain files, gzip as Penstock writes it, and gzip as others do: one stream."""

SCHEMA = ps.Schema({"id": ps.Feature("int64"), "items": ps.Feature("int64", (None,)), "text": ps.Feature("str")})


def row_of(number: int) -> dict[str, Any]:
    """The row of a number: a scalar, a list of some length, a text."""
    return {"id": number, "items": list(range(number % 4)), "text": f"row {number}"}


def write_shards(folder: Path, kind: str, counts: tuple[int, ...] = COUNTS) -> list[str]:
    """Write shards whose records are numbered through."""
    files, first = [], 0
    for shard, count in enumerate(counts):
        file = folder / f"data-{shard:05d}-of-{len(counts):05d}.tfrecord"
        records = ps.Encoder(SCHEMA).encode([row_of(number) for number in range(first, first + count)])
        with ps.RecordWriter(file, compression="GZIP" if kind == "members" else None) as writer:
            for record in records:
                writer.write(record)
                if kind == "members":
                    writer.flush()  # ends a member, so that small files have several
        if kind == "stream":
            file.write_bytes(gzip.compress(file.read_bytes()))
        files.append(str(file))
        first += count
    SCHEMA.save(folder / "data.schema.json")
    return files


def ids(ds: ps.Dataset) -> list[int]:
    """The numbers of the rows of a dataset."""
    return [int(row["id"]) for row in ds]
