"""A histogram of numbers whose range is not known beforehand, in bounded memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BINS = 64
_BARS = "▁▂▃▄▅▆▇█"
_MAX_BARS = 16


class Histogram:
    """Counts in bins of equal width, which doubles whenever a value does not fit."""

    def __init__(self, *, integers: bool) -> None:
        self._integers = integers
        self._counts = np.zeros(_BINS, np.int64)
        self._width = 0.0
        self._first = 0  # the first bin starts at this many widths

    def add(self, values: NDArray[np.float64]) -> None:
        """Count finite values."""
        if not len(values):
            return
        low, high = float(values.min()), float(values.max())
        if not self._width:
            self._width = self._first_width(low, high)
            self._first = self._bin(low)
        self._widen_to(low, high)
        numbers = np.floor(values / self._width)
        numbers[(values < 0) & (numbers == 0)] = -1  # the quotient underflowed and lost its sign
        bins = np.clip(numbers - self._first, 0, _BINS - 1).astype(np.int64)
        self._counts += np.bincount(bins, minlength=_BINS)

    def _document(self) -> dict[str, Any] | None:
        """Return the start of the first bin, the width of all, and their counts; None if nothing was added."""
        if not self._width:
            return None
        used = np.flatnonzero(self._counts)
        counts = self._counts[used[0] : used[-1] + 1].tolist()
        return {"start": (self._first + int(used[0])) * self._width, "width": self._width, "counts": counts}

    def __str__(self) -> str:
        """Return a line of bars."""
        if not self._width:
            return ""
        used = np.flatnonzero(self._counts)
        counts = self._counts[used[0] : used[-1] + 1]
        bins_per_bar = -(-len(counts) // _MAX_BARS)
        heights = np.add.reduceat(counts, np.arange(0, len(counts), bins_per_bar))
        scaled = np.ceil(heights * len(_BARS) / heights.max()).astype(int)
        return "".join(_BARS[height - 1] if height else " " for height in scaled)

    def _first_width(self, low: float, high: float) -> float:
        if self._integers:
            return 1.0
        span = high / 2 - low / 2 or abs(low) or 1.0
        return max(2.0 ** (math.frexp(span)[1] - 4), float(np.finfo(np.float64).tiny))

    def _bin(self, value: float) -> int:
        # The quotient may overflow to infinity, where only its sign matters, or underflow to zero.
        number = math.floor(min(max(value / self._width, -1e300), 1e300))
        return -1 if value < 0 and number == 0 else number

    def _widen_to(self, low: float, high: float) -> None:
        used = np.flatnonzero(self._counts)
        while True:
            first, last = self._bin(low), self._bin(high)
            if len(used):
                first = min(first, self._first + int(used[0]))
                last = max(last, self._first + int(used[-1]))
            if last - first < _BINS:
                break
            self._double()
            used = np.flatnonzero(self._counts)
        moved = np.zeros_like(self._counts)
        moved[used + (self._first - first)] = self._counts[used]
        self._counts, self._first = moved, first

    def _double(self) -> None:
        """Double the width: merge pairs of bins."""
        numbers = np.arange(_BINS) + self._first % 2
        self._counts = np.bincount(numbers // 2, self._counts, minlength=_BINS).astype(np.int64)
        self._first //= 2
        self._width *= 2
