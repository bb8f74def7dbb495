"""Builds RaggedTensors from flat values and row partitions that are features, too.

Partitions come from files, so they are always validated (TensorFlow does so only on request): the rows of an example
must cover all of its values and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.tf.errors import InvalidArgumentError
from penstock.tf.io.features import RaggedFeature
from penstock.tf.tensors.dtypes import DType
from penstock.tf.tensors.ragged_tensor import RaggedTensor
from penstock.tf.tensors.tensor import Tensor

Integers = NDArray[np.int64]

# Row ids may skip rows, and nothing else bounds their number: a few bytes must not allocate terabytes.
_MAX_EMPTY_ROWS = 1 << 20


class Lists(NamedTuple):
    """One list of values per example: all values, and their number per example."""

    values: NDArray[Any]
    counts: Integers

    @property
    def offsets(self) -> Integers:
        """The start of each list, and the end of the last."""
        return offsets_of(self.counts)


class Level(NamedTuple):
    """One ragged dimension: the length of each row, and the number of rows per example."""

    lengths: Integers
    counts: Integers
    uniform: int | None = None


def build_ragged(lists: Lists, partitions: Sequence[Any], find: Callable[[str], Lists], splits_dtype: DType) -> Any:
    """Partition the values of all examples.

    Args:
        lists: The values of all examples.
        partitions: The row partitions, the outermost first.
        find: Returns the lists of a partition's key.
        splits_dtype: The dtype of row splits.

    Returns:
        A RaggedTensor, or a tensor without ragged partitions; and the number of its outermost rows per example.
    """
    built: Any = Tensor(lists.values)
    counts = lists.counts
    for partition in reversed(partitions):
        level = _level(partition, counts, find)
        if level.uniform is not None and isinstance(built, Tensor):
            array = built._array
            built = Tensor(array.reshape(len(level.lengths), level.uniform, *array.shape[1:]))
        else:
            splits = splits_of(level.lengths, splits_dtype)
            built = RaggedTensor(built, splits, uniform_row_length=level.uniform)
        counts = level.counts
    return built, counts


def splits_of(lengths: Integers, dtype: DType) -> NDArray[Any]:
    """Return row splits in a dtype."""
    offsets = offsets_of(lengths)
    if offsets[-1] > dtype.max:
        raise InvalidArgumentError(
            f"{offsets[-1]} values are too many for row splits of {dtype.name}: use row_splits_dtype=tf.int64"
        )
    return offsets.astype(dtype.numpy)


def offsets_of(lengths: Integers) -> Integers:
    """Convert lengths to offsets."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _level(partition: Any, counts: Integers, find: Callable[[str], Lists]) -> Level:
    if isinstance(partition, RaggedFeature.UniformRowLength):
        length = int(partition.length)
        if length < 1 or (counts % length).any():
            raise InvalidArgumentError(f"rows of {length} do not divide the values of an example")
        rows = counts // length
        return Level(np.full(rows.sum(), length, np.int64), rows, length)
    lists = find(partition.key)
    if len(lists.counts) != len(counts):
        raise InvalidArgumentError(f"the partition {partition.key!r} does not have as many lists as the values")
    most = int(counts.max(initial=0))
    if ((lists.values < 0) | (lists.values > most + _MAX_EMPTY_ROWS)).any():
        raise InvalidArgumentError(f"the partition {partition.key!r} does not fit {most} values")
    level = _READ[type(partition)](lists, counts)
    totals = np.add.reduceat(np.append(level.lengths, 0), offsets_of(level.counts)[:-1]) if len(counts) else counts
    totals = np.where(level.counts > 0, totals, 0)
    if (level.lengths < 0).any() or (totals != counts).any():
        raise InvalidArgumentError(f"the partition {partition.key!r} does not cover the values of an example exactly")
    return level


def _row_lengths(lists: Lists, counts: Integers) -> Level:
    return Level(lists.values, lists.counts)


def _row_limits(lists: Lists, counts: Integers) -> Level:
    before = np.concatenate([[0], lists.values[:-1]]) if len(lists.values) else lists.values
    before[_firsts(lists)] = 0
    return Level(lists.values - before, lists.counts)


def _row_splits(lists: Lists, counts: Integers) -> Level:
    firsts = _firsts(lists)
    if lists.values[firsts].any():
        raise InvalidArgumentError("row splits must begin with 0")
    is_limit = np.ones(len(lists.values), np.bool_)
    is_limit[firsts] = False
    limits = Lists(lists.values[is_limit], np.maximum(lists.counts - 1, 0))
    return _row_limits(limits, counts)


def _row_starts(lists: Lists, counts: Integers) -> Level:
    if lists.values[_firsts(lists)].any():
        raise InvalidArgumentError("row starts must begin with 0")
    limits = np.append(lists.values[1:], 0)[: len(lists.values)]
    limits[_lasts(lists)] = counts[lists.counts > 0]
    return Level(limits - lists.values, lists.counts)


def _value_rowids(lists: Lists, counts: Integers) -> Level:
    if (lists.counts != counts).any():
        raise InvalidArgumentError("expected one row id per value")
    rising = np.diff(lists.values) >= 0
    rising[_firsts(lists)[1:] - 1] = True  # from one example to the next
    if not rising.all():
        raise InvalidArgumentError("row ids must be sorted")
    rows = np.zeros(len(counts), np.int64)
    rows[counts > 0] = lists.values[_lasts(lists)] + 1
    if rows.sum() > len(lists.values) + _MAX_EMPTY_ROWS:
        raise InvalidArgumentError(f"row ids skip more than {_MAX_EMPTY_ROWS} rows")
    ids = lists.values + np.repeat(offsets_of(rows)[:-1], lists.counts)
    return Level(np.bincount(ids, minlength=int(rows.sum())).astype(np.int64), rows)


def _firsts(lists: Lists) -> Integers:
    return lists.offsets[:-1][lists.counts > 0]


def _lasts(lists: Lists) -> Integers:
    return lists.offsets[1:][lists.counts > 0] - 1


_READ: dict[type, Callable[[Lists, Integers], Level]] = {
    RaggedFeature.RowLengths: _row_lengths,
    RaggedFeature.RowLimits: _row_limits,
    RaggedFeature.RowSplits: _row_splits,
    RaggedFeature.RowStarts: _row_starts,
    RaggedFeature.ValueRowIds: _value_rowids,
}
