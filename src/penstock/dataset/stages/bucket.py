"""A bucket: elements of several blocks that wait for more of their kind, and where they came from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from penstock.columns import Batch
from penstock.dataset.block import Block, Elements
from penstock.dataset.order import Keys
from penstock.dataset.stages.elements import join, join_keys, some


@dataclass
class _Held:
    """Elements of one block that wait in a bucket."""

    number: int
    """Which block, in the order in which they came."""
    block: Block
    positions: list[int]
    detached: bool = False
    """Whether the block holds these elements alone."""

    def elements(self) -> Block:
        return self.block if self.detached else some(self.block, self.positions)


class Bucket:
    """Up to ``size`` elements, in the order in which they came."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._count = 0
        self._held: list[_Held] = []

    def __len__(self) -> int:
        return self._count

    @property
    def full(self) -> bool:
        """Whether they make a batch."""
        return self._count == self._size

    def add(self, number: int, block: Block, position: int) -> None:
        """Add an element of the block that came as ``number``."""
        if not self._held or self._held[-1].number != number:
            self._held.append(_Held(number, block, []))
        self._held[-1].positions.append(position)
        self._count += 1

    def empty(self) -> tuple[Elements, Keys]:
        """Take all elements out."""
        parts = [held.elements() for held in self._held]
        self._held, self._count = [], 0
        return join([part.elements for part in parts]), join_keys([part.keys for part in parts])

    def detach(self) -> None:
        """Copy the elements that wait, so that few rows do not keep whole blocks in memory."""
        for held in self._held:
            if not held.detached:
                block = held.elements()
                held.block = replace(block, elements=_copied(block.elements))
                held.detached = True

    @staticmethod
    def places(buckets: Iterable[Bucket]) -> list[Any]:
        """Say in JSON where the elements of all buckets are: the start of each block, and positions in it."""
        places: dict[int, list[Any]] = {}
        for held in sorted((held for bucket in buckets for held in bucket._held), key=lambda held: held.number):
            places.setdefault(held.number, [held.block.start, []])[1].extend(held.positions)
        return [[start, sorted(positions)] for start, positions in places.values()]


def _copied(elements: Elements) -> Elements:
    return elements.copy() if isinstance(elements, Batch) else elements
