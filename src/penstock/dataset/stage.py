"""What a stage is: something that is done to blocks on their way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from penstock.dataset.block import Block, Cursor, Flow, OpenFlow, is_start, part
from penstock.dataset.order import Group
from penstock.dataset.progress import Meter


class Stage(ABC):
    """A step of a pipeline. Immutable, and pickles, so that other processes can run it."""

    one_to_one = False
    """Whether element i of the output comes from element i of the input, so that orders can be changed before it."""
    groups_rows: bool | None = None
    """True: the output are batches. False: it is the rows of batches. None: it is what the input is."""
    is_sharded: bool = False
    """Whether the output is the share of one rank."""
    is_in_memory: bool = False
    """Whether all elements are in memory after the first epoch."""

    @property
    def keeps_rows(self) -> bool:
        """Whether rows are chosen or grouped, and none is changed."""
        return False

    @property
    def group(self) -> Group | None:
        """How rows are grouped, where the stage makes batches of one size."""
        return None

    @abstractmethod
    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        """Start at a cursor of this stage. The flow that it opens upstream is closed with its own."""

    def length(self, upstream: int | None) -> int | None:
        """Count the elements that come out of ``upstream`` elements; None: there is no end, or nobody knows."""
        return upstream if self.one_to_one else None

    @property
    @abstractmethod
    def calls(self) -> list[str]:
        """The method calls that made the stage, for display."""

    @abstractmethod
    def describe(self) -> list[Any]:
        """Return in JSON what decides the elements and their order; empty where the stage changes neither.

        Saved states compare it.
        """


class ElementSupply:
    """Gives out a flow's elements from a place on: the start of an epoch, or so many elements behind a cursor."""

    def __init__(self, upstream: OpenFlow, place: Cursor) -> None:
        self._up: Cursor = place if is_start(place) else place["up"]
        self._skip: int = 0 if is_start(place) else place["skip"]
        self._flow = upstream(self._up)
        self._block: Block | None = None
        """What is at hand; a block that is used up is let go, so that its memory serves the next one."""
        self._used = 0

    @property
    def place(self) -> Cursor:
        """Where the next element is; a supply that is opened there goes on with it."""
        # It counts from the start of a block even at its end: what follows a block that was cut short is its error.
        return {"up": self._up, "skip": self._used + self._skip}

    def ready(self) -> int:
        """Count the elements at hand, and get some where there are none; 0: the flow has ended."""
        while self._block is None:
            block = next(self._flow, None)
            if block is None:
                return 0
            self._up, self._used = block.start, min(self._skip, len(block))
            self._skip -= self._used
            self._block = block if self._used < len(block) else None
        return len(self._block) - self._used

    def take(self, most: int) -> list[Block]:
        """Return ``most`` elements as parts of blocks; fewer where the flow ends before."""
        parts: list[Block] = []
        while most and (count := min(most, self.ready())):
            parts.append(self.take_ready(count))
            most -= count
        return parts

    def take_ready(self, count: int) -> Block:
        """Return some of the elements at hand."""
        assert self._block is not None
        taken = part(self._block, self._used, self._used + count)
        self._used += count
        if self._used == len(self._block):
            self._block = None
        return taken

    def close(self) -> None:
        """Close the flow."""
        self._flow.close()
