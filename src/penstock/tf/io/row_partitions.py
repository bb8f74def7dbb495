"""Builds RaggedTensors from flat values and features that say how they are cut into rows.

Partitions come from files. What TensorFlow takes on trust unless it is told to validate is always checked here: row by
row, they must account for all values of their example and for no others.
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

# Row ids may leave rows out, and nothing else bounds their number: a few bytes must not ask for terabytes.
_MOST_EMPTY_ROWS = 1 << 20


class Lists(NamedTuple):
    """One list of values for each example: all values, and how many each example has."""

    values: NDArray[Any]
    counts: Integers

    @property
    def offsets(self) -> Integers:
        """Where each list begins and ends."""
        return offsets_of(self.counts)


class Level(NamedTuple):
    """A level of rows: the length of each row, and how many rows each example has."""

    lengths: Integers
    counts: Integers
    uniform: int | None = None


def build_ragged(lists: Lists, partitions: Sequence[Any], find: Callable[[str], Lists], splits_dtype: DType) -> Any:
    """Return all examples one after another: a tensor, or where partitions cut it a RaggedTensor, and rows of each.

    ``find`` answers the lists of a partition's key. The second result is how many of its outermost rows each example
    has.
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
    """Return where rows begin and end, in the dtype that was asked for."""
    offsets = offsets_of(lengths)
    if offsets[-1] > dtype.max:
        raise InvalidArgumentError(f"{dtype.name} does not count {offsets[-1]} values: row_splits_dtype=tf.int64 does")
    return offsets.astype(dtype.numpy)


def offsets_of(lengths: Integers) -> Integers:
    """Turn lengths into offsets."""
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
    if ((lists.values < 0) | (lists.values > most + _MOST_EMPTY_ROWS)).any():
        raise InvalidArgumentError(f"the partition {partition.key!r} does not fit {most} values")
    level = _READ[type(partition)](lists, counts)
    totals = np.add.reduceat(np.append(level.lengths, 0), offsets_of(level.counts)[:-1]) if len(counts) else counts
    totals = np.where(level.counts > 0, totals, 0)
    if (level.lengths < 0).any() or (totals != counts).any():
        raise InvalidArgumentError(f"the partition {partition.key!r} does not account for all values of an example")
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
        raise InvalidArgumentError("row splits begin with 0")
    kept = np.ones(len(lists.values), np.bool_)
    kept[firsts] = False
    limits = Lists(lists.values[kept], np.maximum(lists.counts - 1, 0))
    return _row_limits(limits, counts)


def _row_starts(lists: Lists, counts: Integers) -> Level:
    if lists.values[_firsts(lists)].any():
        raise InvalidArgumentError("row starts begin with 0")
    behind = np.append(lists.values[1:], 0)[: len(lists.values)]
    behind[_lasts(lists)] = counts[lists.counts > 0]
    return Level(behind - lists.values, lists.counts)


def _value_rowids(lists: Lists, counts: Integers) -> Level:
    if (lists.counts != counts).any():
        raise InvalidArgumentError("there is one row id for each value")
    rising = np.diff(lists.values) >= 0
    rising[_firsts(lists)[1:] - 1] = True  # from one example to the next
    if not rising.all():
        raise InvalidArgumentError("row ids do not fall")
    rows = np.zeros(len(counts), np.int64)
    rows[counts > 0] = lists.values[_lasts(lists)] + 1
    if rows.sum() > len(lists.values) + _MOST_EMPTY_ROWS:
        raise InvalidArgumentError(f"row ids leave out more than {_MOST_EMPTY_ROWS} rows")
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
