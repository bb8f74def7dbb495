"""Compiles a schema into what the native decoder needs, and native columns into the columns that a user sees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.codec.blobs import decode_blobs, is_blob, trace
from penstock.codec.nested import nest
from penstock.codec.row_fault import RowFault
from penstock.columns import AnyColumn, BytesColumn, Nullable
from penstock.columns.bytes_column import bytes_of_sound_views
from penstock.columns.ragged import ragged_of_sound_parts
from penstock.errors import SchemaError
from penstock.schema import Feature, Schema
from penstock.schema.stored import TracedFeature

Buffers: TypeAlias = Sequence[NDArray[np.uint8]]
"""What the views of a batch point into."""


Build: TypeAlias = Callable[[Sequence[Any], Buffers], AnyColumn]


@dataclass(frozen=True)
class PlannedFeature:
    """A feature, what the native decoder does about it, and what its native columns become."""

    name: str
    feature: Feature
    sequence: bool
    native: tuple[int, ...]
    """Indices of its native columns: the values, then the row lengths of inner levels."""
    build: Build | None
    """Turns its native columns into its column; None where the native column is it."""


@dataclass(frozen=True)
class Plan:
    """A schema, compiled."""

    features: tuple[PlannedFeature, ...]
    native: tuple[_core.FeaturePlan, ...]
    owners: tuple[str, ...]
    """Name of the feature that each native column belongs to."""
    default_bytes: bytes
    """What the views in default rows point into."""


def compile_plan(schema: Schema, names: Iterable[str] | None) -> Plan:
    """Plan the decoding of ``names``, or of the whole schema."""
    if isinstance(names, str):
        raise TypeError(f"columns are a list of names: [{names!r}]")
    wanted = list(schema) if names is None else list(names)
    for name in wanted:
        if name not in schema:
            raise SchemaError(f"the schema has no feature {name!r}; it has {', '.join(map(repr, schema))}")
    if len(set(wanted)) != len(wanted):
        raise ValueError("a feature is asked for twice")
    compiler = _Compiler(schema)
    features = tuple(compiler.add(name) for name in wanted)
    return Plan(features, tuple(compiler.native), tuple(compiler.owners), bytes(compiler.default_bytes))


class _Compiler:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self.native: list[_core.FeaturePlan] = []
        self.owners: list[str] = []
        self.default_bytes = bytearray()

    def add(self, name: str) -> PlannedFeature:
        feature = self._schema[name]
        sequence = name in self._schema.sequence
        values = self._add_values(name, feature, sequence)
        lengths = [
            self._append(name, key=_key_bytes(key), dtype="int64", shape=[], ragged=True, missing="empty")
            for key in feature.partitions
        ]
        build = None if _is_plain(feature, sequence) else _builder(feature)
        return PlannedFeature(name, feature, sequence, (values, *lengths), build)

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
            ragged=ragged,
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
    """A key as it stands in a record; one that is no UTF-8 is a str with surrogate escapes."""
    return key.encode("utf-8", "surrogateescape")


def _flatten(value: Any) -> Iterable[Any]:
    if isinstance(value, tuple):
        for item in value:
            yield from _flatten(item)
    else:
        yield value


def _is_plain(feature: Feature, sequence: bool) -> bool:
    """Whether the native decoder makes the very array that a user sees."""
    if isinstance(feature, TracedFeature):
        return False
    numbers = feature.encoding in ("list", "raw") and feature.dtype not in ("bytes", "str", "bfloat16")
    raw_bool = feature.dtype == "bool" and feature.encoding == "raw"
    return numbers and not raw_bool and feature.is_dense and not feature.optional and not sequence


def _builder(feature: Feature) -> Build:
    """Answer the function that turns a feature's native columns into its column."""
    finish = _finisher(feature)
    masked = feature.optional or (feature.has_default and is_blob(feature))

    def build(native: Sequence[Any], buffers: Buffers) -> AnyColumn:
        column, valid = native[0] if masked else (native[0], None)
        if not isinstance(column, tuple):
            built = finish(column, buffers, valid)
        else:
            values, offsets, step_offsets = column
            try:
                items = finish(values, buffers, None)
            except RowFault as fault:
                raise RowFault(_row_of(fault.row, step_offsets, offsets), fault.message) from None
            if len(native) > 1:
                built = nest(items, offsets, native[1:])
            elif step_offsets is not None:
                built = ragged_of_sound_parts(ragged_of_sound_parts(items, step_offsets), offsets)
            else:
                built = ragged_of_sound_parts(items, offsets)
        if isinstance(feature, TracedFeature):
            built = trace(feature, built, _stored_bytes(feature, column, buffers), valid)
        return Nullable(built, valid) if feature.optional and valid is not None else built

    return build


def _stored_bytes(feature: Feature, column: Any, buffers: Buffers) -> list[Any] | None:
    """Return the bytes of each row of an image or a tensor, of a sequence those of each step."""
    if not is_blob(feature):
        return None
    views, offsets, _ = column if isinstance(column, tuple) else (column, None, None)
    values = BytesColumn(views[:, 0], buffers).to_list()
    if offsets is None:
        return values
    return [tuple(values[start:stop]) for start, stop in pairwise(offsets.tolist())]


def _row_of(item: int, *levels: NDArray[np.int64] | None) -> int:
    """Answer the row that an item is in, by the offsets of the levels between them, innermost first."""
    for offsets in levels:
        if offsets is not None:
            item = int(np.searchsorted(offsets, item, side="right")) - 1
    return item


def _finisher(feature: Feature) -> Callable[[Any, Buffers, NDArray[np.bool_] | None], AnyColumn]:
    """Answer the function that gives native values their Python form."""
    if is_blob(feature):
        return lambda views, buffers, valid: decode_blobs(feature, BytesColumn(views[:, 0], buffers), valid)
    if feature.dtype in ("bytes", "str"):
        text = feature.dtype == "str"
        shape = tuple(size or 0 for size in feature.inner_shape)
        return lambda views, buffers, valid: bytes_of_sound_views(
            views.reshape(-1, 4), buffers, text, shape, len(views)
        )
    if feature.dtype == "bfloat16":
        bfloat16 = feature.numpy_dtype
        return lambda values, buffers, valid: values.view(bfloat16)
    if feature.dtype == "bool" and feature.encoding == "raw":
        # Any byte that is not zero is True, as in decode_raw; NumPy wants 1.
        return lambda values, buffers, valid: np.not_equal(values.view(np.uint8), 0, out=values)
    return lambda values, buffers, valid: values
