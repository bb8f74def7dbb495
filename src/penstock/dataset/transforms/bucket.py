"""bucket(): batches of elements of similar length."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import KW_ONLY, dataclass, replace
from itertools import count, pairwise
from typing import Any

from penstock.columns import Batch, Ragged
from penstock.dataset.block import (
    Block,
    Cursor,
    Elements,
    Flow,
    OpenFlow,
    as_batch,
    batch_block,
    concat_elements,
    concat_keys,
    is_start,
    iter_elements,
    take_elements,
    take_from_block,
)
from penstock.dataset.order import RowKeys, call_text
from penstock.dataset.progress import Meter
from penstock.dataset.stage import Stage
from penstock.dataset.transforms.batch import Padding, describe_padding, padded
from penstock.dataset.workers import name_of


@dataclass(frozen=True)
class BucketStage(Stage):
    """Collects elements in buckets by length; a full bucket is a batch.

    Args:
        boundaries: Bucket i holds lengths from ``boundaries[i - 1]`` to below ``boundaries[i]``, the last one the rest.
        sizes: Elements per batch: one number, or one for each bucket, ``len(boundaries) + 1`` of them.
        key: What has the length: a column, or a function that returns the length of an element.
        drop_last: Whether buckets that are not full at the end are dropped. They come in the order of their lengths.
        pad: How ragged columns are padded; by default they stay ``Ragged``.
    """

    groups_rows = True

    boundaries: Sequence[int]
    sizes: int | Sequence[int]
    _: KW_ONLY
    key: str | Callable[[Any], int]
    drop_last: bool = False
    pad: Padding = None

    def __post_init__(self) -> None:
        if any(low >= high for low, high in pairwise(self.boundaries)):
            raise ValueError(f"boundaries must increase: {list(self.boundaries)}")
        sizes, buckets = self._sizes(), len(self.boundaries) + 1
        if len(sizes) != buckets or min(sizes) < 1:
            raise ValueError(f"{buckets} buckets need {buckets} sizes of 1 or more; found {sizes}")

    def _sizes(self) -> list[int]:
        sizes = self.sizes
        return [sizes] * (len(self.boundaries) + 1) if isinstance(sizes, int) else list(sizes)

    @property
    def keeps_rows(self) -> bool:
        return not self.pad

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        if is_start(cursor):
            cursor = {"up": cursor, "skip": 0, "waiting": []}
        up, used, waiting, start = cursor["up"], cursor["skip"], cursor["waiting"], cursor
        buckets = [Bucket(size) for size in self._sizes()]
        for number, (block_cursor, positions) in enumerate(waiting):
            self._refill(buckets, number, _block_at(upstream, block_cursor), positions)

        def emptied(bucket: Bucket) -> Block:
            nonlocal start
            elements, keys = bucket.empty()
            before, start = start, {"up": up, "skip": used, "waiting": Bucket.locations(buckets)}
            return batch_block(padded(as_batch(elements), self.pad), keys, before, start)

        with closing(upstream(up)) as blocks:
            skip = used
            for number, block in zip(count(len(waiting)), blocks, strict=False):
                up = block.start
                for position, which in enumerate(self._sort(take_elements(block.elements, slice(skip, None))), skip):
                    bucket, used = buckets[which], position + 1
                    bucket.add(number, block, position)
                    if bucket.full:
                        yield emptied(bucket)
                for bucket in buckets:
                    bucket.detach()
                used, skip = len(block), 0
        for bucket in buckets:
            if len(bucket) and not self.drop_last:
                yield emptied(bucket)

    def _refill(self, buckets: list[Bucket], number: int, block: Block, positions: list[int]) -> None:
        for position, which in zip(positions, self._sort(take_elements(block.elements, positions)), strict=True):
            buckets[which].add(number, block, position)
        for bucket in buckets:
            bucket.detach()

    def _sort(self, elements: Elements) -> Iterable[int]:
        """Return the bucket of each element."""
        return (bisect_right(self.boundaries, length) for length in self._lengths(elements))

    def _lengths(self, elements: Elements) -> Iterable[int]:
        key = self.key
        if not isinstance(key, str):
            return map(key, iter_elements(elements))
        if isinstance(elements, Batch) and isinstance(column := elements[key], Ragged):
            lengths: list[int] = column.lengths.tolist()
            return lengths
        return (0 if element[key] is None else len(element[key]) for element in iter_elements(elements))

    @property
    def calls(self) -> list[str]:
        return [call_text("bucket", list(self.boundaries), self.sizes, drop_last=self.drop_last)]

    def describe(self) -> list[Any]:
        key = self.key if isinstance(self.key, str) else name_of(self.key)
        return ["bucket", list(self.boundaries), self._sizes(), key, self.drop_last, describe_padding(self.pad)]


def _block_at(upstream: OpenFlow, cursor: Cursor) -> Block:
    with closing(upstream(cursor)) as blocks:
        return next(blocks)


@dataclass
class _Held:
    """The elements of one block in a bucket."""

    number: int
    """The number of the block, in order of arrival."""
    block: Block
    positions: list[int]
    detached: bool = False
    """Whether ``block`` is a copy that holds only these elements."""

    def elements(self) -> Block:
        return self.block if self.detached else take_from_block(self.block, self.positions)


class Bucket:
    """Up to ``size`` elements, in order of arrival."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._count = 0
        self._held: list[_Held] = []

    def __len__(self) -> int:
        return self._count

    @property
    def full(self) -> bool:
        """Whether it holds a whole batch."""
        return self._count == self._size

    def add(self, number: int, block: Block, position: int) -> None:
        """Add an element of block ``number``."""
        if not self._held or self._held[-1].number != number:
            self._held.append(_Held(number, block, []))
        self._held[-1].positions.append(position)
        self._count += 1

    def empty(self) -> tuple[Elements, RowKeys]:
        """Remove and return all elements."""
        parts = [held.elements() for held in self._held]
        self._held, self._count = [], 0
        return concat_elements([part.elements for part in parts]), concat_keys([part.keys for part in parts])

    def detach(self) -> None:
        """Copy the elements, so that a few rows do not keep whole blocks in memory."""
        for held in self._held:
            if not held.detached:
                block = held.elements()
                held.block = replace(block, elements=_copied(block.elements))
                held.detached = True

    @staticmethod
    def locations(buckets: Iterable[Bucket]) -> list[Any]:
        """Return in JSON where the elements of all buckets are: the start of each block, and positions in it."""
        locations: dict[int, list[Any]] = {}
        for held in sorted((held for bucket in buckets for held in bucket._held), key=lambda held: held.number):
            locations.setdefault(held.number, [held.block.start, []])[1].extend(held.positions)
        return [[start, sorted(positions)] for start, positions in locations.values()]


def _copied(elements: Elements) -> Elements:
    return elements.copy() if isinstance(elements, Batch) else elements
