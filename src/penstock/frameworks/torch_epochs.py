"""Which epoch a pass of a ``DataLoader`` is, told alike by all of its workers."""

from __future__ import annotations

import os

from penstock.errors import import_extra

torch = import_extra("torch", "torch", "feeding torch")

_SEED_BITS = 32
_SEED = (1 << _SEED_BITS) - 1


class Epochs:
    """Counts passes in memory that workers share.

    A loader starts its workers anew for each pass, with a copy of the data set that has never been iterated, and tells
    them nothing but a random seed, the same for all of them. So the first worker that begins with a new seed counts on,
    and the others see that their seed was counted. Number and seed are one word, which is read and written at once:
    workers that count on at the same time write the same word.
    """

    def __init__(self) -> None:
        self._word = torch.zeros(1, dtype=torch.int64).share_memory_()
        self._last: tuple[int, int] | None = None  # of this process alone: workers may live for several passes

    def begin(self, seed: int | None) -> int:
        """Answer the number of a pass that begins; ``seed`` is what the workers of a pass have in common."""
        word = int(self._word[0])
        count = word >> _SEED_BITS
        mine = 0 if seed is None else (seed & _SEED) or 1
        if self._last is not None and self._last[0] == os.getpid():
            count = self._last[1] + 1
        elif seed is None or word & _SEED != mine:
            count += 1
        self._write(count, mine)
        return count - 1

    def resume(self, epoch: int) -> None:
        """Count on from an epoch that was taken up in its middle."""
        self._write(epoch + 1, int(self._word[0]) & _SEED)

    def _write(self, count: int, seed: int) -> None:
        self._word[0] = count << _SEED_BITS | seed
        self._last = os.getpid(), count
