"""Ragged features of several levels: flat values, and for each inner level the lengths of its rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.codec.row_fault import RowFault
from penstock.columns import AnyColumn, Ragged


def nest(
    values: AnyColumn,
    offsets: NDArray[np.int64],
    partitions: Sequence[tuple[NDArray[np.int64], NDArray[np.int64], None]],
) -> Ragged:
    """Build the levels: ``partitions`` are (lengths, offsets of the records in them), outermost first.

    The lengths of a level must add up, in every record, to what the next level holds: a length that does not would
    move values from one record into another.
    """
    below = [record_offsets for _, record_offsets, _ in partitions[1:]] + [offsets]
    splits: list[NDArray[np.int64]] = []
    for level, ((lengths, record_offsets, _), expected) in enumerate(zip(partitions, below, strict=True)):
        bounds = np.zeros(len(lengths) + 1, np.int64)
        # Lengths come from a file: a negative or a very large one is wrong, whatever their sum wraps around to.
        np.cumsum(np.clip(lengths, -1, 1 << 40), out=bounds[1:])
        wrong = (np.diff(bounds[record_offsets]) != np.diff(expected)) | _any_outside(
            lengths, record_offsets, int(expected[-1])
        )
        if wrong.any():
            row = int(wrong.argmax())
            total = int(bounds[record_offsets[row + 1]] - bounds[record_offsets[row]])
            found = int(expected[row + 1] - expected[row])
            raise RowFault(row, f"row lengths of level {level + 1} add up to {total}, found {found} values")
        splits.append(bounds)
    nested: AnyColumn = values
    for bounds in reversed(splits):
        nested = Ragged(nested, bounds)
    return Ragged(nested, partitions[0][1])


def _any_outside(lengths: NDArray[np.int64], record_offsets: NDArray[np.int64], most: int) -> NDArray[np.bool_]:
    """Whether a record has a length below zero, or above all that there is."""
    count = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum((lengths < 0) | (lengths > most), out=count[1:])
    return np.diff(count[record_offsets]) > 0
