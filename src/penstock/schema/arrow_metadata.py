"""The schema of a dataset in the metadata of an Arrow table or Parquet file, so that it survives the round trip."""

from __future__ import annotations

import re
from typing import Any

from penstock.errors import SchemaError, import_extra
from penstock.schema.arrow_types import StorableColumn, storable_schema
from penstock.schema.feature import IMAGES, Feature
from penstock.schema.schema import Schema

_METADATA_KEY = b"penstock.schema"


def attach_schema(table: Any, schema: Schema) -> Any:
    """Return a ``pyarrow.Schema`` with the schema of the dataset in its metadata."""
    return table.with_metadata({_METADATA_KEY: schema.to_json().encode()})


def attached_schema(table: Any) -> Schema | None:
    """Return the schema in the metadata of a ``pyarrow.Schema``; None if there is none, or the columns have changed."""
    text = (table.metadata or {}).get(_METADATA_KEY)
    if text is None:
        return None
    try:
        schema = Schema.from_json(text.decode())
    except (SchemaError, UnicodeDecodeError):
        return None  # such as a schema of a newer Penstock: the columns are enough
    try:
        columns = storable_schema(table)
    except SchemaError:
        return None
    if any(_form(column.array.type) != _form_of(schema, column) for column in columns):
        return None
    # Parquet has no seconds: it stores them as milliseconds.
    units = {
        column.name: schema[column.name].replace(logical=logical)
        for column in columns
        if (logical := column.arguments.get("logical")) is not None and column.name in schema.context
    }
    return schema.select([column.name for column in columns]) | units


def _form_of(schema: Schema, column: StorableColumn) -> tuple[int, str] | None:
    """Return the form of a feature in a table: the number of list levels, and the type of the values."""
    feature = schema.get(column.name)
    logical = column.arguments.get("logical")
    # The names of a dictionary are in its values, of which a type shows none.
    is_dictionary = feature is not None and feature.logical is not None and "dictionary" in feature.logical
    if feature is None or (_kind_of(feature.logical) != _kind_of(logical) and not (is_dictionary and logical is None)):
        return None
    steps = column.name in schema.sequence
    if is_dictionary:
        return steps + len(feature.shape), "str"
    return (steps, "bytes") if feature.encoding in IMAGES else (steps + len(feature.shape), _values(feature))


def _kind_of(logical: str | None) -> str | None:
    """Return a logical type without its unit."""
    return logical and re.sub(r"\[m?s\b", "[", logical)


def _values(feature: Feature) -> str:
    if feature.dtype in ("bytes", "str"):
        return feature.dtype
    # Arrow has no bfloat16: float32 holds its values.
    dtype = "float32" if feature.dtype == "bfloat16" else feature.dtype
    return str(import_extra("pyarrow", "arrow", "Arrow data").type_for_alias(dtype))


def _form(kind: Any) -> tuple[int, str]:
    types = import_extra("pyarrow", "arrow", "Arrow data").types
    levels = 0
    while types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        levels, kind = levels + 1, kind.value_type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return levels, "str"
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind):
        return levels, "bytes"
    return levels, str(kind)
