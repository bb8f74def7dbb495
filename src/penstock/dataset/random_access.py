"""Random access: elements and records of a pipeline by their positions in the first epoch."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from contextlib import closing
from functools import cached_property
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.columns import collate
from penstock.dataset.block import Block, Flow, iter_elements
from penstock.dataset.order import Epoch, Ints, RowKeys, Run
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.progress import Meter
from penstock.dataset.read_rows import ReadRows
from penstock.dataset.transforms.zip import ZipStart


class RandomAccess:
    """Reads elements of a pipeline by their positions in the first epoch."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    @cached_property
    def length(self) -> int:
        """The number of elements."""
        length = self._pipeline.length(Epoch())
        if length is None:
            raise TypeError(
                "this dataset has no length: it has no end, or its elements are known only after reading it"
            )
        return length

    @cached_property
    def _reads(self) -> ReadRows:
        if self._pipeline.reads is None:
            raise TypeError("elements after filter(), bucket(), cache() and the like have no index: iterate them")
        self._pipeline.reads.check_seeks()
        return self._pipeline.reads

    @cached_property
    def _rows(self) -> ReadRows:
        if self._reads.batches is not None:
            raise TypeError("a batch is made of many records: read them before batch()")
        return self._reads

    def element(self, key: SupportsIndex) -> Any:
        """Return one element."""
        pipeline = self._pipeline
        if isinstance(pipeline.start, ZipStart) and not pipeline.stages:
            position = position_in(key, self.length)
            return tuple(RandomAccess(child).element(position) for child in pipeline.start.children)
        reads = self._reads  # before the length, so that a missing index is the error
        position = position_in(key, self._length_for(key))
        if pipeline.stages or reads.batches is not None:
            return _through_stages(pipeline, reads, reads.keys(position, 1, Epoch()))[0]
        return reads.source.row(self._row_at(position))

    def elements(self, key: Sequence[int] | NDArray[Any]) -> Any:
        """Return many elements at once: rows as a batch, others as a list."""
        reads = self._reads
        positions = positions_in(key, self._length_for(key))
        if reads.batches is not None:
            return [self.element(position) for position in positions.tolist()]
        if not self._pipeline.stages:
            return reads.fetch(self._rows_at(positions))
        return collate(_through_stages(self._pipeline, reads, reads.rows.at(positions, Epoch())))

    def record(self, key: SupportsIndex) -> bytes:
        """Return the record of an element as it is stored."""
        return self._rows.source.record(self._row_at(position_in(key, self._length_for(key))))

    def records(self, key: Sequence[int] | NDArray[Any]) -> list[bytes]:
        """Return the records of elements as they are stored."""
        return self._rows.source.records(self._rows_at(positions_in(key, self._length_for(key))))

    @cached_property
    def _remote_run(self) -> Run | None:
        """The rows of the elements, where they are successive rows of remote files."""
        reads = self._reads
        return reads.rows.run if reads.batches is None and reads.source.shards.remote else None

    def _length_for(self, key: SupportsIndex | Sequence[int] | NDArray[Any]) -> int:
        """Return the length; of remote files one that covers the positions, so that fewer files are counted."""
        run = self._remote_run
        if run is None:
            return self.length
        asked = np.asarray(key)
        if not asked.size or asked.dtype.kind not in "iu" or asked.min() < 0:
            return self.length
        rows = self._reads.source.shards.rows_beyond(run.start + int(asked.max()))
        return max(0, (rows if run.stop is None else min(rows, run.stop)) - run.start)

    def _rows_at(self, positions: Ints) -> Ints:
        order = self._reads.rows
        return positions if order.whole else order.at(positions, Epoch()).rows

    def _row_at(self, position: int) -> int:
        reads = self._rows
        return position if reads.rows.whole else int(reads.keys(position, 1, Epoch()).rows[0])


def _through_stages(pipeline: Pipeline, reads: ReadRows, keys: RowKeys) -> list[Any]:
    block = Block(reads.fetch(keys.rows), keys, None, None)

    def alone(cursor: Any) -> Flow:
        yield block

    flow = alone(None)
    meter = Meter()
    for stage in pipeline.stages:
        flow = stage.open(_opened(flow), None, meter)
    with closing(flow):
        return [element for done in flow for element in iter_elements(done.elements)]


def _opened(flow: Flow) -> Any:
    return lambda cursor: flow


def position_in(key: SupportsIndex, length: int) -> int:
    """Return a position; negative ones count from the end."""
    index = operator.index(key)
    if not -length <= index < length:
        raise IndexError(f"element {index} of a dataset of {length} elements")
    return index % length


def positions_in(key: Sequence[int] | NDArray[Any], length: int) -> NDArray[np.int64]:
    """Return positions by the rules of NumPy (negative ones, masks, errors), without an array of the whole length."""
    if type(key) is list and (found := _core.positions_in(key, length)) is not None:
        return found
    given = np.asarray(key, None if len(key) else np.int64)
    if given.dtype == bool:
        if given.shape != (length,):
            raise IndexError(f"a mask for {length} elements has shape ({length},), not {given.shape}")
        return np.flatnonzero(given)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise IndexError("elements are chosen by a list of integers or booleans, columns by select_columns(names)")
    if given.size and given.min() >= 0 and given.max() < length:
        return given.astype(np.int64)
    positions = np.where(given < 0, given.astype(np.int64) + length, given).astype(np.int64)
    wrong = (positions < 0) | (positions >= length)
    if wrong.any():
        raise IndexError(f"element {given[wrong][0]} of a dataset of {length} elements")
    return positions
