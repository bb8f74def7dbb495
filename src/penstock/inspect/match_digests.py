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
    count = min(len(a), len(b))
    differs = (a[:count, 3:5] != b[:count, 3:5]).any(axis=1)
    start = int(differs.argmax()) if differs.any() else count
    pairs_a, pairs_b, only_a, only_b = (rows + start for rows in _sorted_match(a[start:, 3:5], b[start:, 3:5]))
    before = np.arange(start)  # rows with the same keys in the same order need no sorting
    rows_a, rows_b = np.concatenate([before, pairs_a]), np.concatenate([before, pairs_b])
    values_differ = (a[rows_a, :2] != b[rows_b, :2]).any(axis=1)
    bytes_differ = a[rows_a, 2] != b[rows_b, 2]
    changed_a, changed_b = rows_a[values_differ], rows_b[values_differ]
    by_a = np.argsort(changed_a)
    changed = changed_a[by_a], changed_b[by_a]
    return Matched(changed, np.sort(only_a), np.sort(only_b), int((bytes_differ & ~values_differ).sum()))


def _sorted_match(a: Digests, b: Digests) -> tuple[_Rows, _Rows, _Rows, _Rows]:
    """Return pairs of rows with equal keys, and the rows that only one side has."""
    keys = np.concatenate([a, b])
    # Stable: rows of A are before those of B, and in their order. One word nearly always tells keys apart.
    order = np.argsort(keys[:, 0], kind="stable")
    low, high = keys[order, 0], keys[order, 1]
    same_low, same_high = low[1:] == low[:-1], high[1:] == high[:-1]
    if (same_low & ~same_high).any():
        order = np.lexsort((keys[:, 1], keys[:, 0]))
        low, high = keys[order, 0], keys[order, 1]
        same_low, same_high = low[1:] == low[:-1], high[1:] == high[:-1]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = ~(same_low & same_high)
    del keys, low, high
    group = np.cumsum(is_first) - 1
    in_b = order >= len(a)
    starts = np.flatnonzero(is_first)
    a_in_group = np.bincount(group, ~in_b, len(starts)).astype(np.int64)
    # The number of a row among those of its side with the same key.
    number = np.arange(len(order)) - starts[group] - np.where(in_b, a_in_group[group], 0)
    pairs = np.minimum(a_in_group, np.bincount(group, minlength=len(starts)) - a_in_group)
    is_matched = number < pairs[group]
    # Within a group the matched rows of both sides are in the order of their numbers.
    return (
        order[is_matched & ~in_b],
        order[is_matched & in_b] - len(a),
        order[~is_matched & ~in_b],
        order[~is_matched & in_b] - len(a),
    )
