"""Stage: a step of a pipeline that transforms blocks as they come. ElementSupply: elements of a flow, by count."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from penstock.dataset.block import Block, Cursor, Flow, OpenFlow, is_start, slice_block
from penstock.dataset.progress import Meter
from penstock.schema import Schema


class Stage(ABC):
    """A step of a pipeline. Immutable; pickles, so that other processes can run it."""

    one_to_one = False
    """Whether element i of the output comes from element i of the input, so that orders can be changed before it."""
    groups_rows: bool | None = None
    """True: the stage makes batches. False: it makes rows of batches. None: neither."""
    is_sharded: bool = False
    """Whether the output is the share of one rank."""
    is_in_memory: bool = False
    """Whether all elements are in memory after the first epoch."""

    @property
    def ignores_columns(self) -> bool:
        """Whether columns can be renamed or dropped before the stage instead of after it."""
        return False

    @property
    def keeps_rows(self) -> bool:
        """Whether rows are chosen or grouped, and only the names and dtypes of their columns change."""
        return False

    def schema_after(self, schema: Schema) -> Schema | None:
        """Return the schema of the rows after the stage; None where a function makes them."""
        return schema

    @abstractmethod
    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        """Open the flow at a cursor of this stage. Closing it closes the flow that it opened upstream."""

    def length(self, upstream: int | None) -> int | None:
        """Return how many elements ``upstream`` elements become; None where that is endless or unknown."""
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
    """Takes elements from a flow, starting at an epoch or at a number of elements after a cursor."""

    def __init__(self, upstream: OpenFlow, cursor: Cursor) -> None:
        self._up: Cursor = cursor if is_start(cursor) else cursor["up"]
        self._skip: int = 0 if is_start(cursor) else cursor["skip"]
        self._flow = upstream(self._up)
        self._block: Block | None = None
        """The current block; dropped once it is used up, so that its memory is free for the next one."""
        self._used = 0

    @property
    def cursor(self) -> Cursor:
        """The cursor of the next element: a supply opened there starts with it."""
        # Counted from the start of the block even at its end: after a truncated block comes its error.
        return {"up": self._up, "skip": self._used + self._skip}

    def ready(self) -> int:
        """Return how many elements of a block are left, getting the next block where needed; 0 at the end."""
        while self._block is None:
            block = next(self._flow, None)
            if block is None:
                return 0
            self._up, self._used = block.start, min(self._skip, len(block))
            self._skip -= self._used
            self._block = block if self._used < len(block) else None
        return len(self._block) - self._used

    def take(self, most: int) -> list[Block]:
        """Return ``most`` elements as parts of blocks, or fewer at the end of the flow."""
        parts: list[Block] = []
        while most and (count := min(most, self.ready())):
            parts.append(self.take_ready(count))
            most -= count
        return parts

    def take_ready(self, count: int) -> Block:
        """Return ``count`` elements of the current block."""
        assert self._block is not None
        taken = slice_block(self._block, self._used, self._used + count)
        self._used += count
        if self._used == len(self._block):
            self._block = None
        return taken

    def close(self) -> None:
        """Close the flow."""
        self._flow.close()
