"""Block: the elements that flow through a pipeline together, with cursors to resume the flow before and after it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from penstock.columns import Batch, collate, concat
from penstock.dataset.order import RowKeys

Cursor: TypeAlias = Any
"""A position in a flow, as JSON values. None is its start."""
Elements: TypeAlias = Batch | list[Any]
"""Elements as the rows of columns, or as a list."""


@dataclass(slots=True)
class Block:
    """Elements that are processed together, so that few calls process many of them. Never changed after it was made.

    Not frozen: making a frozen instance takes three times as long, and there are two for each batch.
    """

    elements: Elements
    keys: RowKeys
    """The row and epoch of each element (for a batch, of its first row), from which random numbers are derived."""
    start: Cursor
    """The cursor before the block: a flow opened there starts with this block."""
    stop: Cursor
    """The cursor after the block."""

    def __len__(self) -> int:
        return self.elements.num_rows if isinstance(self.elements, Batch) else len(self.elements)

    def element(self, index: int) -> Any:
        """Return one element; a row of columns as a dict."""
        return self.elements.row(index) if isinstance(self.elements, Batch) else self.elements[index]


Flow: TypeAlias = Generator[Block, None, None]
"""Blocks in order. Closing it ends its threads."""
OpenFlow: TypeAlias = Callable[[Cursor], Flow]
"""Opens a flow at a cursor."""


@dataclass(slots=True)
class TruncatedBlock(Block):
    """The elements before one that failed: the flow raises next, so that ``stop`` is None."""


def iter_elements(elements: Elements) -> Iterator[Any]:
    """Iterate over the elements; the rows of a batch are dicts."""
    return elements.rows() if isinstance(elements, Batch) else iter(elements)


def take_elements(elements: Elements, positions: slice | list[int]) -> Elements:
    """Return some of the elements; those of a slice share memory."""
    if isinstance(elements, Batch):
        return elements.take(positions)
    if isinstance(positions, slice):
        return elements[positions]
    return [elements[position] for position in positions]


def take_keys(keys: RowKeys, positions: slice | list[int]) -> RowKeys:
    """Return the keys of some elements."""
    return RowKeys(keys.rows[positions], keys.epochs[positions])


def concat_keys(parts: Sequence[RowKeys]) -> RowKeys:
    """Concatenate keys."""
    return RowKeys(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def take_from_block(block: Block, positions: slice | list[int]) -> Block:
    """Return some elements of a block, with the cursors of the whole block."""
    return replace(block, elements=take_elements(block.elements, positions), keys=take_keys(block.keys, positions))


def slice_block(block: Block, start: int, stop: int) -> Block:
    """Return successive elements of a block, or the block itself where these are all."""
    return block if start == 0 and stop == len(block) else take_from_block(block, slice(start, stop))


def with_cursors(block: Block, start: Cursor, stop: Cursor) -> Block:
    """Return a block with other cursors."""
    return replace(block, start=start, stop=None if isinstance(block, TruncatedBlock) else stop)


def truncated(block: Block) -> TruncatedBlock:
    """Return a block of the elements before one that failed."""
    return TruncatedBlock(block.elements, block.keys, block.start, None)


def concat_elements(parts: Sequence[Elements]) -> Elements:
    """Concatenate elements, as columns where all parts are columns of the same names."""
    if len(parts) == 1:
        return parts[0]
    batches = [elements for elements in parts if isinstance(elements, Batch)]
    if batches and len(batches) == len(parts) and all(batch.keys() == batches[0].keys() for batch in batches):
        return concat(batches)
    return list(chain.from_iterable(map(iter_elements, parts)))


def batch_block(batch: Any, keys: RowKeys, start: Cursor, stop: Cursor) -> Block:
    """Return a block of one batch; ``keys`` are those of its rows."""
    return Block([batch], take_keys(keys, slice(0, 1)), start, stop)


def as_batch(elements: Elements) -> Any:
    """Return elements as columns."""
    return elements if isinstance(elements, Batch) else collate(elements)


def start_of(epoch: int) -> Cursor:
    """Return the cursor before the first element of an epoch."""
    return {"epoch": epoch}


def is_start(cursor: Cursor) -> bool:
    """Whether a cursor is the start of an epoch, not a place within it."""
    return cursor is None or cursor.keys() <= {"epoch", "strided"}


def epoch_of(start: Cursor) -> int:
    """Return the epoch of a start cursor."""
    return 0 if start is None else int(start["epoch"])


# Elements of several flows need distinct keys: the number of the flow is added above any number of rows.
_CHILD = 2**52


def child_keys(keys: RowKeys, number: int) -> RowKeys:
    """Return the keys of elements from flow ``number`` of several."""
    return RowKeys(keys.rows + number * _CHILD, keys.epochs)
