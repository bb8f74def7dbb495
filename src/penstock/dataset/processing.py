"""What is done to elements on their way: the methods of a data set that make something else of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from penstock.arguments import int_at_least
from penstock.dataset import stages
from penstock.dataset.arguments import any_seed
from penstock.dataset.caching import cache_stage
from penstock.dataset.pipelined import Pipelined
from penstock.dataset.stages.padding import Padding
from penstock.files import StrPath


class Processing(Pipelined):
    """Methods that make something else of elements, group them, or keep them."""

    def map(
        self, fn: Callable[..., Any], *, workers: int = 0, processes: bool = False, seed: int | None = None
    ) -> Self:
        """Call a function with every element: an example, or behind ``batch()`` a batch.

        With ``workers``, on that many threads or ``processes``, ahead of the consumer; the order is kept. A function
        that wants randomness is given ``seed`` and takes a second argument: a NumPy generator of its own for each
        element and epoch, the same whatever the workers, the ranks and the step that a run was resumed at.
        """
        return self._then(stages.Map(fn, workers=workers, processes=processes, seed=any_seed(seed)))

    def filter(
        self, fn: Callable[..., Any], *, workers: int = 0, processes: bool = False, seed: int | None = None
    ) -> Self:
        """Keep the elements that a function answers true to; the arguments are those of :meth:`map`."""
        return self._then(stages.Filter(fn, workers=workers, processes=processes, seed=any_seed(seed)))

    def batch(self, size: int, *, drop_last: bool = False, pad: Padding = None) -> Self:
        """Group elements into batches of columns; the last may be smaller, or is dropped.

        Rows of unequal length are ragged columns; ``pad`` makes arrays of them: ``True`` pads to the longest of the
        batch with zeros, a dict says by column which value, or which ``ps.Pad(value, length)``.
        """
        size = int_at_least("size", size, 1)
        reads = self._pipeline.reads
        # Where records may be passed over, which rows make a batch is known when they were read.
        if reads is None or reads.batches is not None or reads.source.on_error != "raise":
            return self._then(stages.Batched(size, drop_last=drop_last, pad=pad))
        return self._with_start(reads.batched(size, drop_last))._then(stages.Packed(pad=pad))

    def bucket(
        self,
        boundaries: Sequence[int],
        sizes: int | Sequence[int],
        *,
        key: str | Callable[[Any], int],
        drop_last: bool = False,
        pad: Padding = None,
    ) -> Self:
        """Group elements of similar length into batches: as long as ``key``, a ragged column or a function, says.

        Batch i holds elements whose length lies below ``boundaries[i]`` and not below the one before; ``sizes`` is the
        size of all batches, or of each bucket's.
        """
        # As JSON has them, in a saved state: those of NumPy, too.
        boundaries, sizes = np.asarray(boundaries).tolist(), np.asarray(sizes).tolist()
        return self._then(stages.Bucketed(boundaries, sizes, key=key, drop_last=drop_last, pad=pad))

    def unbatch(self) -> Self:
        """Take batches apart into examples."""
        return self._then(stages.Unbatched())

    def prefetch(self, blocks: int) -> Self:
        """Work that many blocks (behind ``batch()``: batches) ahead of the consumer, on a thread."""
        blocks = int_at_least("blocks", blocks, 1)
        return self._then(stages.Prefetched(blocks))

    def cache(self, path: StrPath | None = None, *, key: str | None = None) -> Self:
        """Keep the elements of the first whole pass, in memory or on disk below ``path``, for the passes after it.

        What is kept on disk is found again by the files (their size, both ends, and when they were last changed) and by
        what is done to them, functions included; ``key`` names what a function does where its code does not tell.
        """
        return self._then(cache_stage(self._pipeline, path, key))
