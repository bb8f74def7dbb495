"""Compile a schema into a plan for the native decoder, and build columns from the native ones that it returns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.codec.decode_blobs import BlobDecoder, is_blob, with_stored_bytes
from penstock.codec.decode_items import ItemDecoder
from penstock.columns import AnyColumn, BytesColumn, Nullable, Ragged, nest_row, row_value
from penstock.columns.bytes_column import unchecked_bytes
from penstock.columns.ragged import unchecked_ragged
from penstock.errors import RowFault
from penstock.schema import Feature, Schema
from penstock.schema.connector import ConnectorFeature
from penstock.schema.schema import TracedFeature, unknown_feature

Buffers: TypeAlias = Sequence[NDArray[np.uint8]]
"""The buffers that the views of a batch point into."""
# Rows that a schema declares to be larger take memory by what is in their records, which need not fill them.
_LARGE_ROW_BYTES = 64 << 20
Build: TypeAlias = Callable[[Sequence[Any], Buffers], AnyColumn]


@dataclass(frozen=True)
class PlannedFeature:
    """A feature, its native columns, and the function that builds its column from them."""

    name: str
    feature: Feature
    sequence: bool
    native: tuple[int, ...]
    """The indices of its native columns: the values, then the row lengths of inner levels."""
    build: Build | None
    """Builds the column from the native columns; None if the native column is used directly."""
    can_fail: bool
    """Whether building the column may raise a RowFault, although the native decoder accepted all rows."""


@dataclass(frozen=True)
class Plan:
    """A compiled schema."""

    features: tuple[PlannedFeature, ...]
    native: tuple[_core.FeaturePlan, ...]
    owners: tuple[str, ...]
    """The name of the feature of each native column."""
    default_bytes: bytes
    """The buffer that the views of default values point into."""
    paths: Mapping[str, tuple[str, ...]]
    """Where features are in rows of nested dicts."""

    @cached_property
    def by_name(self) -> dict[str, PlannedFeature]:
        """The features by name, in order."""
        return {planned.name: planned for planned in self.features}

    @cached_property
    def is_native(self) -> bool:
        """Whether the native columns are those of the batch."""
        return all(planned.build is None for planned in self.features)

    @cached_property
    def can_fail(self) -> bool:
        """Whether building any column may raise a RowFault."""
        return any(planned.can_fail for planned in self.features)


def compile_plan(schema: Schema, names: Iterable[str] | None, threads: int | None = None) -> Plan:
    """Return a plan to decode the features ``names``, or all of the schema; ``threads`` decode images."""
    if isinstance(names, str):
        raise TypeError(f"columns must be a list of names, found one: write [{names!r}]")
    wanted = list(schema) if names is None else list(names)
    for name in wanted:
        if name not in schema:
            raise unknown_feature(name, schema)
    if len(set(wanted)) != len(wanted):
        raise ValueError(f"columns must be distinct, found {wanted}")
    compiler = _Compiler(schema, threads)
    features = tuple(compiler.add(name) for name in wanted)
    paths = {name: schema._paths[name] for name in wanted if name in schema._paths}
    return Plan(features, tuple(compiler.native), tuple(compiler.owners), bytes(compiler.default_bytes), paths)


class PlannedColumns:
    """The columns of a decoded batch, built by a plan."""

    __slots__ = ("_native", "_plan", "names")

    def __init__(self, plan: Plan, native: _core.DecodedColumns) -> None:
        self.names: Mapping[str, PlannedFeature] = plan.by_name
        self._plan, self._native = plan, native

    def build(self, name: str) -> AnyColumn:
        """Build one column."""
        planned = self.names[name]
        if planned.build is None:
            column: AnyColumn = self._native.column(planned.native[0])
            return column
        return planned.build([self._native.column(i) for i in planned.native], self._native.buffers)

    def build_all(self) -> dict[str, AnyColumn]:
        """Build all columns; raise a RowFault for a row that does not fit."""
        columns = self._native.columns()
        if self._plan.is_native:
            return dict(zip(self.names, columns, strict=True))
        buffers = self._native.buffers
        built = {}
        for name, planned in self.names.items():
            if planned.build is None:
                built[name] = columns[planned.native[0]]
                continue
            try:
                built[name] = planned.build([columns[i] for i in planned.native], buffers)
            except RowFault as found:
                raise RowFault(found.row, found.message, name) from None
        return built


class _Compiler:
    def __init__(self, schema: Schema, threads: int | None) -> None:
        self._schema, self._threads = schema, threads
        self.native: list[_core.FeaturePlan] = []
        self.owners: list[str] = []
        self.default_bytes = bytearray()

    def add(self, name: str) -> PlannedFeature:
        feature = self._schema[name]
        sequence = name in self._schema.sequence
        if isinstance(feature, ConnectorFeature):
            return self._add_connector(name, feature)
        return self._add(name, feature, sequence)

    def _add_connector(self, name: str, feature: ConnectorFeature) -> PlannedFeature:
        parts = [
            self._add(name, stored if stored.key is not None else stored.replace(key=name + suffix), False)
            for suffix, stored in feature.stored.items()
        ]

        decode = ItemDecoder(feature, self._threads)

        def build(native: Sequence[Any], buffers: Buffers) -> AnyColumn:
            left, columns = iter(native), []
            for part in parts:
                own = list(islice(left, len(part.native)))
                columns.append(own[0] if part.build is None else part.build(own, buffers))
            return decode(columns)

        return PlannedFeature(name, feature, False, tuple(i for part in parts for i in part.native), build, True)

    def _add(self, name: str, feature: Feature, sequence: bool) -> PlannedFeature:
        values = self._add_values(name, feature, sequence)
        lengths = [
            self._append(name, key=_key_bytes(key), dtype="int64", shape=[], ragged=True, missing="empty")
            for key in feature.partitions
        ]
        build = None if _is_native(feature, sequence) else _builder(feature, self._threads, sequence)
        can_fail = is_blob(feature) or bool(feature.partitions) or isinstance(feature, TracedFeature)
        can_fail = can_fail or _is_large(feature)
        return PlannedFeature(name, feature, sequence, (values, *lengths), build, can_fail)

    def _add_values(self, name: str, feature: Feature, sequence: bool) -> int:
        whole = is_blob(feature)
        view = whole or feature.dtype in ("bytes", "str")
        ragged = feature.ragged_levels > 0
        missing: Literal["error", "empty", "default", "invalid"] = "error"
        if feature.optional:
            missing = "invalid"
        elif feature.has_default and not whole:
            missing = "default"
        elif ragged:
            missing = "empty"
        return self._append(
            name,
            key=_key_bytes(name if feature.key is None else feature.key),
            dtype="view" if view else feature.dtype,
            shape=[] if whole else [size or 0 for size in feature.inner_shape],
            raw=feature.encoding == "raw",
            ragged=ragged or (_is_large(feature) and not sequence),
            sequence=sequence,
            missing="invalid" if feature.has_default and whole else missing,
            default_row=self._default_row(feature) if missing == "default" else b"",
            # As in TensorFlow: in a SequenceExample's context, a key without a value is not an absent key.
            unset_takes_default=not self._schema.is_sequence or missing == "invalid",
        )

    def _append(self, name: str, **plan: Any) -> int:
        self.native.append(_core.FeaturePlan(**plan))
        self.owners.append(name)
        return len(self.native) - 1

    def _default_row(self, feature: Feature) -> bytes:
        if feature.dtype not in ("bytes", "str"):
            return np.asarray(feature.default, feature.numpy_dtype).tobytes()
        values = [value.encode() if isinstance(value, str) else value for value in _flatten(feature.default)]
        return b"".join(map(self._default_view, values))

    def _default_view(self, value: bytes) -> bytes:
        size = len(value).to_bytes(4, "little")
        if len(value) <= 12:
            return size + value.ljust(12, b"\0")
        offset = len(self.default_bytes)
        self.default_bytes += value
        return size + value[:4] + bytes(4) + offset.to_bytes(4, "little")


def _key_bytes(key: str) -> bytes:
    """Return the bytes of a key in a record; a key that is not UTF-8 is a str with surrogate escapes."""
    return key.encode("utf-8", "surrogateescape")


def _flatten(value: Any) -> Iterable[Any]:
    if isinstance(value, tuple):
        for item in value:
            yield from _flatten(item)
    else:
        yield value


def _is_native(feature: Feature, sequence: bool) -> bool:
    """Whether the native column is the array that the user gets."""
    if isinstance(feature, TracedFeature):
        return False
    numbers = feature.encoding in ("list", "raw") and feature.dtype not in ("bytes", "str", "bfloat16")
    raw_bool = feature.dtype == "bool" and feature.encoding == "raw"
    is_array = numbers and not raw_bool and feature.is_dense and not feature.optional and not sequence
    return is_array and not _is_large(feature)


def _is_large(feature: Feature) -> bool:
    """Whether a row of a dense feature is so large that it is decoded as a list of rows, which must hold one."""
    if is_blob(feature) or not feature.is_dense or feature.has_default:
        return False
    size = 16 if feature.dtype in ("bytes", "str") else feature.numpy_dtype.itemsize
    return math.prod(length or 0 for length in feature.shape) * size > _LARGE_ROW_BYTES


def _one_each(rows: NDArray[Any], offsets: NDArray[np.int64], valid: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Return the only item of each row, zeros where there is none; raise a RowFault for a row with another number."""
    counts, expected = np.diff(offsets), 1 if valid is None else valid.astype(np.int64)
    wrong = counts != expected
    if wrong.any():
        row = int(wrong.argmax())
        raise RowFault(row, f"expected one value of the shape, found {counts[row]}")
    if valid is None or len(rows) == len(counts):
        return rows
    try:
        filled = np.zeros((len(counts), *rows.shape[1:]), rows.dtype)
    except (MemoryError, ValueError):
        size = math.prod(rows.shape[1:]) * rows.itemsize
        raise RowFault(int(np.argmin(valid)), f"a row without a value takes {size:,} bytes") from None
    filled[valid] = rows
    return filled


def _builder(feature: Feature, threads: int | None, sequence: bool) -> Build:
    """Return a function that builds the column of a feature from its native columns."""
    convert = _converter(feature, threads)
    masked = feature.optional or (feature.has_default and is_blob(feature))
    is_large = _is_large(feature) and not sequence

    def build(native: Sequence[Any], buffers: Buffers) -> AnyColumn:
        column, valid = native[0] if masked else (native[0], None)
        if not isinstance(column, tuple):
            built = convert(column, buffers, valid)
        elif is_large:
            values, offsets, _ = column
            built = convert(_one_each(values, offsets, valid), buffers, valid)
        else:
            values, offsets, step_offsets = column
            try:
                items = convert(values, buffers, None)
            except RowFault as fault:
                raise RowFault(_row_of(fault.row, step_offsets, offsets), fault.message) from None
            if len(native) > 1:
                built = nest(items, offsets, native[1:])
            elif step_offsets is not None:
                built = unchecked_ragged(unchecked_ragged(items, step_offsets), offsets)
            else:
                built = unchecked_ragged(items, offsets)
        if isinstance(feature, TracedFeature):
            built = with_stored_bytes(feature, built, _stored_bytes(feature, column, buffers), valid)
        return Nullable(built, valid) if feature.optional and valid is not None else built

    return build


def _stored_bytes(feature: Feature, column: Any, buffers: Buffers) -> list[Any] | None:
    """Return the stored bytes of each row of an image or tensor, or a tuple of those of each step."""
    if not is_blob(feature):
        return None
    views, offsets, _ = column if isinstance(column, tuple) else (column, None, None)
    values = BytesColumn(views[:, 0], buffers).to_list()
    if offsets is None:
        return values
    return [tuple(values[start:stop]) for start, stop in pairwise(offsets.tolist())]


def _row_of(item: int, *levels: NDArray[np.int64] | None) -> int:
    """Return the row of an item; ``levels`` are the offsets of the levels between them, innermost first."""
    for offsets in levels:
        if offsets is not None:
            item = int(np.searchsorted(offsets, item, side="right")) - 1
    return item


def _converter(feature: Feature, threads: int | None) -> Callable[[Any, Buffers, NDArray[np.bool_] | None], AnyColumn]:
    """Return a function that converts native values to a column without ragged levels."""
    if is_blob(feature):
        decode = BlobDecoder(feature, threads)
        return lambda views, buffers, valid: decode(BytesColumn(views[:, 0], buffers), valid)
    if feature.dtype in ("bytes", "str"):
        text = feature.dtype == "str"
        shape = tuple(size or 0 for size in feature.inner_shape)
        return lambda views, buffers, valid: unchecked_bytes(views.reshape(-1, 4), buffers, text, shape, len(views))
    if feature.dtype == "bfloat16":
        bfloat16 = feature.numpy_dtype
        return lambda values, buffers, valid: values.view(bfloat16)
    if feature.dtype == "bool" and feature.encoding == "raw":
        # Any nonzero byte is True, as in tf.io.decode_raw, but NumPy requires 1.
        return lambda values, buffers, valid: np.not_equal(values.view(np.uint8), 0, out=values)
    return lambda values, buffers, valid: values


def nest(
    values: AnyColumn,
    offsets: NDArray[np.int64],
    partitions: Sequence[tuple[NDArray[np.int64], NDArray[np.int64], None]],
) -> Ragged:
    """Build nested ragged levels; ``partitions`` are (lengths, offsets of the records in them), outermost first.

    In every record, the lengths of a level must add up to the size of the next level. Otherwise values of one record
    would move into another.
    """
    below = [record_offsets for _, record_offsets, _ in partitions[1:]] + [offsets]
    splits: list[NDArray[np.int64]] = []
    for level, ((lengths, record_offsets, _), expected) in enumerate(zip(partitions, below, strict=True)):
        bounds = np.zeros(len(lengths) + 1, np.int64)
        # Lengths come from a file: a negative or huge one is wrong, even if the sum overflows to the right number.
        np.cumsum(np.clip(lengths, -1, 1 << 40), out=bounds[1:])
        wrong = (np.diff(bounds[record_offsets]) != np.diff(expected)) | _any_out_of_range(
            lengths, record_offsets, int(expected[-1])
        )
        if wrong.any():
            row = int(wrong.argmax())
            total = int(bounds[record_offsets[row + 1]] - bounds[record_offsets[row]])
            found = int(expected[row + 1] - expected[row])
            raise RowFault(row, f"row lengths of level {level + 1} add up to {total}, found {found} values")
        splits.append(bounds)
    nested: AnyColumn = values
    for bounds in reversed(splits):
        nested = Ragged(nested, bounds)
    return Ragged(nested, partitions[0][1])


def _any_out_of_range(lengths: NDArray[np.int64], record_offsets: NDArray[np.int64], largest: int) -> NDArray[np.bool_]:
    """Return which records have a length below zero or above ``largest``."""
    count = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum((lengths < 0) | (lengths > largest), out=count[1:])
    return np.diff(count[record_offsets]) > 0


DecodedRow: TypeAlias = tuple[list[NDArray[Any]], list[Any], list[NDArray[np.uint8]]]
"""The result of :class:`penstock._core.NativeRowDecoder` for a record."""


class RowDecoder:
    """Decodes rows one by one. All scalars of a dtype share one array, which is faster than an array for each."""

    def __init__(self, plan: Plan, native: _core.NativeDecoder) -> None:
        self._names, self._paths = [planned.name for planned in plan.features], plan.paths
        groups: dict[np.dtype[Any], dict[str, int]] = {}
        for planned in plan.features:
            if planned.build is None and not planned.feature.shape:
                groups.setdefault(planned.feature.numpy_dtype, {})[planned.name] = planned.native[0]
        self._scalars = [name for group in groups.values() for name in group]
        self._others = [planned for planned in plan.features if planned.name not in self._scalars]
        self.native = _core.NativeRowDecoder(native, [list(group.values()) for group in groups.values()])
        """For native readers, which decode the records that they read; :meth:`build_row` takes the results."""

    def build_row(self, decoded: DecodedRow) -> dict[str, Any]:
        """Build a row from native columns, with the values of :meth:`penstock.Batch.row`."""
        groups, columns, buffers = decoded
        row = dict.fromkeys(self._names)
        row.update(zip(self._scalars, (value for group in groups for value in group), strict=True))
        for planned in self._others:
            native = [columns[i] for i in planned.native]
            column = native[0] if planned.build is None else planned.build(native, buffers)
            row[planned.name] = row_value(column, 0)
        return nest_row(row, self._paths)
