"""Batches of elements of about the same length."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import KW_ONLY, dataclass
from itertools import count, pairwise
from typing import Any

from penstock.columns import Batch, Ragged
from penstock.dataset.block import Block, Cursor, Elements, Flow, OpenFlow
from penstock.dataset.meter import Meter
from penstock.dataset.stages.bucket import Bucket
from penstock.dataset.stages.cursor import is_start
from penstock.dataset.stages.elements import as_batch, block_of_batch, each, pick
from penstock.dataset.stages.function import name_of
from penstock.dataset.stages.padding import Padding, describe_padding, padded
from penstock.dataset.stages.stage import Stage


@dataclass(frozen=True)
class Bucketed(Stage):
    """Collects elements in buckets by their length; a bucket that is full is a batch.

    Args:
        boundaries: Bucket i holds lengths from ``boundaries[i - 1]`` to below ``boundaries[i]``, the last one the rest.
        sizes: How many elements a batch has: one number, or one for each bucket, ``len(boundaries) + 1`` of them.
        key: What has the length: a column, or a function that answers the length of an element.
        drop_last: Whether buckets that are not full at the end are dropped. They come in the order of their lengths.
        pad: What becomes of columns of unequal rows; by default they are ``Ragged``.
    """

    boundaries: Sequence[int]
    sizes: int | Sequence[int]
    _: KW_ONLY
    key: str | Callable[[Any], int]
    drop_last: bool = False
    pad: Padding = None

    def __post_init__(self) -> None:
        if any(low >= high for low, high in pairwise(self.boundaries)):
            raise ValueError(f"boundaries rise from each to the next: {list(self.boundaries)}")
        sizes, buckets = self._sizes(), len(self.boundaries) + 1
        if len(sizes) != buckets or min(sizes) < 1:
            raise ValueError(f"{buckets} buckets have {buckets} sizes, all 1 or more; found {sizes}")

    def _sizes(self) -> list[int]:
        sizes = self.sizes
        return [sizes] * (len(self.boundaries) + 1) if isinstance(sizes, int) else list(sizes)

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        if is_start(cursor):
            cursor = {"up": cursor, "skip": 0, "waiting": []}
        up, used, waiting, start = cursor["up"], cursor["skip"], cursor["waiting"], cursor
        buckets = [Bucket(size) for size in self._sizes()]
        for number, (place, positions) in enumerate(waiting):
            self._refill(buckets, number, _block_at(upstream, place), positions)

        def emptied(bucket: Bucket) -> Block:
            nonlocal start
            elements, keys = bucket.empty()
            before, start = start, {"up": up, "skip": used, "waiting": Bucket.places(buckets)}
            return block_of_batch(padded(as_batch(elements), self.pad), keys, before, start)

        with closing(upstream(up)) as blocks:
            skip = used
            for number, block in zip(count(len(waiting)), blocks, strict=False):
                up = block.start
                for position, which in enumerate(self._sort(pick(block.elements, slice(skip, None))), skip):
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
        for position, which in zip(positions, self._sort(pick(block.elements, positions)), strict=True):
            buckets[which].add(number, block, position)
        for bucket in buckets:
            bucket.detach()

    def _sort(self, elements: Elements) -> Iterable[int]:
        """Answer the number of the bucket that each element belongs to."""
        return (bisect_right(self.boundaries, length) for length in self._lengths(elements))

    def _lengths(self, elements: Elements) -> Iterable[int]:
        key = self.key
        if not isinstance(key, str):
            return map(key, each(elements))
        if isinstance(elements, Batch) and isinstance(column := elements[key], Ragged):
            lengths: list[int] = column.lengths.tolist()
            return lengths
        return (0 if element[key] is None else len(element[key]) for element in each(elements))

    def describe(self) -> list[Any]:
        key = self.key if isinstance(self.key, str) else name_of(self.key)
        return ["bucket", list(self.boundaries), self._sizes(), key, self.drop_last, describe_padding(self.pad)]


def _block_at(upstream: OpenFlow, place: Cursor) -> Block:
    with closing(upstream(place)) as blocks:
        return next(blocks)
