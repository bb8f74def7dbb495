"""Penstock's schemas of the workloads, and what its batches hold."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from fingerprint import column_fingerprint
from workload_columns import COLUMNS, plain

import penstock as ps


def schema_of(workload: str) -> ps.Schema:
    context: dict[str, ps.Feature] = {}
    sequence: dict[str, ps.Feature] = {}
    for name, column in COLUMNS[workload].items():
        shape = (None,) if column.shape is None else column.shape
        feature = ps.Feature(column.dtype, shape, encoding="raw" if column.stored == "raw" else "list")
        (sequence if column.sequence else context)[name] = feature
    return ps.Schema(context, sequence=sequence or None)


def read_batches(path: Path | str, workload: str, size: int) -> Iterator[ps.Batch]:
    return ps.Decoder(schema_of(workload)).decode_batches(ps.RecordReader(path).chunks(), size)


def parts_of(column: Any) -> tuple[Any, Any]:
    """Values, and the lengths of rows where they may differ."""
    if isinstance(column, ps.Ragged):
        return column.values, column.lengths
    return (column.to_list() if isinstance(column, ps.BytesColumn) else column), None


def plain_batch(batch: ps.Batch, workload: str) -> dict[str, Iterator[Any]]:
    return {name: plain(COLUMNS[workload][name], *parts_of(column)) for name, column in batch.items()}


def expected_columns(path: Path | str, workload: str, rows: int | None = None) -> dict[str, list[list[int]]]:
    """The fingerprint of the columns of a file, or of its first rows."""
    batches = read_batches(path, workload, rows or 1024)
    return column_fingerprint(plain_batch(batch, workload) for batch in islice(batches, 1 if rows else None))
