"""What flows through a pipeline: blocks of elements, each of which says where the flow can be taken up again."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias

from penstock.columns import Batch
from penstock.dataset.order import Keys

Cursor: TypeAlias = Any
"""Where a flow stands, in JSON: what it needs to go on from there. None: at its start."""

Elements: TypeAlias = Batch | list[Any]
"""The rows of columns are elements; of a list, its items are."""


@dataclass(frozen=True, slots=True)
class Block:
    """Elements that are handled together, so that what is done to each of them is done by few calls."""

    elements: Elements
    keys: Keys
    """The row and epoch of each element (of a batch: of its first row), which random numbers are derived from."""
    start: Cursor
    """Where the flow stood before the block: opened there, it gives this block again."""
    stop: Cursor
    """Where it stands behind the block."""

    def __len__(self) -> int:
        return self.elements.num_rows if isinstance(self.elements, Batch) else len(self.elements)

    def element(self, index: int) -> Any:
        """Answer one element; a row of columns as a dict."""
        return self.elements.row(index) if isinstance(self.elements, Batch) else self.elements[index]


Flow: TypeAlias = Generator[Block, None, None]
"""Blocks in order; closing it ends the threads behind it."""

OpenFlow: TypeAlias = Callable[[Cursor], Flow]
"""Opens a flow at a cursor."""
