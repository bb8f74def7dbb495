"""A histogram of numbers whose range is not known beforehand, in bounded memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock import _core

_BARS = "▁▂▃▄▅▆▇█"
_MAX_BARS = 16


class Histogram:
    """Counts in bins of equal width, a power of two that depends on the smallest and the largest value alone."""

    def __init__(self, *, integers: bool = True) -> None:
        self._native = _core.Histogram(integers)
        self._bins = self._native.bins

    @classmethod
    def of_bins(cls, width: float, first: int, counts: list[int]) -> Histogram:
        """Return a histogram that was counted elsewhere: the first bin starts at ``first`` widths."""
        histogram = cls()
        histogram._bins = (width, first, counts)
        return histogram

    def add(self, values: NDArray[np.float64]) -> None:
        """Count finite values."""
        self._native.add(values)
        self._bins = self._native.bins

    def _document(self) -> dict[str, Any] | None:
        """Return the start of the first bin, the width of all, and their counts; None if nothing was added."""
        width, first, counts = self._bins
        used = np.flatnonzero(counts)
        if not len(used):
            return None
        return {"start": (first + int(used[0])) * width, "width": width, "counts": counts[used[0] : used[-1] + 1]}

    def __str__(self) -> str:
        """Return a line of bars."""
        _, _, all_counts = self._bins
        used = np.flatnonzero(all_counts)
        if not len(used):
            return ""
        counts = np.array(all_counts[used[0] : used[-1] + 1])
        bins_per_bar = -(-len(counts) // _MAX_BARS)
        heights = np.add.reduceat(counts, np.arange(0, len(counts), bins_per_bar))
        scaled = np.ceil(heights * len(_BARS) / heights.max()).astype(int)
        return "".join(_BARS[height - 1] if height else " " for height in scaled)
