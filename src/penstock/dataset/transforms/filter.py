"""filter(): the elements for which a function returns true, or that meet a condition on columns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.columns import Batch
from penstock.columns.batch import unchecked_batch
from penstock.columns.stored_column import plain
from penstock.dataset.block import (
    Block,
    Cursor,
    Elements,
    Flow,
    OpenFlow,
    as_batch,
    iter_elements,
    take_from_block,
    truncated,
)
from penstock.dataset.order import RowKeys, call_text
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.progress import Meter
from penstock.dataset.read_rows import ReadRows
from penstock.dataset.source.filter_rows import RowFilter
from penstock.dataset.source.row_source import RowSource
from penstock.dataset.stage import Stage
from penstock.dataset.transforms.map import FunctionStage, run
from penstock.dataset.workers import FunctionCall, Outcome, name_of
from penstock.schema import Schema
from penstock.schema.schema import keep_images_encoded


def filter_by(pipeline: Pipeline, stage: FilterStage) -> Pipeline:
    """Return a pipeline of the elements for which a function returns true."""
    if stage.columns is None:
        return pipeline.then(stage)
    names = stage.columns
    filtered = None if stage.workers else _filter_reads(pipeline, lambda source: source.with_columns(names), stage)
    return filtered or pipeline.then(stage)


class ColumnCondition(Protocol):
    """A condition on the columns of a row, as :class:`penstock.expression.RowCondition` is one."""

    @property
    def text(self) -> str:
        """The condition in words."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the condition reads."""

    def check(self, columns: Schema) -> None:
        """Raise if the condition does not fit the columns."""

    def matches(self, columns: Batch) -> NDArray[np.bool_]:
        """Return which rows match."""


def filter_where(pipeline: Pipeline, condition: ColumnCondition) -> Pipeline:
    """Return a pipeline of the rows that meet a condition."""
    if pipeline.yields_batches:
        raise TypeError("a condition is on the columns of a row: call filter() before batch()")
    if pipeline.schema_of_elements is not None:
        condition.check(pipeline.schema_of_elements)
    stage = WhereStage(condition)

    def with_names(source: RowSource) -> RowSource:
        # Whether an image is absent can be asked, so that none is decoded.
        return source.with_schema(keep_images_encoded(source.schema)).with_columns(condition.names)

    return _filter_reads(pipeline, with_names, stage) or pipeline.then(stage)


def _filter_reads(
    pipeline: Pipeline, change: Callable[[RowSource], RowSource], test: FilterStage | WhereStage
) -> Pipeline | None:
    """Filter rows where they are read; None where elements are not rows as they are read."""
    start = pipeline.start
    if not isinstance(start, ReadRows) or start.batches is not None or pipeline.stages:
        return None
    return Pipeline(replace(start, filters=(*start.filters, RowFilter(change(start.source), test))))


@dataclass(frozen=True)
class FilterStage(FunctionStage):
    """Drops the elements for which the function returns false.

    Args:
        columns: The columns that the function gets; None: all.
    """

    keeps_rows = True

    columns: tuple[str, ...] | None = None

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        whole: deque[Block] = deque()

        def tested(blocks: Flow) -> Flow:
            for block in blocks:
                whole.append(block)
                yield block if self.columns is None else replace(block, elements=_with_names(block, self.columns))

        with closing(upstream(cursor)) as blocks, closing(run(self, tested(blocks), meter, test=True)) as outcomes:
            yield from _select(((whole.popleft(), outcome) for _, outcome in outcomes))

    def matches(self, elements: Elements, keys: RowKeys) -> Outcome:
        """Return whether the function returns true for each row, or the results before one for which it raised."""
        return FunctionCall(self.fn, self.seed, test=True)(elements, keys)

    @property
    def calls(self) -> list[str]:
        columns = None if self.columns is None else list(self.columns)
        return [call_text("filter", name_of(self.fn).rpartition(".")[2], columns=columns, seed=self.seed)]

    def describe(self) -> list[Any]:
        return ["filter", name_of(self.fn), self.seed]


@dataclass(frozen=True)
class WhereStage(Stage):
    """Drops the rows that do not meet a condition."""

    keeps_rows = True

    condition: ColumnCondition

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        with closing(upstream(cursor)) as blocks:
            yield from _select(
                (block, self.matches(_with_names(block, self.condition.names), block.keys)) for block in blocks
            )

    def matches(self, elements: Elements, keys: RowKeys) -> Outcome:
        """Return whether each row meets the condition."""
        return Outcome(self.condition.matches(as_batch(elements)).tolist(), None)

    @property
    def calls(self) -> list[str]:
        return [call_text("filter", repr(self.condition.text))]

    def describe(self) -> list[Any]:
        return ["filter", self.condition.text]


def _select(outcomes: Generator[tuple[Block, Outcome]]) -> Flow:
    for block, (matches, error) in outcomes:
        positions = [position for position, match in enumerate(matches) if match]
        if len(positions) == len(block):
            yield block
        elif positions:
            rest = take_from_block(block, positions)
            yield rest if error is None else truncated(rest)
        if error is not None:
            raise error


def _with_names(block: Block, names: tuple[str, ...]) -> Elements:
    """Return the elements of a block with some of their columns."""
    elements = block.elements
    if isinstance(elements, Batch):
        return unchecked_batch({name: plain(elements[name]) for name in names}, elements.num_rows)
    return [_with_columns(element, names) for element in iter_elements(elements)]


def _with_columns(element: Any, names: tuple[str, ...]) -> Any:
    if isinstance(element, Batch):
        return unchecked_batch({name: element[name] for name in names}, element.num_rows)
    if not isinstance(element, Mapping):
        raise TypeError(f"filter() by columns needs elements with names, such as dicts, not {type(element).__name__}")
    return {name: element[name] for name in names}
