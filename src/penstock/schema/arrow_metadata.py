"""The schema of a dataset in the metadata of an Arrow table or Parquet file, so that it survives the round trip."""

from __future__ import annotations

from typing import Any

from penstock.errors import SchemaError, import_extra
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
    if any(_form(field.type) != _form_of(schema, field.name) for field in table):
        return None
    return schema.select(table.names)


def _form_of(schema: Schema, name: str) -> tuple[int, str] | None:
    """Return the form of a feature in a table: the number of list levels, and the type of the values."""
    feature = schema.get(name)
    if feature is None:
        return None
    steps = name in schema.sequence
    return (steps, "bytes") if feature.encoding in IMAGES else (steps + len(feature.shape), _values(feature))


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
