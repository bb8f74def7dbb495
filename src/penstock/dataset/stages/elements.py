"""Elements of blocks, whether they are rows of columns or items of a list: each, some, joined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from penstock.columns import AnyColumn, Batch, Column, collate, concat
from penstock.dataset.block import Block, Cursor, Elements
from penstock.dataset.order import Keys


@dataclass(frozen=True, slots=True)
class CutShort(Block):
    """The elements in front of one that failed: the flow raises behind them, so ``stop`` is None, no place at all."""


def each(elements: Elements) -> Iterator[Any]:
    """Answer elements one by one; rows of columns as dicts, as ``Batch.row`` does, but a column at a time."""
    if not isinstance(elements, Batch):
        return iter(elements)
    if not len(elements):
        return ({} for _ in range(elements.num_rows))
    columns = [_values(column) for column in elements.values()]
    return (dict(zip(elements, values, strict=True)) for values in zip(*columns, strict=True))


def _values(column: AnyColumn) -> Iterable[Any]:
    if isinstance(column, np.ndarray):
        return column  # and no value of it is a column
    return (value.to_list() if isinstance(value, Column) else value for value in column)


def pick(elements: Elements, positions: slice | list[int]) -> Elements:
    """Answer some of the elements; those of a slice share memory."""
    if isinstance(elements, Batch):
        return elements.take(positions)
    if isinstance(positions, slice):
        return elements[positions]
    return [elements[position] for position in positions]


def pick_keys(keys: Keys, positions: slice | list[int]) -> Keys:
    """Answer the keys of some elements."""
    return Keys(keys.rows[positions], keys.epochs[positions])


def join_keys(parts: Sequence[Keys]) -> Keys:
    """Answer the keys of the elements of all parts."""
    return Keys(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def some(block: Block, positions: slice | list[int]) -> Block:
    """Answer some elements of a block; its cursors are those of the whole."""
    return replace(block, elements=pick(block.elements, positions), keys=pick_keys(block.keys, positions))


def part(block: Block, start: int, stop: int) -> Block:
    """Answer some successive elements of a block; where these are all, the block itself."""
    return block if start == 0 and stop == len(block) else some(block, slice(start, stop))


def placed(block: Block, start: Cursor, stop: Cursor) -> Block:
    """Answer a block with other cursors."""
    return replace(block, start=start, stop=None if isinstance(block, CutShort) else stop)


def cut_short(block: Block) -> CutShort:
    """Answer a block of elements as those in front of one that failed."""
    return CutShort(block.elements, block.keys, block.start, None)


def join(parts: Sequence[Elements]) -> Elements:
    """Answer the elements of all parts: as columns where all of them are columns of the same names."""
    if len(parts) == 1:
        return parts[0]
    batches = [elements for elements in parts if isinstance(elements, Batch)]
    if batches and len(batches) == len(parts) and all(batch.keys() == batches[0].keys() for batch in batches):
        return concat(batches)
    return list(chain.from_iterable(map(each, parts)))


def block_of_batch(batch: Any, keys: Keys, start: Cursor, stop: Cursor) -> Block:
    """Answer a block of one element; the keys are those of its rows."""
    return Block([batch], pick_keys(keys, slice(0, 1)), start, stop)


def as_batch(elements: Elements) -> Any:
    """Answer elements as columns."""
    return elements if isinstance(elements, Batch) else collate(elements)
