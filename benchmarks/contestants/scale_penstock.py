"""Penstock with a number of threads: batches, gzip members, checks, statistics and differences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from decoded import schema_of

import penstock as ps


@cache
def _dataset(paths: tuple[str, ...], workload: str, threads: int) -> ps.Dataset:
    return ps.Dataset(paths, schema=schema_of(workload), threads=threads)


def batches(paths: Sequence[str], workload: str, batch: int, threads: int) -> int:
    """Decode all columns in the order of the files; return how many rows there are."""
    return sum(map(len, _dataset(tuple(paths), workload, threads).batch(batch)))


def shuffled(paths: Sequence[str], workload: str, batch: int, threads: int) -> int:
    """The same in an exact shuffle; the indexes are built in the check, which is not timed."""
    return sum(map(len, _dataset(tuple(paths), workload, threads).shuffle(seed=7).batch(batch)))


def chunks(paths: Sequence[str], threads: int) -> int:
    """Read and check the records of the files."""
    return sum(len(chunk) for path in paths for chunk in ps.RecordReader(path, threads=threads).chunks())


def verify(paths: Sequence[str]) -> int:
    """Check the files; return how many records are good."""
    return ps.verify(list(paths), progress=False).records


def stats(paths: Sequence[str], workload: str) -> int:
    """Describe all columns; return how many records there are."""
    return ps.stats(list(paths), schema=schema_of(workload), progress=False).records


def diff(paths: Sequence[str], others: Sequence[str], workload: str, by_key: bool) -> int:
    """Compare datasets by position, or by their first feature; return how many records of both there are."""
    by = next(iter(schema_of(workload))) if by_key else None
    report = ps.diff(list(paths), list(others), by=by)
    assert report.changed == report.removed == report.added == 0
    return report.a_records + report.b_records


def write_gzip(columns: str, workload: str, output: str) -> int:
    """Write a dataset of gzip members; return how many rows there are."""
    schema, values = schema_of(workload), _columns(columns)
    ps.write(output, values, schema=schema, shards=16, compression="GZIP", replace=True, progress=False)
    return len(next(iter(values.values())))


@cache
def _columns(path: str) -> dict[str, Any]:
    with np.load(path) as arrays:
        return {name: np.tile(arrays[name], 5) for name in arrays}
