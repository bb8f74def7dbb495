"""The package tfrecord: a dict of arrays per record, put together into batches as a loader for torch does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import tfrecord
from workload_columns import BATCH, COLUMNS, Column, plain

_KINDS = {"raw": "byte", "bytes": "byte", "float": "float", "int64": "int"}


def parse(path: str, workload: str) -> Iterator[dict[str, Any]]:
    described = COLUMNS[workload]
    examples = _examples(path, described)
    while rows := list(islice(examples, BATCH[workload])):
        yield {name: _collate(column, [row[name] for row in rows]) for name, column in described.items()}


def _examples(path: str, described: dict[str, Column]) -> Iterator[dict[str, Any]]:
    context = {name: _KINDS[column.stored] for name, column in described.items() if not column.sequence}
    sequence = {name: _KINDS[column.stored] for name, column in described.items() if column.sequence}
    if not sequence:
        return iter(tfrecord.tfrecord_loader(path, None, context))
    pairs = tfrecord.tfrecord_loader(path, None, context, sequence_description=sequence)
    return ({**found, **steps} for found, steps in pairs)


def _collate(column: Column, values: list[Any]) -> Any:
    if column.stored == "raw":
        return np.frombuffer(b"".join(values), column.dtype).reshape(-1, *column.shape)
    if column.stored == "bytes" or column.shape is None:
        return values
    if column.sequence:
        return np.stack([np.stack(steps) for steps in values])
    return np.stack(values).reshape(-1, *column.shape)


def plain_columns(batch: dict[str, Any], path: str, workload: str) -> dict[str, Iterable[Any]]:
    return {name: _plain(column, batch[name]) for name, column in COLUMNS[workload].items()}


def _plain(column: Column, values: Any) -> Iterable[Any]:
    if column.shape is None:
        return plain(column, np.concatenate(values), [len(value) for value in values])
    if column.sequence:
        return plain(column, values, [len(steps) for steps in values])
    return plain(column, values)
