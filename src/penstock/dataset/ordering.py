"""Which element comes when: the methods of a data set that choose elements and put them in order."""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from typing import Any, Self

from numpy.typing import NDArray

from penstock.arguments import int_at_least
from penstock.dataset import stages
from penstock.dataset.arguments import positions_in, seed_of
from penstock.dataset.caching import is_in_memory
from penstock.dataset.order import (
    AllRows,
    Interleaved,
    Order,
    Picked,
    Range,
    Ranked,
    Remainder,
    Repeated,
    Shuffled,
    Windowed,
)
from penstock.dataset.pipelined import Pipelined


class Ordering(Pipelined):
    """Methods that choose elements and put them in order."""

    def select(self, positions: Sequence[int] | NDArray[Any]) -> Self:
        """Choose elements by their positions, in that order."""
        chosen = positions_in(positions, self._access.length)
        return self._reorder(lambda order: Picked(order, chosen), None, "select()")

    def shuffle(self, seed: int, *, window: int | None = None) -> Self:
        """Put the elements in random order, another one in each epoch.

        All of them, without a buffer: a pseudo-random permutation says which comes next. With ``window``, runs of rows
        in random order and the rows of a window of about that many mixed: for files where seeking is slow or, as in one
        gzip stream, impossible.
        """
        seed = seed_of(seed)
        if window is None:
            # What is in memory anyway is shuffled there.
            flow = stages.WindowShuffled(seed, sys.maxsize) if is_in_memory(self._pipeline) else None
            return self._reorder(
                lambda order: Shuffled(order, seed),
                flow,
                "shuffle() without a window",
                otherwise=f"; behind them, shuffle({seed}, window=10_000) mixes elements as they come",
            )
        window = int_at_least("window", window, 1)
        reads = self._pipeline.reads
        if reads is None:
            return self._then(stages.WindowShuffled(seed, window))
        shards = reads.source.shards
        return self._reorder(lambda order: Windowed(order, seed, window, shards), None, "shuffle()")

    def interleave(self, cycle: int | None = None) -> Self:
        """Take a row of each file in turn, ``cycle`` files at a time; None: all of them."""
        if cycle is not None:
            cycle = int_at_least("cycle", cycle, 1)
        reads = self._reads("interleave()")
        if not isinstance(reads.order, AllRows):
            raise ValueError("interleave() comes first, before other orders and before batch()")
        return self._reorder(lambda order: Interleaved(reads.source.shards, cycle), None, "interleave()")

    def shard(self, rank: int, world: int, *, remainder: Remainder = "keep") -> Self:
        """Take the share of one of ``world`` ranks: every ``world``-th element, none twice, none missing.

        ``remainder`` says what happens to elements that cannot be dealt out evenly: ``"keep"`` them, so that some ranks
        have one more; ``"drop"`` them; or ``"repeat"`` some, so that all have the same number and none is missing.
        """
        world, rank = int_at_least("world", world, 1), operator.index(rank)
        if not 0 <= rank < world:
            raise ValueError(f"a rank is one of 0 ... {world - 1}, not {rank}")
        if remainder not in ("keep", "drop", "repeat"):
            raise ValueError(f"remainder is 'keep', 'drop' or 'repeat', not {remainder!r}")

        def share(order: Order) -> Order:
            if isinstance(order, Ranked):
                return order.divided(rank, world, remainder)
            return Ranked(order, rank, world, remainder)

        flow = stages.Strided(rank, world) if remainder == "keep" else None
        return self._reorder(share, flow, "an even shard()")

    def repeat(self, times: int | None = None) -> Self:
        """Go through the data ``times``, or without end; shuffled anew each time."""
        if times is not None:
            times = int_at_least("times", times, 0)
        return self._reorder(lambda order: Repeated(order, times), stages.RepeatedFlow(times), "repeat()")

    def take(self, count: int) -> Self:
        """End after ``count`` elements."""
        count = int_at_least("count", count, 0)
        return self._reorder(lambda order: Range(order, 0, count), stages.Taken(count), "take()")

    def skip(self, count: int) -> Self:
        """Start behind ``count`` elements."""
        count = int_at_least("count", count, 0)
        return self._reorder(lambda order: Range(order, count, None), stages.Skipped(count), "skip()")

    def epoch(self, number: int) -> Self:
        """Let the next ``iter()`` be this epoch, of this data set or of what is made of it."""
        number = int_at_least("number", number, 0)
        return type(self)._of(self._pipeline, number)
