"""What flows through a pipeline: blocks of elements, each of which says where the flow can be taken up again."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from penstock.columns import Batch, collate, concat
from penstock.dataset.order import RowKeys

Cursor: TypeAlias = Any
"""Where a flow stands, in JSON: what it needs to go on from there. None: at its start."""
Elements: TypeAlias = Batch | list[Any]
"""The rows of columns are elements; of a list, its items are."""


@dataclass(frozen=True, slots=True)
class Block:
    """Elements that are handled together, so that what is done to each of them is done by few calls."""

    elements: Elements
    keys: RowKeys
    """The row and epoch of each element (of a batch: of its first row), which random numbers are derived from."""
    start: Cursor
    """Where the flow stood before the block: opened there, it gives this block again."""
    stop: Cursor
    """Where it stands behind the block."""

    def __len__(self) -> int:
        return self.elements.num_rows if isinstance(self.elements, Batch) else len(self.elements)

    def element(self, index: int) -> Any:
        """Return one element; a row of columns as a dict."""
        return self.elements.row(index) if isinstance(self.elements, Batch) else self.elements[index]


Flow: TypeAlias = Generator[Block, None, None]
"""Blocks in order; closing it ends the threads behind it."""
OpenFlow: TypeAlias = Callable[[Cursor], Flow]
"""Opens a flow at a cursor."""


@dataclass(frozen=True, slots=True)
class CutShort(Block):
    """The elements in front of one that failed: the flow raises behind them, so ``stop`` is None, no place at all."""


def each(elements: Elements) -> Iterator[Any]:
    """Iterate over the elements; the rows of a batch are dicts."""
    return elements.rows() if isinstance(elements, Batch) else iter(elements)


def pick(elements: Elements, positions: slice | list[int]) -> Elements:
    """Return some of the elements; those of a slice share memory."""
    if isinstance(elements, Batch):
        return elements.take(positions)
    if isinstance(positions, slice):
        return elements[positions]
    return [elements[position] for position in positions]


def pick_keys(keys: RowKeys, positions: slice | list[int]) -> RowKeys:
    """Return the keys of some elements."""
    return RowKeys(keys.rows[positions], keys.epochs[positions])


def join_keys(parts: Sequence[RowKeys]) -> RowKeys:
    """Return the keys of the elements of all parts."""
    return RowKeys(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def some(block: Block, positions: slice | list[int]) -> Block:
    """Return some elements of a block; its cursors are those of the whole."""
    return replace(block, elements=pick(block.elements, positions), keys=pick_keys(block.keys, positions))


def part(block: Block, start: int, stop: int) -> Block:
    """Return some successive elements of a block; where these are all, the block itself."""
    return block if start == 0 and stop == len(block) else some(block, slice(start, stop))


def placed(block: Block, start: Cursor, stop: Cursor) -> Block:
    """Return a block with other cursors."""
    return replace(block, start=start, stop=None if isinstance(block, CutShort) else stop)


def cut_short(block: Block) -> CutShort:
    """Return a block of elements as those in front of one that failed."""
    return CutShort(block.elements, block.keys, block.start, None)


def join(parts: Sequence[Elements]) -> Elements:
    """Return the elements of all parts: as columns where all of them are columns of the same names."""
    if len(parts) == 1:
        return parts[0]
    batches = [elements for elements in parts if isinstance(elements, Batch)]
    if batches and len(batches) == len(parts) and all(batch.keys() == batches[0].keys() for batch in batches):
        return concat(batches)
    return list(chain.from_iterable(map(each, parts)))


def block_of_batch(batch: Any, keys: RowKeys, start: Cursor, stop: Cursor) -> Block:
    """Return a block of one element; the keys are those of its rows."""
    return Block([batch], pick_keys(keys, slice(0, 1)), start, stop)


def as_batch(elements: Elements) -> Any:
    """Return elements as columns."""
    return elements if isinstance(elements, Batch) else collate(elements)


def start_of(epoch: int) -> Cursor:
    """Return where every flow stands before its first element in an epoch."""
    return {"epoch": epoch}


def is_start(cursor: Cursor) -> bool:
    """Tell whether a cursor is the start of an epoch, not a place within it."""
    return cursor is None or cursor.keys() == {"epoch"}


def epoch_of(start: Cursor) -> int:
    """Return the epoch of a start."""
    return 0 if start is None else int(start["epoch"])


# Elements of several flows have keys that differ: the number of the flow stands above any number of rows.
_CHILD = 2**52


def _keys_of_child(keys: RowKeys, number: int) -> RowKeys:
    return RowKeys(keys.rows + number * _CHILD, keys.epochs)
