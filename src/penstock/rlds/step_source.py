"""StepSource: rows made of steps, each read by its place and without the rest of its episode."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.codec.decode_blobs import BlobDecoder
from penstock.codec.decode_items import ItemDecoder
from penstock.codec.decoder import Allocate
from penstock.columns import AnyColumn, Batch, BytesColumn, with_paths
from penstock.dataset.block import take_keys
from penstock.dataset.order import RowKeys
from penstock.dataset.source.row_source import FetchResult, RowSource
from penstock.dataset.source.shards import Shards
from penstock.errors import CorruptDataError, MalformedExampleError, RowFault
from penstock.rlds.step_features import StepFeature, dense_shape
from penstock.rlds.step_index import Ints
from penstock.rlds.step_table import StepTable
from penstock.rlds.windows import Goal, Positions, RowPlan, one_step
from penstock.schema import Feature, Schema
from penstock.schema.connector import ConnectorFeature
from penstock.schema.feature import Encoding

Span: TypeAlias = Literal["step", "window", "chunk", "goal"]
"""Which steps of its episode a column of a row holds."""
NO_AXES: dict[Span, bool] = {"step": False, "window": False, "chunk": False, "goal": False}
"""Columns of one step have no dimension for steps."""
# Rows are read in blocks of about this size.
_BLOCK_BYTES = 8 << 20
_MOST_BLOCK_ROWS = 256
_AHEAD_BYTES = 128 << 20
_PICTURE_BYTES = 256 * 256 * 3  # of a picture whose size is not known

MASKS: Mapping[str, Span] = {"observation_mask": "window", "action_mask": "chunk"}
"""Columns that say which steps of a window or chunk exist."""
NUMBERS = ("episode_index", "step_index")
"""Columns with the number of the episode, and of the step in it."""


class StepColumn(NamedTuple):
    """A column of a row."""

    feature: str
    span: Span


@dataclass(frozen=True, eq=False)
class StepView:
    """Chosen episodes with their columns, and what a row holds of them."""

    table: StepTable
    numbers: Ints
    """The number of each episode in the table."""
    stride: int
    """Every which step of an episode is one of its steps here."""
    columns: Mapping[str, NDArray[Any]]
    """The numbers of all steps of the table, as they are stored or were computed."""
    plan: RowPlan
    row_columns: Mapping[str, StepColumn]
    """The columns of a row that come from features, by name."""
    has_axis: Mapping[Span, bool]
    """Whether a column has a dimension for the steps of its span."""
    decode: bool
    """Whether pictures are decoded."""
    goal: Goal | None = None

    def steps_of(self, episodes: Ints, positions: Ints) -> Ints:
        """Return the numbers of steps in the table, by episodes of this view and positions in them."""
        starts = self.table.bounds[self.numbers[episodes]]
        return starts.reshape(-1, *[1] * (positions.ndim - 1)) + positions * self.stride

    @cached_property
    def digest(self) -> str:
        """An identity of the rows: by the files, the choice of episodes and what was computed of them."""
        digest = hashlib.sha256(self.table.identity.encode())
        plan, of_row = self.plan, sorted(self.row_columns.items())
        options = [self.stride, plan.window, plan.horizon, plan.pad, of_row, sorted(self.has_axis.items()), self.decode]
        digest.update(json.dumps([*options, self.goal]).encode())
        digest.update(np.ascontiguousarray(self.numbers).tobytes())
        for name, column in sorted(self.columns.items()):
            if column is not self.table.columns.get(name):
                digest.update(f"{name} {column.dtype} {column.shape}".encode())
                digest.update(np.ascontiguousarray(column).view(np.uint8).data)
        return digest.hexdigest()[:32]


class StepRows(Shards):
    """What orders ask about the rows of a view; nothing is read to know it."""

    def __init__(self, view: StepView, rows_per_run: int) -> None:
        super().__init__(view.table.paths, view.table.options, (view.plan.rows,))
        self._view, self._rows_per_run = view, rows_per_run

    def __reduce__(self) -> tuple[Any, ...]:
        return StepRows, (self._view, self._rows_per_run)

    indexes = ()
    indexed = True
    seekable = True
    local_and_plain = False  # the native reader of whole records is not for them
    has_byte_ranges = True

    @property
    def rows_per_run(self) -> int:
        """The number of rows of a block."""
        return self._rows_per_run

    @property
    def identity(self) -> str:
        """An identity of the rows."""
        return self._view.digest

    def up_to(self, row: int) -> Shards:
        """Return the same rows."""
        return self


class StepSource(RowSource):
    """The rows of a view. Immutable; pickles.

    Args:
        view: Where the rows come from.
        names: The columns to return, each with its name in the view. None returns all under their own names.
    """

    def __init__(self, view: StepView, names: Sequence[tuple[str, str]] | None = None) -> None:
        self._view = view
        every = _schema_of(view)
        self._names = tuple((name, name) for name in every) if names is None else tuple(names)
        schema = Schema({name: every[inner] for name, inner in self._names})
        super().__init__(StepRows(view, self.block_rows), schema, None, "raise")

        self._paths = {name: tuple(name.split("/")) for name, _ in self._names if "/" in name}

    def __reduce__(self) -> tuple[Any, ...]:
        return StepSource, (self._view, self._names)

    @cached_property
    def row_bytes(self) -> int:
        """About how much memory a row takes."""
        view, total = self._view, 1
        for _, name in self._names:
            of_row = view.row_columns.get(name)
            if of_row is None or of_row.feature in view.columns or of_row.feature in view.table.texts:
                continue
            feature = view.table.features[of_row.feature]
            shape = [size for size in feature.feature.shape if size is not None]
            decoded = math.prod(shape) if len(shape) == len(feature.feature.shape) else _PICTURE_BYTES
            stays = feature.feature.encoding == "list" or (feature.is_picture and not view.decode)
            size = 1 if feature.feature.dtype == "bytes" else feature.feature.numpy_dtype.itemsize
            one = view.table.stored_bytes(feature.name) if stays else decoded * size
            total += one * _steps_in(view, of_row.span)
        return total

    @property
    def block_rows(self) -> int:
        """How many rows take about as much memory as a block may."""
        return max(1, min(_MOST_BLOCK_ROWS, _BLOCK_BYTES // self.row_bytes))

    def threads_ahead(self, size: int) -> int:
        # Each request decodes its pictures on several threads, so that fewer requests are enough where they are large.
        return min(super().threads_ahead(size), max(1, _AHEAD_BYTES // (size * self.row_bytes)))

    @cached_property
    def _decoders(self) -> dict[str, Callable[[BytesColumn], AnyColumn]]:
        """What decodes the stored bytes of features."""
        decoders: dict[str, Callable[[BytesColumn], AnyColumn]] = {}
        for name, feature in self._view.table.features.items():
            if isinstance(feature.feature, ConnectorFeature):
                decoders[name] = _of_one(ItemDecoder(feature.feature))
            elif feature.is_picture and self._view.decode:
                decoders[name] = partial(BlobDecoder(feature.feature), valid=None)
        return decoders

    # What a source of records does with them.

    def with_columns(self, columns: tuple[str, ...]) -> StepSource:
        self.schema.select(columns)  # raises for an unknown name
        inner = dict(self._names)
        return StepSource(self._view, [(name, inner[name]) for name in columns])

    def without_columns(self, columns: tuple[str, ...]) -> StepSource:
        self.schema.select(columns)  # raises for an unknown name
        return self.with_columns(tuple(name for name in self.schema if name not in columns))

    def rewrite(self) -> None:
        return None  # a step is no record

    def with_names(self, names: Mapping[str, str]) -> StepSource:
        self.schema.select(names)  # raises for an unknown name
        return StepSource(self._view, [(names.get(name, name), inner) for name, inner in self._names])

    def with_schema(self, schema: Schema) -> StepSource:
        """Return a source whose pictures stay encoded, where the schema says so."""
        is_encoded = all(schema[name].dtype == "bytes" for name, _ in self._pictures())
        return StepSource(replace(self._view, decode=not is_encoded), self._names)

    def _pictures(self) -> list[tuple[str, StepFeature]]:
        features, of_row = self._view.table.features, self._view.row_columns
        named = [(name, features.get(of_row[inner].feature)) for name, inner in self._names if inner in of_row]
        return [(name, feature) for name, feature in named if feature is not None and feature.is_picture]

    def with_allocator(self, allocate: Allocate) -> NoReturn:
        raise TypeError("with_allocator() is for rows that are whole records, not for steps of episodes")

    def with_files(self, files: slice) -> NoReturn:
        raise TypeError("steps are chosen by their episodes: choose episodes before steps()")

    def up_to(self, row: int) -> StepSource:
        return self

    def can_concat(self, other: RowSource) -> bool:
        return False

    def record(self, row: int) -> NoReturn:
        raise TypeError("a step is a part of a record: read records with ps.Dataset")

    def records(self, rows: Ints) -> NoReturn:
        self.record(0)

    def row(self, row: int) -> dict[str, Any]:
        return self.fetch(np.array([row], np.int64)).row(0)

    def open(self, window: int = 0) -> StepFetcher:  # type: ignore[override]
        return StepFetcher(self)

    def fetch(self, rows: Ints) -> Batch:
        """Read rows, in the given order, as the first epoch does."""
        return self.fetch_keys(RowKeys(rows, np.zeros(len(rows), np.int64)))

    def fetch_keys(self, keys: RowKeys) -> Batch:
        """Read rows, in the given order."""
        view, rows = self._view, keys.rows
        episodes, steps = view.plan.locate(rows)
        of_span: dict[Span, Positions] = {
            "step": one_step(steps),
            "window": view.plan.windows(episodes, steps),
            "chunk": view.plan.chunks(episodes, steps),
        }
        if view.goal is not None:
            of_span["goal"] = view.goal.positions(keys, steps, view.plan.lengths[episodes])
        columns: dict[str, AnyColumn] = {}
        for name, inner in self._names:
            if inner in NUMBERS:
                columns[name] = view.numbers[episodes] if inner == NUMBERS[0] else steps
            elif inner in MASKS:
                columns[name] = of_span[MASKS[inner]].exist
            else:
                feature, span = view.row_columns[inner]
                columns[name] = self._column(feature, episodes, of_span[span], view.has_axis[span])
        # Rows are nested dicts, as those of whole episodes are.
        return with_paths(Batch(columns, num_rows=len(rows)), self._paths)

    def _column(self, name: str, episodes: Ints, positions: Positions, has_axis: bool) -> AnyColumn:
        """Return the values of a feature at positions in episodes."""
        view, table = self._view, self._view.table
        numbers = view.steps_of(episodes, positions.steps)
        missing = None if view.plan.pad != "zero" or positions.exist.all() else ~positions.exist
        if name in view.columns:
            values = view.columns[name][numbers if has_axis else numbers[:, 0]]
            return values if missing is None else _zeroed(values, missing)
        flat, gap = numbers.reshape(-1), None if missing is None else missing.reshape(-1)
        if name in table.texts:
            texts = table.texts[name]
            chosen = texts.values[texts.codes[flat]]
        else:
            # A step that several windows hold is read and decoded once.
            unique, inverse = np.unique(flat, return_inverse=True)
            if len(unique) == len(flat):
                unique, inverse = flat, np.empty(0, np.intp)
            stored = table.read(name, unique)
            decoded = self._decoded(table.features[name], stored, unique)
            if isinstance(decoded, np.ndarray):
                values = decoded[inverse] if len(inverse) else decoded
                values = values if gap is None else _zeroed(values, gap)
                return values.reshape(*numbers.shape, *values.shape[1:]) if has_axis else values
            chosen = decoded[inverse] if len(inverse) else decoded
        if gap is not None:
            chosen = chosen._filled(gap, "" if chosen.text else b"")
        shape = numbers.shape[1:] if has_axis else ()
        return BytesColumn(chosen.views, chosen.buffers, text=chosen.text, shape=shape, rows=len(numbers))

    def _decoded(self, feature: StepFeature, stored: BytesColumn, steps: Ints) -> NDArray[Any] | BytesColumn:
        of_step = feature.feature
        if feature.name in self._decoders:
            try:
                decoded = self._decoders[feature.name](stored)
            except RowFault as fault:
                self._raise_malformed(feature, int(steps[fault.row]), fault.message)
            assert isinstance(decoded, np.ndarray)
            return decoded
        if feature.is_picture:
            return stored
        if of_step.encoding == "list" and not feature.float_bytes:
            return stored
        shape = dense_shape(of_step)
        dtype = np.dtype("<f4") if feature.float_bytes else of_step.numpy_dtype
        size = dtype.itemsize * math.prod(shape)
        wrong = np.flatnonzero(stored.views[:, 0] != size)
        if len(wrong):
            found = int(stored.views[wrong[0], 0])
            self._raise_malformed(feature, int(steps[wrong[0]]), f"expected {size} raw bytes, found {found}")
        joined = np.frombuffer(b"".join(stored.to_list()), dtype)
        return joined.astype(of_step.numpy_dtype).reshape(len(steps), *shape)

    def _raise_malformed(self, feature: StepFeature, step: int, reason: str) -> NoReturn:
        path, record, number = self._view.table.record_of(step)
        raise MalformedExampleError(
            f"{reason}: {path}, record {record}, step {number}, feature {feature.key!r}",
            path=path,
            record=record,
            feature=feature.key,
        )


class StepFetcher:
    """Reads rows for the threads that read ahead. Thread-safe."""

    def __init__(self, source: StepSource) -> None:
        self._source = source

    def fetch_keys(self, keys: RowKeys) -> FetchResult:
        """Return rows in the given order; those before one that failed come with its error."""
        try:
            return FetchResult(self._source.fetch_keys(keys), None)
        except (CorruptDataError, MalformedExampleError) as error:
            good, bad, failure = 0, len(keys.rows), error
        while good + 1 < bad:
            middle = (good + bad) // 2
            try:
                self._source.fetch_keys(take_keys(keys, slice(middle)))
                good = middle
            except (CorruptDataError, MalformedExampleError) as error:
                bad, failure = middle, error
        if not good:
            raise failure
        batch = self._source.fetch_keys(take_keys(keys, slice(good)))
        return FetchResult(batch, np.arange(good), failure=failure)


def _of_one(decoder: ItemDecoder) -> Callable[[BytesColumn], AnyColumn]:
    return lambda stored: decoder([stored])


def _zeroed(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    values = values.copy()
    values[missing] = 0
    return values


def _steps_in(view: StepView, span: Span) -> int:
    return {"step": 1, "window": view.plan.window, "chunk": view.plan.horizon, "goal": 1}[span]


def _schema_of(view: StepView) -> Schema:
    """Return the schema of all columns of a row."""
    features: dict[str, Feature] = {}
    for name, (of_step, span) in view.row_columns.items():
        stored = view.table.features.get(of_step)
        steps = (_steps_in(view, span),) if view.has_axis[span] else ()
        if of_step in view.columns:
            column = view.columns[of_step]
            # A list of an Example has no 64-bit unsigned numbers.
            encoding: Encoding = "raw" if column.dtype == np.uint64 else "list"
            features[name] = Feature(column.dtype.name, (*steps, *column.shape[1:]), encoding=encoding)
            continue
        assert stored is not None
        feature = stored.feature
        if feature.encoding == "list":
            features[name] = Feature(feature.dtype, (*steps, *feature.shape))
        elif stored.is_picture and not view.decode:
            features[name] = Feature("bytes", steps)
        elif steps or isinstance(feature, ConnectorFeature):
            # An encoding is that of one value; these are several.
            features[name] = Feature(feature.dtype, (*steps, *feature.shape), encoding="tensor")
        else:
            features[name] = feature
    if view.plan.pad != "drop":
        for name, span in MASKS.items():
            if view.has_axis[span]:
                features[name] = Feature("bool", (_steps_in(view, span),))
    return Schema(features | dict.fromkeys(NUMBERS, Feature("int64")))
