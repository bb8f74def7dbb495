"""A pipeline behind methods, each of which answers an object with another pipeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from penstock.dataset import stages
from penstock.dataset.access import Access
from penstock.dataset.order import Order
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.reads import Reads


class Pipelined:
    """What a data set is made of: a pipeline, which it never changes, and the epoch that the next pass is."""

    _pipeline: Pipeline
    _access: Access
    _first_epoch: int
    _next_epoch: int

    @classmethod
    def _of(cls, pipeline: Pipeline, epoch: int) -> Self:
        self = cls.__new__(cls)
        self._pipeline, self._access = pipeline, Access(pipeline)
        self._first_epoch = self._next_epoch = epoch
        return self

    def _with(self, pipeline: Pipeline) -> Self:
        return type(self)._of(pipeline, self._first_epoch)

    def _then(self, stage: stages.Stage) -> Self:
        return self._with(self._pipeline.then(stage))

    def _with_start(self, start: Reads) -> Self:
        return self._with(Pipeline(start, self._pipeline.stages))

    def _reorder(
        self, change: Callable[[Order], Order], flow: stages.Stage | None, what: str, *, otherwise: str = ""
    ) -> Self:
        """Change the order of elements that have an index; do ``flow`` to others, or say what to do ``otherwise``."""
        reordered = self._pipeline.reordered(change)
        if reordered is not None:
            return self._with(reordered)
        if flow is None:
            raise TypeError(
                f"{what} needs elements with an index: it comes before filter(), bucket(), unbatch(), mix() and cache()"
                + otherwise
            )
        return self._then(flow)

    def _reads(self, what: str) -> Reads:
        if self._pipeline.reads is None:
            raise TypeError(
                f"{what} comes before filter(), bucket(), unbatch(), cache() and before data sets are joined"
            )
        return self._pipeline.reads
