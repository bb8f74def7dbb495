"""Writes a dataset with functions: unchanged values keep their stored bytes, changed ones their encoding."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np

from penstock.codec.decode_blobs import is_blob
from penstock.codec.encode_columns import as_stored
from penstock.codec.encode_values import Float64
from penstock.codec.encoder import Encoder
from penstock.codec.schema_from_data import infer_from_columns, infer_from_rows
from penstock.columns import Batch, Nullable
from penstock.columns.stored_column import Stored, StoredColumn, plain
from penstock.errors import SchemaError
from penstock.schema import Feature, Schema
from penstock.schema.connector import ConnectorFeature
from penstock.schema.feature import fits_shape
from penstock.writing.inputs import peek
from penstock.writing.writer import FIRST_BYTES, FIRST_ROWS, Writer, begin, estimate_bytes


def write_mapped_elements(
    writer: Writer,
    elements: Iterator[Any],
    as_row: Callable[[Any], dict[str, Any]],
    stored: Schema | None,
    float64: Float64 | None,
) -> None:
    """Write batches, or elements that ``as_row`` turns into rows.

    Args:
        writer: The writer.
        elements: Values that carry their stored bytes.
        as_row: Turns an element into a row.
        stored: The schema of the records that the elements were decoded from.
        float64: How arrays of float64 are stored.
    """
    first, elements = peek(elements)
    if isinstance(first, Batch):
        if writer.schema is None:
            begin(writer, _inherit(dict(first), stored or Schema({}), float64, infer_from_columns), "the first batch")
        schema = _schema_of(writer)
        for batch in elements:
            writer.write_batch({name: _to_write(column, schema.get(name)) for name, column in batch.items()})
        return
    rows: Iterator[dict[str, Any]] = map(as_row, elements)
    if first is not None and writer.schema is None:
        seen = _first_rows(rows)
        names = dict.fromkeys(name for row in seen for name in row)
        columns = {name: [row.get(name) for row in seen] for name in names}
        schema = _inherit(columns, stored or Schema({}), float64, _infer_from_lists)
        begin(writer, schema, f"the first {len(seen)} rows" if len(seen) > 1 else "the first row")
        rows = chain(seen, rows)
    for row in rows:
        schema = _schema_of(writer)
        writer.write({name: _to_write(value, schema.get(name)) for name, value in row.items()})


def _schema_of(writer: Writer) -> Schema:
    assert writer.schema is not None
    return writer.schema


def _first_rows(rows: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    seen: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        seen.append(row)
        size += estimate_bytes(row)
        if len(seen) == FIRST_ROWS or size >= FIRST_BYTES:
            break
    return seen


def _to_write(value: Any, feature: Feature | None) -> Any:
    """Return what is written for a value or a column: its stored bytes where the feature takes them."""
    if isinstance(value, Stored):
        if feature is None or not is_blob(feature):
            return value.array
        if value.data is None and feature.has_default and np.array_equal(value.array, np.asarray(feature.default)):
            return None
        data = as_stored(value, feature)
        return value.array if data is None else data
    if plain(value) is value:
        return value
    # A column with stored values; a list is a column, too.
    return [_to_write(row, feature) for row in value] if feature is not None and is_blob(feature) else plain(value)


def _infer_from_lists(columns: Mapping[str, Any], float64: Float64 | None) -> Schema:
    length = len(next(iter(columns.values()), ()))
    return infer_from_rows([{name: column[row] for name, column in columns.items()} for row in range(length)], float64)


def _inherit(
    columns: Mapping[str, Any], stored: Schema, float64: Float64 | None, infer: Callable[..., Schema]
) -> Schema:
    """Return the schema of columns: stored features of the same names where the values fit, inferred ones elsewhere."""
    context: dict[str, Feature] = {}
    sequence: dict[str, Feature] = {}
    changed: list[str] = []
    for name, column in columns.items():
        before, feature = _feature(name, column, stored, float64, infer)
        (sequence if name in stored.sequence else context)[name] = feature
        if before is not None and before.encoding != feature.encoding:
            changed.append(f'"{name}" was stored as {before!r} and is written as {feature!r}')
    if changed:
        warnings.warn(
            f"an encoding changes: {'; '.join(changed)}. Pass schema=... to choose the encoding, or return values that "
            "fit the stored one",
            stacklevel=5,
        )
    return Schema(context, sequence=sequence if stored.is_sequence else None)


def _feature(
    name: str, column: Any, stored: Schema, float64: Float64 | None, infer: Callable[..., Schema]
) -> tuple[Feature | None, Feature]:
    """Return how a feature was stored, None where it is new, and how it will be stored."""
    own, origin = stored.get(name), _origin(column)
    if isinstance(own, ConnectorFeature):
        raise SchemaError(
            f"{name!r} is what a connector of TFDS decodes, and would be stored in another form: write a folder of "
            'TFDS, ps.tfds.write("COPY/1.0.0", {"train": ds}, schema=ds.schema), or pass schema= with the form to store'
        )
    if origin is not None and origin != own:
        own = origin.replace(key=None)  # the key belongs to the old name
    values = plain(column) if not isinstance(column, list) else [_array(value) for value in column]
    if own is None:
        return None, infer({name: values}, float64)[name]

    def fits(feature: Feature) -> bool:
        return _fits(name, feature, column, name in stored.sequence, float64)

    if fits(own):
        return own, own
    may_be_absent = own.replace(optional=not own.has_default)
    if fits(may_be_absent):
        return own, may_be_absent
    try:
        found = infer({name: values}, float64 or "raw")[name]
        optional = own.optional or own.has_default or found.optional
        # Float64 in a list would be rounded: that is the user's choice.
        if found.dtype != "float64" or own.encoding != "list":
            adapted = Feature(found.dtype, found.shape, encoding=own.encoding, optional=optional, key=own.key)
            if fits(adapted):
                return own, adapted
    except SchemaError:
        pass
    return own, infer({name: values}, float64)[name]


def _origin(column: Any) -> Feature | None:
    """Return the feature that all stored values of a column come from; None where they differ."""
    if isinstance(column, Nullable):
        column = column.values
    rows = column.rows if isinstance(column, StoredColumn) else column if isinstance(column, list) else ()
    origins = {row.feature for row in rows if isinstance(row, Stored)}
    return origins.pop() if len(origins) == 1 else None


def _array(value: Any) -> Any:
    return value.array if isinstance(value, Stored) else plain(value)


def _fits(name: str, feature: Feature, column: Any, sequence: bool, float64: Float64 | None) -> bool:
    """Whether values fit a feature; of images, one is encoded to see."""
    is_list = isinstance(column, list)
    values = [_to_write(item, feature) for item in column] if is_list else _to_write(column, feature)
    if is_blob(feature) and not sequence:
        rows = [row for row in values if row is not None and not isinstance(row, bytes)]
        arrays = [row for row in rows if isinstance(row, np.ndarray) and row.dtype != object]
        if any(not fits_shape(array.shape, feature.shape) or array.dtype != feature.dtype for array in arrays):
            return False
        absent = [None] if any(row is None for row in values) else []
        values = absent + (arrays[:1] if len(arrays) == len(rows) else rows)
    schema = Schema({}, sequence={name: feature}) if sequence else Schema({name: feature})
    try:
        Encoder(schema, float64=float64)._block({name: values})
    except (SchemaError, TypeError, ValueError):
        return False
    return True
