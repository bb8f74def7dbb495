"""Orders that look random: of all rows, or of windows for files where seeking is slow or impossible."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from penstock import _core
from penstock.dataset.order.order import Ints, Keys, Order, Pass, Sequential, finite

# A window is mixed from this many runs of rows that are read whole, from all over the data.
_RUNS_IN_WINDOW = 16

# Which of several permutations of one seed and epoch.
_OF_ROWS, _OF_RUNS, _IN_WINDOWS = 0, 1, 2


class Shuffled(Order):
    """A pseudo-random permutation of all positions, another one in each epoch."""

    def __init__(self, inner: Order, seed: int) -> None:
        self._inner, self._seed = inner, seed

    def length(self, which: Pass) -> int:
        return finite(self._inner, which, "shuffle")

    def at(self, positions: Ints, which: Pass) -> Keys:
        order = _core.permute(positions, self.length(which), seed=self._seed, epoch=which.epoch, stream=_OF_ROWS)
        return self._inner.at(order, which)

    def describe(self) -> list[Any]:
        return [*self._inner.describe(), ["shuffle", self._seed]]


class _Runs(NamedTuple):
    """Runs of rows in the order in which they are read, and the windows that they are mixed in."""

    rows: Ints
    """The first position, in the inner order, of each run."""
    starts: Ints
    """Where each run begins in the pass."""
    windows: Ints
    """Where each window begins in the pass, and where the last one ends."""


class Windowed(Order):
    """Runs of successive positions in random order, and all that is in a window of them mixed.

    A window reads ``window`` rows from sixteen places. Where files have no random access, ``files`` names the number of
    rows of each: then files are read whole, in random order, and windows are mixed one after another within them.
    """

    def __init__(self, inner: Order, seed: int, window: int, files: tuple[int, ...] | None = None) -> None:
        self._inner, self._seed, self._window, self._files = inner, seed, window, files
        if files is not None and not isinstance(inner, Sequential):
            raise ValueError("files without random access are shuffled first, before other orders")
        self._runs = lru_cache(maxsize=2)(self._plan)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._inner, self._seed, self._window, self._files)

    def length(self, which: Pass) -> int:
        return finite(self._inner, which, "shuffle")

    def at(self, positions: Ints, which: Pass) -> Keys:
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
        return self._inner.at(runs.rows[run] + mixed - runs.starts[run], which)

    def _plan(self, which: Pass) -> _Runs:
        total = self.length(which)
        if self._files is not None:
            sizes = np.array(self._files, np.int64)
        else:
            size = max(1, self._window // _RUNS_IN_WINDOW)
            sizes = np.full(-(-total // size), size, np.int64)
            sizes[-1:] = total - size * (len(sizes) - 1)
        firsts = np.cumsum(sizes) - sizes
        order = _core.permute(np.arange(len(sizes)), len(sizes), seed=self._seed, epoch=which.epoch, stream=_OF_RUNS)
        starts = np.cumsum(sizes[order]) - sizes[order]
        if self._files is not None:
            # Windows do not reach over the end of a file.
            ranges = zip(starts.tolist(), sizes[order].tolist(), strict=True)
            begins = [np.arange(start, start + size, self._window) for start, size in ranges]
            windows = np.concatenate([*begins, [total]]).astype(np.int64)
        else:
            windows = np.append(starts[::_RUNS_IN_WINDOW], total)
        return _Runs(firsts[order], starts, windows)

    @property
    def takes_seeks(self) -> bool:
        return self._files is None

    def describe(self) -> list[Any]:
        return [*self._inner.describe(), ["shuffle", self._seed, self._window, self._files is not None]]
