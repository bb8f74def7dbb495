"""Arrow schemas, through pyarrow. Field metadata holds what Arrow types cannot express, so round trips are exact."""

from __future__ import annotations

import json
from typing import Any, Literal, TypeAlias

from penstock.errors import SchemaError, import_extra
from penstock.schema.arrow_types import StorableColumn, storable_schema
from penstock.schema.dtype import FLOAT64_CHOICE
from penstock.schema.feature import MAX_RANK, Feature, Sections
from penstock.schema.formats.json_file import feature_from_json, feature_to_json
from penstock.schema.logical import nested_levels

Float64: TypeAlias = Literal["float32", "raw"]
_FEATURE = b"penstock.feature"
_SECTION = b"penstock.section"
_RECORDS = b"penstock.records"
_NUMBERS = {
    "bool": "bool",
    "halffloat": "float16",
    "float": "float32",
    **{name: name for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")},
}


def to_arrow(sections: Sections) -> Any:
    """Return a ``pyarrow.Schema`` of the columns that the features decode to."""
    pa = import_extra("pyarrow", "arrow", "an Arrow schema")
    fields = [_field(pa, name, feature, b"context") for name, feature in sections.context.items()]
    fields += [_field(pa, name, feature, b"sequence") for name, feature in (sections.sequence or {}).items()]
    kind = b"Example" if sections.sequence is None else b"SequenceExample"
    return pa.schema(fields, metadata={_RECORDS: kind})


def from_arrow(schema: Any, *, float64: Float64 | None = None) -> Sections:
    """Return features that store the columns of a ``pyarrow.Schema``."""
    pa = import_extra("pyarrow", "arrow", "an Arrow schema")
    if float64 not in (None, "float32", "raw"):
        raise SchemaError(f'float64 must be "float32" or "raw", found {float64!r}')
    context: dict[str, Feature] = {}
    sequence: dict[str, Feature] = {}
    problems: list[str] = []
    for field in schema:
        if field.name in context or field.name in sequence:
            raise SchemaError(f"two columns have the name {field.name!r}")
        is_step = (field.metadata or {}).get(_SECTION) == b"sequence"
        feature = _from_metadata(pa, field, is_step)
        if feature is not None:
            (sequence if is_step else context)[field.name] = feature
            continue
        try:
            found = [_of_column(pa, column, field.nullable, float64) for column in storable_schema(pa.schema([field]))]
        except SchemaError as error:
            problems.append(str(error))
            continue
        context |= found
    if problems:
        raise SchemaError("\n".join(problems))
    is_sequence = sequence or (schema.metadata or {}).get(_RECORDS) == b"SequenceExample"
    return Sections(context, sequence if is_sequence else None)


def _field(pa: Any, name: str, feature: Feature, section: bytes) -> Any:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise SchemaError(f"the name {name!r} is not valid text, which Arrow needs for a column") from None
    kind = _type(pa, feature, section == b"sequence")
    metadata = {_FEATURE: json.dumps(feature_to_json(feature)).encode(), _SECTION: section}
    return pa.field(name, kind, nullable=feature.optional, metadata=metadata)


def _type(pa: Any, feature: Feature, is_step: bool) -> Any:
    kind = {
        "bytes": pa.binary_view(),
        "str": pa.string_view(),
        "bool": pa.bool_(),
        "bfloat16": pa.binary(2),  # Arrow has no bfloat16: two bytes, little-endian
    }.get(feature.dtype) or pa.type_for_alias(feature.dtype)
    for size in reversed(feature.shape):
        item = pa.field("item", kind, nullable=False)
        kind = pa.large_list(item) if size is None else pa.list_(item, size)
    return pa.large_list(pa.field("item", kind, nullable=False)) if is_step else kind


def _from_metadata(pa: Any, field: Any, is_step: bool) -> Feature | None:
    """Return the feature in the field's metadata, unless the column has changed since."""
    text = (field.metadata or {}).get(_FEATURE)
    if text is None:
        return None
    try:
        feature = feature_from_json(json.loads(text))
    except (SchemaError, ValueError, RecursionError) as error:
        raise SchemaError(f"the metadata of column {field.name!r} is not a feature: {error}") from None
    same = _type(pa, feature, is_step) == field.type and feature.optional == field.nullable
    return feature if same else None


def _of_column(pa: Any, column: StorableColumn, optional: bool, float64: Float64 | None) -> tuple[str, Feature]:
    arguments = column.arguments
    logical = arguments.get("logical")
    optional = optional or logical == "null" or nested_levels(logical) is not None
    if "dtype" in arguments:
        return column.name, Feature(**arguments).replace(optional=optional)
    field = pa.field(column.name, column.array.type, nullable=optional)
    return column.name, _from_type(pa, field, float64).replace(**arguments)


def _from_type(pa: Any, field: Any, float64: Float64 | None) -> Feature:
    shape: list[int | None] = []
    kind = field.type
    types = pa.types
    while len(shape) <= MAX_RANK:
        if types.is_dictionary(kind):
            kind = kind.value_type
        elif types.is_fixed_size_list(kind):
            shape.append(kind.list_size)
            kind = kind.value_type
        elif types.is_list(kind) or types.is_large_list(kind) or _is_list_view(types, kind):
            shape.append(None)
            kind = kind.value_type
        else:
            break
    try:
        return _leaf(types, kind, shape, float64, optional=field.nullable)
    except SchemaError as error:
        raise SchemaError(f"column {field.name!r} of type {field.type}: {error}") from None


def _is_list_view(types: Any, kind: Any) -> bool:
    return bool(types.is_list_view(kind) or types.is_large_list_view(kind))


def _leaf(types: Any, kind: Any, shape: list[int | None], float64: Float64 | None, *, optional: bool) -> Feature:
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return Feature("str", shape, optional=optional)
    if (
        types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_binary_view(kind)
        or types.is_fixed_size_binary(kind)
    ):
        return Feature("bytes", shape, optional=optional)
    if types.is_float64(kind):
        if float64 is None:
            raise SchemaError(FLOAT64_CHOICE)
        if float64 == "float32":
            return Feature("float32", shape, optional=optional)
        return Feature("float64", shape, encoding="raw", optional=optional)
    if types.is_uint64(kind):
        return Feature("uint64", shape, encoding="raw", optional=optional)
    if str(kind) in _NUMBERS:
        return Feature(_NUMBERS[str(kind)], shape, optional=optional)
    raise SchemaError(f"Examples store numbers, bytes and text, not {kind}: cast the column first")
