"""Match the records of two datasets by digests of a key, by sorting."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Digests: TypeAlias = NDArray[np.uint64]
"""A row of six words for each record, from ``_core.digest_records``: values (2), bytes, key (2), number in its file."""

_Rows: TypeAlias = NDArray[np.int64]


class Matched(NamedTuple):
    """Rows of two tables, in their order."""

    changed: tuple[_Rows, _Rows]
    """Pairs with other values."""
    only_a: _Rows
    only_b: _Rows
    bytes_only: int
    """How many pairs have equal values in other bytes."""


def match(a: Digests, b: Digests) -> Matched:
    """Match rows by their keys; of equal keys, the first of A with the first of B, and so on."""
    tables = (a, b)
    keys = np.concatenate([table[:, 3:5] for table in tables])
    order = np.lexsort((keys[:, 1], keys[:, 0]))  # stable: rows of A are before those of B, and in their order
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
    del keys
    group = np.cumsum(is_first) - 1
    in_b = order >= len(a)
    starts = np.flatnonzero(is_first)
    a_in_group = np.bincount(group, ~in_b, len(starts)).astype(np.int64)
    # The number of a row among those of its side with the same key.
    number = np.arange(len(order)) - starts[group] - np.where(in_b, a_in_group[group], 0)
    pairs = np.minimum(a_in_group, np.bincount(group, minlength=len(starts)) - a_in_group)
    is_matched = number < pairs[group]
    # Within a group the matched rows of both sides are in the order of their numbers.
    rows_a, rows_b = order[is_matched & ~in_b], order[is_matched & in_b] - len(a)
    values_differ = (a[rows_a, :2] != b[rows_b, :2]).any(axis=1)
    bytes_differ = a[rows_a, 2] != b[rows_b, 2]
    changed_a, changed_b = rows_a[values_differ], rows_b[values_differ]
    by_a = np.argsort(changed_a)
    return Matched(
        (changed_a[by_a], changed_b[by_a]),
        np.sort(order[~is_matched & ~in_b]),
        np.sort(order[~is_matched & in_b] - len(a)),
        int((bytes_differ & ~values_differ).sum()),
    )
