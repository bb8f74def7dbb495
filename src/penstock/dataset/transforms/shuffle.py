"""shuffle(): a permutation of all rows, or of windows for files where seeking is slow or impossible."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from penstock import _core
from penstock.arguments import int_at_least, seed_of
from penstock.dataset.block import (
    Block,
    Cursor,
    Flow,
    OpenFlow,
    concat_elements,
    concat_keys,
    is_start,
    take_from_block,
)
from penstock.dataset.order import Epoch, Files, Ints, Order, RowKeys, WrappedOrder, call_text, finite_length
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.progress import Meter
from penstock.dataset.stage import ElementSupply, Stage

# A window mixes this many runs of successive rows, from all over the data.
_RUNS_IN_WINDOW = 16
# Numbers of the permutations of one seed and epoch.
_OF_ROWS, _OF_RUNS, _IN_WINDOWS = 0, 1, 2


def shuffle(pipeline: Pipeline, seed: int, window: int | None) -> Pipeline:
    """Return a pipeline with its elements in random order, or in random order within windows."""
    seed = seed_of(seed)
    if window is None:
        # Elements that are in memory anyway are shuffled there.
        return pipeline.reorder(
            lambda order: ShuffleOrder(order, seed),
            "shuffle() without a window",
            fallback=WindowShuffleStage(seed, sys.maxsize) if pipeline.is_in_memory else None,
            hint=f"; after them, shuffle(seed={seed}, window=10_000) mixes elements as they come",
        )
    window = int_at_least("window", window, 1)
    reads = pipeline.reads
    if reads is None:
        return pipeline.then(WindowShuffleStage(seed, window))
    shards = reads.source.shards
    return pipeline.reorder(lambda order: WindowShuffleOrder(order, seed, window, shards), "shuffle()")


class ShuffleOrder(WrappedOrder):
    """A seeded permutation of all positions, another one in each epoch."""

    def __init__(self, inner: Order, seed: int) -> None:
        super().__init__(inner)
        self._seed = seed

    def length(self, which: Epoch) -> int:
        return finite_length(self.inner, which, "shuffle")

    def at(self, positions: Ints, which: Epoch) -> RowKeys:
        order = _core.permute(positions, self.length(which), seed=self._seed, epoch=which.epoch, stream=_OF_ROWS)
        return self.inner.at(order, which)

    @property
    def seeks(self) -> bool:
        return True

    @property
    def calls(self) -> list[str]:
        return [*self.inner.calls, call_text("shuffle", seed=self._seed)]

    def describe(self) -> list[Any]:
        return [*self.inner.describe(), ["shuffle", self._seed]]


class _Runs(NamedTuple):
    """Runs of rows in the order in which they are read, and the windows in which they are mixed."""

    rows: Ints
    """The first position, in the inner order, of each run."""
    starts: Ints
    """The position in the epoch where each run starts."""
    windows: Ints
    """The position where each window starts, and where the last one stops."""


class WindowShuffleOrder(WrappedOrder):
    """Runs of successive positions in random order, mixed within windows.

    A window reads its rows from sixteen runs. Files without random access are read whole instead, in random order, and
    mixed in windows from their start to their end.
    """

    def __init__(self, inner: Order, seed: int, window: int, files: Files) -> None:
        super().__init__(inner)
        self._seed, self._window, self._files = seed, window, files
        self._runs = lru_cache(maxsize=2)(self._plan)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.inner, self._seed, self._window, self._files)

    def length(self, which: Epoch) -> int:
        return finite_length(self.inner, which, "shuffle")

    def at(self, positions: Ints, which: Epoch) -> RowKeys:
        runs = self._runs(which)
        window = np.searchsorted(runs.windows, positions, side="right") - 1
        mixed = np.empty_like(positions)
        for number in np.unique(window):
            mine = window == number
            begin, end = runs.windows[number : number + 2].tolist()
            mixed[mine] = begin + _core.permute(
                positions[mine] - begin,
                end - begin,
                seed=self._seed,
                epoch=which.epoch,
                stream=_IN_WINDOWS + int(number),
            )
        run = np.searchsorted(runs.starts, mixed, side="right") - 1
        return self.inner.at(runs.rows[run] + mixed - runs.starts[run], which)

    def _plan(self, which: Epoch) -> _Runs:
        total = self.length(which)
        if not self._files.seekable and not self.inner.whole:
            raise ValueError(
                "files without random access must be shuffled first: call shuffle() before take(), select() etc."
            )
        # Files with restart points are read whole, too: the order of rows does not depend on whether they have any.
        by_rows = self._files.seekable_by_themselves or not self.inner.whole
        if by_rows:
            size = max(1, self._window // _RUNS_IN_WINDOW)
            sizes = np.full(-(-total // size), size, np.int64)
            sizes[-1:] = total - size * (len(sizes) - 1)
        else:
            sizes = np.array(self._files.counts, np.int64)
        firsts = np.cumsum(sizes) - sizes
        order = _core.permute(np.arange(len(sizes)), len(sizes), seed=self._seed, epoch=which.epoch, stream=_OF_RUNS)
        sizes = sizes[order]
        starts = np.cumsum(sizes) - sizes
        if by_rows:
            windows = starts[::_RUNS_IN_WINDOW]
        else:
            # A window ends with its file.
            ranges = zip(starts.tolist(), sizes.tolist(), strict=True)
            windows = np.concatenate([np.arange(start, start + size, self._window) for start, size in ranges])
        return _Runs(firsts[order], starts, np.append(windows, total))

    @property
    def reach(self) -> int:
        return max(2 * self._window, self.inner.reach)

    @property
    def calls(self) -> list[str]:
        return [*self.inner.calls, call_text("shuffle", seed=self._seed, window=self._window)]

    def describe(self) -> list[Any]:
        return [*self.inner.describe(), ["shuffle", self._seed, self._window]]


@dataclass(frozen=True)
class WindowShuffleStage(Stage):
    """Collects ``window`` elements at a time and returns them in random order, another one in each epoch."""

    keeps_rows = True
    ignores_columns = True

    seed: int
    window: int

    def __post_init__(self) -> None:
        if self.window < 1:
            raise ValueError(f"a window holds 1 element or more, not {self.window}")

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        with closing(ElementSupply(upstream, cursor)) as supply:
            for number in count(0 if is_start(cursor) else cursor["window"]):
                if not supply.ready():
                    return
                start = supply.cursor | {"window": number}
                parts = supply.take(self.window)
                stop = supply.cursor | {"window": number + 1}
                keys = concat_keys([part.keys for part in parts])
                collected = Block(concat_elements([part.elements for part in parts]), keys, start, stop)
                yield take_from_block(collected, self._order(len(collected), int(keys.epochs[0]), number))

    def _order(self, length: int, epoch: int, number: int) -> list[int]:
        order = _core.permute(np.arange(length), length, seed=self.seed, epoch=epoch, stream=number)
        positions: list[int] = order.tolist()
        return positions

    def length(self, upstream: int | None) -> int | None:
        return upstream

    @property
    def calls(self) -> list[str]:
        window = None if self.window == sys.maxsize else self.window
        return [call_text("shuffle", seed=self.seed, window=window)]

    def describe(self) -> list[Any]:
        return ["shuffle", self.seed, self.window]
