"""A tiny source of blocks for the tests of stages, and what must hold of every flow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from penstock.columns import Batch, BytesColumn, Column, Ragged, collate
from penstock.dataset.block import Block, Cursor, Flow, OpenFlow, iter_elements
from penstock.dataset.order import RowKeys
from penstock.dataset.progress import Meter
from penstock.dataset.stage import Stage

relaxed = settings(max_examples=40)


def row(number: int, epoch: int = 0) -> dict[str, Any]:
    """Element ``number`` of an epoch: a scalar, an array of unequal length and a string."""
    return {
        "n": np.int64(number),
        "epoch": np.int64(epoch),
        "tokens": np.arange(number % 5, dtype=np.float32),
        "name": f"the name of number {number}" if number % 2 else str(number),
    }


@dataclass
class Source:
    """Opens flows over rows, in blocks of given sizes, as columns or as a list; fails after ``fails_after`` blocks."""

    sizes: list[int]
    as_list: bool = False
    fails_after: int | None = None
    open_flows: list[Flow] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(self.sizes)

    def rows(self, epoch: int = 0) -> list[Any]:
        return [plain(row(number, epoch)) for number in range(len(self))]

    def __call__(self, cursor: Cursor) -> Flow:
        flow = self._blocks(cursor)
        self.open_flows.append(flow)
        return flow

    def _blocks(self, cursor: Cursor) -> Flow:
        cursor = json.loads(json.dumps(cursor)) or {}
        epoch = cursor.get("epoch", 0)
        starts = np.cumsum([0, *self.sizes]).tolist()
        for number in range(starts.index(cursor.get("row", 0)), len(self.sizes)):
            if number == self.fails_after:
                raise OSError("the disk is gone")
            numbers = np.arange(starts[number], starts[number + 1])
            keys = RowKeys(numbers, np.full(len(numbers), epoch))
            start, stop = ({"epoch": epoch, "row": row} for row in starts[number : number + 2])
            yield Block(self._elements(numbers, epoch), keys, start, stop)

    def _elements(self, numbers: np.ndarray, epoch: int) -> Batch | list[Any]:
        rows = [row(number, epoch) for number in numbers.tolist()]
        if self.as_list:
            return rows
        tokens = np.concatenate([row["tokens"] for row in rows])
        return Batch(
            {
                "n": numbers,
                "epoch": np.full(len(numbers), epoch),
                "tokens": Ragged.from_lengths(tokens, [len(row["tokens"]) for row in rows]),
                "name": collate([row["name"] for row in rows]),
            }
        )

    def all_closed(self) -> bool:
        return all(flow.gi_frame is None for flow in self.open_flows)


def sources(most: int = 20) -> st.SearchStrategy[Source]:
    sizes = st.lists(st.integers(1, 7), max_size=8).filter(lambda sizes: sum(sizes) <= most)
    return st.builds(Source, sizes, as_list=st.booleans())


def plain(value: Any) -> Any:
    """Turn an element into Python objects that compare."""
    if isinstance(value, Batch):
        return [plain(row) for row in iter_elements(value)]
    if isinstance(value, (Ragged, BytesColumn, Column)):
        return plain(value.to_list())
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(item) for item in value)
    return value


def blocks_of(stage: Stage | OpenFlow, source: OpenFlow, cursor: Cursor = None) -> Iterator[Block]:
    cursor = json.loads(json.dumps(cursor))
    flow = stage.open(source, cursor, Meter()) if isinstance(stage, Stage) else stage(cursor)
    with closing(flow):
        yield from flow


def elements_of(stage: Stage | OpenFlow, source: OpenFlow, cursor: Cursor = None) -> list[Any]:
    return [plain(element) for block in blocks_of(stage, source, cursor) for element in iter_elements(block.elements)]


def check_resumes(stage: Stage | OpenFlow, source: OpenFlow, most: int = 20) -> None:
    """Every block is given again by a flow that starts at it, and what follows by one that starts after it."""
    pairs = zip(range(most), blocks_of(stage, source), strict=False)
    blocks = [block for _, block in pairs]
    whole = [(plain(list(iter_elements(block.elements))), keys_of(block), block.start, block.stop) for block in blocks]
    for number, block in enumerate(blocks):
        assert len(block) == len(block.keys.rows) == len(block.keys.epochs) > 0
        for cursor, rest in ((block.start, whole[number:]), (block.stop, whole[number + 1 :])):
            again = []
            for other, _ in zip(blocks_of(stage, source, cursor), rest, strict=False):
                again.append((plain(list(iter_elements(other.elements))), keys_of(other), other.start, other.stop))
            # The first cursors may name the same place in another way.
            assert [part[:2] for part in again] == [part[:2] for part in rest]


def keys_of(block: Block) -> Any:
    return block.keys.rows.tolist(), block.keys.epochs.tolist()
