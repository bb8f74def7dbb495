"""Pipelines that carry the stored bytes of values through functions, so that writing re-encodes only new values.

Between stages, images, tensors and raw arrays are :class:`Stored` values. Functions get plain arrays, and the arrays
that they return are compared by content with those they got: equal ones keep their stored bytes, even if they were
renamed, copied or moved to another row.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from penstock.columns import Batch, Nullable, Ragged, unchecked_batch
from penstock.columns.stored_column import Content, Stored, StoredColumn, content_of
from penstock.dataset.block import Cursor, Flow, OpenFlow
from penstock.dataset.pipeline import JoinStart, Pipeline
from penstock.dataset.progress import Meter
from penstock.dataset.read_rows import ReadRows
from penstock.dataset.stage import Stage
from penstock.dataset.transforms.batch import BatchStage, PackStage
from penstock.dataset.transforms.bucket import BucketStage
from penstock.dataset.transforms.cache import DiskCacheStage, MemoryCacheStage, in_epoch, position_of
from penstock.dataset.transforms.cast import CastStage
from penstock.dataset.transforms.column_names import ColumnNamesStage
from penstock.dataset.transforms.filter import FilterStage, WhereStage
from penstock.dataset.transforms.flat_map import FlatMapStage, Listed
from penstock.dataset.transforms.map import MapStage
from penstock.dataset.transforms.pack import PackListsStage
from penstock.dataset.transforms.prefetch import PrefetchStage
from penstock.dataset.transforms.repeat import RepeatStage
from penstock.dataset.transforms.shard import ShardStage
from penstock.dataset.transforms.shuffle import WindowShuffleStage
from penstock.dataset.transforms.take_skip import SkipStage, TakeStage
from penstock.dataset.transforms.unbatch import UnbatchStage
from penstock.dataset.transforms.window import WindowStage
from penstock.dataset.transforms.zip import ZipStart
from penstock.dataset.workers import name_of
from penstock.schema import Schema
from penstock.schema.schema import trace_encoded

_Known: TypeAlias = dict[Content, list[tuple[int | None, Stored]]]
"""The arguments of a function by content, each with its row in a batch."""
_CACHES = (MemoryCacheStage, DiskCacheStage)
_FUNCTIONS = (MapStage, FlatMapStage, FilterStage)
_COLUMN_STAGES = (ColumnNamesStage, CastStage, PackListsStage)
_PASS_THROUGH = (
    TakeStage,
    SkipStage,
    ShardStage,
    RepeatStage,
    WindowShuffleStage,
    PrefetchStage,
    UnbatchStage,
    BatchStage,
    PackStage,
    WhereStage,
    WindowStage,
    *_COLUMN_STAGES,
)


def carry_stored_values(pipeline: Pipeline) -> tuple[Pipeline, Schema | None]:
    """Return a pipeline whose elements hold stored values, and the schema of its source, if there is one."""
    start, schema = pipeline.start, None
    if isinstance(start, ReadRows):
        schema = start.source.schema_to_write
        start = replace(start, source=start.source.with_schema(trace_encoded(start.source.schema)))
    elif isinstance(start, JoinStart):
        children = list(map(carry_stored_values, start.children))
        schemas = [child_schema for _, child_schema in children]
        if not isinstance(start, ZipStart) and all(other == schemas[0] for other in schemas):
            schema = schemas[0]
        start = replace(start, children=tuple(child for child, _ in children))
    computed = _calls_functions(replace(pipeline, stages=()))
    stages: list[Stage] = []
    for stage in pipeline.stages:
        stages.append(_stage_of_stored(stage, computed))
        if schema is not None and isinstance(stage, _COLUMN_STAGES):
            schema = stage.schema_after(schema)
        computed = computed or isinstance(stage, _FUNCTIONS)
    return Pipeline(start, tuple(stages)), schema


def _calls_functions(pipeline: Pipeline) -> bool:
    children = pipeline.start.children if isinstance(pipeline.start, JoinStart) else ()
    return any(isinstance(stage, _FUNCTIONS) for stage in pipeline.stages) or any(map(_calls_functions, children))


def _stage_of_stored(stage: Stage, computed: bool) -> Stage:
    if isinstance(stage, _PASS_THROUGH):
        return stage
    if isinstance(stage, FlatMapStage):
        return replace(stage, fn=_StoredFunction(Listed(stage.fn), returns_elements=True))
    if isinstance(stage, _FUNCTIONS):
        return replace(stage, fn=_StoredFunction(stage.fn, returns_elements=isinstance(stage, MapStage)))
    if isinstance(stage, BucketStage):
        if isinstance(stage.key, str):
            return stage
        return replace(stage, key=_StoredFunction(stage.key, returns_elements=False))
    if isinstance(stage, _CACHES):
        if not computed:
            return _CacheBypass()
        warnings.warn(
            "a cache holds no stored bytes: images and tensors from cache() are encoded again. To keep the stored "
            "bytes, write the dataset before cache()",
            stacklevel=6,
        )
    return _PlainStage(stage)


class _StoredFunction:
    """Calls a function with plain arrays, and finds those that it returns unchanged."""

    def __init__(self, fn: Any, *, returns_elements: bool) -> None:
        self._fn, self._returns_elements = fn, returns_elements
        self.__module__, self.__qualname__ = name_of(fn).rpartition(".")[::2]  # for messages

    def __call__(self, element: Any, *generator: Any) -> Any:
        known: _Known = {}
        result = self._fn(_plain(element, known, frozen=not self._returns_elements), *generator)
        if not known or not self._returns_elements:
            return result
        batched = any(row is not None for found in known.values() for row, _ in found)
        finder = _Finder(known, batched)
        return [finder.mark(item, "") for item in result] if isinstance(self._fn, Listed) else finder.mark(result, "")


def _plain(value: Any, known: _Known, *, frozen: bool) -> Any:
    """Return an element with plain arrays, read-only if ``frozen``, and add its stored values to ``known``."""
    if isinstance(value, Stored):
        known.setdefault(value.content, []).append((None, value))
        return _frozen(value.array) if frozen else value.array
    if isinstance(value, StoredColumn):
        for number, row in enumerate(value.rows):
            if row is not None:
                known.setdefault(row.content, []).append((number, row))
        return _frozen(value.values) if frozen else value.values
    if isinstance(value, Nullable) and isinstance(value.values, StoredColumn):
        return Nullable(_plain(value.values, known, frozen=frozen), value.valid)
    if isinstance(value, Batch):
        columns = {name: _plain(column, known, frozen=frozen) for name, column in value.items()}
        return unchecked_batch(columns, value.num_rows)
    return _rebuilt(value, lambda name, item: _plain(item, known, frozen=frozen))


def _frozen(values: Any) -> Any:
    """Return a read-only view: changes that a filter() made in place would be lost silently."""
    if not isinstance(values, np.ndarray):
        return values
    view = values.copy() if values.dtype == object else values.view()
    if values.dtype == object:
        for number, row in enumerate(values):
            view[number] = _frozen(row)
    view.flags.writeable = False
    return view


def _rebuilt(value: Any, change: Any) -> Any:
    """Return a mapping or tuple with changed items, or the same object if none changed."""
    if isinstance(value, Mapping):
        items = {name: change(name, item) for name, item in value.items()}
        return value if all(items[name] is item for name, item in value.items()) else items
    if isinstance(value, tuple):
        parts = [change(str(number), item) for number, item in enumerate(value)]
        if all(part is item for part, item in zip(parts, value, strict=True)):
            return value
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


class _Finder:
    """Finds the arguments of a function in its result, by content."""

    def __init__(self, known: _Known, batched: bool) -> None:
        self._known, self._batched = known, batched
        self._kinds = {content[:2] for content in known}

    def mark(self, value: Any, name: str) -> Any:
        """Return an element with the arrays that were found replaced by stored values."""
        if isinstance(value, Batch):
            columns = {key: self._mark_column(column, key) for key, column in value.items()}
            return unchecked_batch(columns, value.num_rows)
        if isinstance(value, Mapping | tuple):
            return _rebuilt(value, lambda key, item: self.mark(item, str(key)))
        if self._batched:
            return self._mark_column(value, name)
        found = self._find(value, name, None)
        return value if found is None else found

    def _mark_column(self, column: Any, name: str) -> Any:
        if isinstance(column, Nullable):
            values = self._mark_column(column.values, name)
            return Nullable(values, column.valid) if isinstance(values, StoredColumn) else column
        if isinstance(column, np.ndarray):
            if not column.ndim or (column.dtype != object and (column.dtype.str, column.shape[1:]) not in self._kinds):
                return column
        elif not isinstance(column, Ragged):
            return column
        rows = [self._find(row, name, number) for number, row in enumerate(column)]
        return StoredColumn(column, rows) if any(row is not None for row in rows) else column

    def _find(self, array: Any, name: str, row: int | None) -> Stored | None:
        if not isinstance(array, np.ndarray | np.generic) or (array.dtype.str, array.shape) not in self._kinds:
            return None
        candidates = self._known.get(content_of(array))
        if candidates is None:
            return None
        # Several may be equal, such as black images: prefer the same array, then the same name, then the same row.
        _, found = max(candidates, key=lambda item: (item[1].array is array, item[1].name == name, item[0] == row))
        return found.with_array(array)


@dataclass(frozen=True)
class _CacheBypass(Stage):
    """Replaces a cache: reads its input again, in the epoch that the cache would hold."""

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        position = position_of(cursor)
        with closing(upstream(position["up"])) as blocks:
            for number, block in enumerate(blocks, position["block"]):
                yield in_epoch(block, position | {"block": number})

    @property
    def calls(self) -> list[str]:
        return ["cache()"]

    def describe(self) -> list[Any]:
        return ["cache"]


@dataclass(frozen=True)
class _PlainStage(Stage):
    """Runs a stage on plain arrays, because it stores its input."""

    stage: Stage

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        def open_plain(cursor: Cursor) -> Flow:
            with closing(upstream(cursor)) as blocks:
                for block in blocks:
                    elements = block.elements
                    if isinstance(elements, Batch):
                        yield replace(block, elements=_plain(elements, {}, frozen=False))
                    else:
                        yield replace(block, elements=[_plain(element, {}, frozen=False) for element in elements])

        return self.stage.open(open_plain, cursor, meter)

    @property
    def calls(self) -> list[str]:
        return self.stage.calls

    def describe(self) -> list[Any]:
        return self.stage.describe()
