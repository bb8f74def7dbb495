"""Files that are only counted, and orders walked from their first position to their last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from penstock.dataset.order import AllRows, Epoch, Order

FIRST = Epoch()


@dataclass(frozen=True)
class Counted:
    """Files of which nothing is known but how many rows they have."""

    counts: tuple[int, ...]
    seekable: bool = True

    @property
    def rows(self) -> int:
        return sum(self.counts)

    rows_per_run: int = 1
    has_byte_ranges: bool = True

    @property
    def seekable_by_themselves(self) -> bool:
        return self.seekable

    def rows_beyond(self, row: int) -> int:
        return self.rows


def walk(order: Order, which: Epoch = FIRST) -> list[int]:
    length = order.length(which)
    assert length is not None
    return order.at(np.arange(length), which).rows.tolist()


def dealt(elements: list[Any], rank: int, world: int, run: int) -> list[Any]:
    """Deal elements in runs, and the last, incomplete round in parts that differ by at most one."""
    border = len(elements) - len(elements) % (world * run)
    rounds = [elements[i : i + run] for i in range(rank * run, border, world * run)]
    rest = np.array_split(np.arange(border, len(elements)), world)[rank]
    return [element for part in rounds for element in part] + [elements[i] for i in rest]


def rows(n: int) -> AllRows:
    return AllRows(Counted((n,)))


sizes = st.integers(0, 60)


counts = st.lists(st.integers(0, 12), min_size=1, max_size=6).map(tuple)
