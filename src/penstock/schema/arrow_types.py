"""Convert Arrow's types to those that Examples store, and back: dates, times, decimals, structs, maps and categories.

Everything here is a conversion from Arrow to Arrow, of whole arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from penstock.errors import SchemaError, import_extra
from penstock.schema.feature import Feature, FeatureArguments
from penstock.schema.logical import nested_levels

_UNKNOWN_ADVICE = "cast it, or leave it out"


class StorableColumn(NamedTuple):
    """A column of a type that Examples store."""

    name: str
    array: Any
    """A ``pyarrow.Array``, or ``pyarrow.ChunkedArray``."""
    arguments: FeatureArguments
    """What the type of the array does not show of its feature."""


def storable_columns(table: Any) -> list[StorableColumn]:
    """Return the columns of an Arrow table or record batch as Examples store them.

    Raises:
        SchemaError: Columns cannot be stored; the message names all of them.
    """
    columns: list[StorableColumn] = []
    problems = []
    for field, column in zip(table.schema, table.columns, strict=True):
        if not _needs_conversion(field.type):
            columns.append(StorableColumn(field.name, column, {}))
            continue
        array = column if not hasattr(column, "combine_chunks") else _one_chunk(column)
        try:
            columns += _storable(field.name, array)
        except SchemaError as error:
            problems.append(f"column {field.name!r} of type {field.type}: {error}")
    if problems:
        raise SchemaError("; ".join(problems))
    seen: set[str] = set()
    for column in columns:
        if column.name in seen:
            raise SchemaError(f"two columns have the name {column.name!r}, one as a field of a struct: rename one")
        seen.add(column.name)
    return columns


def storable_schema(schema: Any) -> list[StorableColumn]:
    """Return the columns that a table of an Arrow schema is stored as, without rows."""
    return storable_columns(schema.empty_table())


def restored(columns: Mapping[str, Any], features: Mapping[str, Feature]) -> dict[str, Any]:
    """Return Arrow arrays with the types that their features mean: fields become structs again."""
    nested = [name for name in columns if _levels(features, name) is not None]
    return {
        name: _restore(name, columns, features)
        for name in columns
        if not any(name.startswith(f"{marker}/") for marker in nested)
    }


def _one_chunk(column: Any) -> Any:
    if str(column.type).startswith("dictionary"):
        column = column.unify_dictionaries()
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _needs_conversion(kind: Any) -> bool:
    types = import_extra("pyarrow", "arrow", "Arrow data").types
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _needs_conversion(kind.value_type)
    return bool(
        hasattr(kind, "storage_type")
        or types.is_temporal(kind)
        or types.is_decimal(kind)
        or types.is_struct(kind)
        or types.is_map(kind)
        or types.is_null(kind)
        or types.is_dictionary(kind)
        or types.is_list_view(kind)
        or types.is_large_list_view(kind)
        or types.is_union(kind)
        or types.is_run_end_encoded(kind)
    )


def _storable(name: str, array: Any) -> list[StorableColumn]:
    import pyarrow as pa

    types, kind = pa.types, array.type
    if isinstance(array, pa.ExtensionArray):
        return _storable(name, array.storage)
    if types.is_struct(kind):
        return _of_struct(name, array, kind, "struct", array.flatten())
    if types.is_map(kind):
        return _of_list(name, array)
    if types.is_list_view(kind) or types.is_large_list_view(kind):
        return _storable(name, array.cast(pa.large_list(kind.value_type)))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _of_list(name, array)
    if types.is_dictionary(kind):
        return [_of_dictionary(name, array)]
    if types.is_null(kind):
        return [StorableColumn(name, pa.nulls(len(array), pa.bool_()), {"logical": "null", "optional": True})]
    if types.is_decimal(kind):
        return [StorableColumn(name, array.cast(pa.string()), {"logical": str(kind)})]
    if types.is_temporal(kind) and not types.is_interval(kind):
        stored = pa.int32() if kind.bit_width == 32 else pa.int64()
        return [StorableColumn(name, array.cast(stored), {"logical": str(kind)})]
    if _needs_conversion(kind):
        raise SchemaError(f"Examples store no {kind}: {_UNKNOWN_ADVICE}")
    return [StorableColumn(name, array, {})]


def _of_struct(name: str, array: Any, kind: Any, logical: str, fields: list[Any]) -> list[StorableColumn]:
    columns = [StorableColumn(name, _marker(array), {"logical": logical, "optional": True})]
    for field, values in zip(kind, fields, strict=True):
        columns += _storable(f"{name}/{field.name}", values)
    return columns


def _marker(array: Any) -> Any:
    """Return False where a struct is absent, and else nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(array.is_null(), pa.scalar(False), pa.scalar(None, pa.bool_()))


def _of_dictionary(name: str, array: Any) -> StorableColumn:
    import pyarrow as pa

    names = array.dictionary
    if pa.types.is_string_view(names.type):  # Polars' categories, which pyarrow does not decode
        names = names.cast(pa.large_string())
    values = pa.DictionaryArray.from_arrays(array.indices, names).dictionary_decode()
    is_text = pa.types.is_string(names.type) or pa.types.is_large_string(names.type)
    classes = names.to_pylist() if is_text else []
    if not classes or None in classes or len(set(classes)) < len(classes):
        return StorableColumn(name, values, {})
    logical = "ordered dictionary" if array.type.ordered else "dictionary"
    return StorableColumn(name, values, {"logical": logical, "dtype": str(array.indices.type), "names": classes})


def _of_list(name: str, array: Any) -> list[StorableColumn]:
    import pyarrow as pa

    _, items, lists = _split(array)
    if pa.types.is_map(array.type):
        inner = _of_struct(name, items, items.type, "map", items.flatten())
    else:
        inner = _storable(name, items)
    if nested_levels(inner[0].arguments.get("logical")) is None:
        if pa.types.is_fixed_size_list(array.type):
            stored = inner[0].array
            kept = pa.FixedSizeListArray.from_arrays(stored, array.type.list_size)
            if array.null_count == 0:
                return [inner[0]._replace(array=kept)]
        return [inner[0]._replace(array=lists(inner[0].array))]
    if inner[0].array.null_count < len(items):
        raise SchemaError("a list holds an absent struct, which no Example stores: fill it, or leave the row out")
    if len(inner) == 1:
        raise SchemaError(f"a list of structs without fields: {_UNKNOWN_ADVICE}")
    outer = inner[0].arguments["logical"]
    wrapped = outer if pa.types.is_map(array.type) else f"list<{outer}>"
    columns = [StorableColumn(name, _marker(array), {"logical": wrapped, "optional": True})]
    for column in inner[1:]:
        if nested_levels(column.arguments.get("logical")) is None:
            columns.append(column._replace(array=lists(column.array)))
            continue
        if column.array.null_count < len(column.array):
            raise SchemaError("a list holds an absent struct, which no Example stores: fill it, or leave the row out")
        columns.append(column._replace(array=pa.nulls(len(array), pa.bool_())))
    return columns


def _split(array: Any) -> tuple[Any, Any, Callable[[Any], Any]]:
    """Return the offsets of lists, their items, and a function that makes such lists of other items."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_fixed_size_list(array.type):
        array = array.cast(pa.large_list(array.type.value_type))
    elif pa.types.is_map(array.type):
        array = array.cast(pa.large_list(pa.struct([array.type.key_field, array.type.item_field])))
    lengths = pc.fill_null(pc.list_value_length(array), 0).cast(pa.int64())
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(lengths).cast(pa.int64())])
    absent = array.is_null() if array.null_count else None
    return offsets, array.flatten(), lambda items: pa.LargeListArray.from_arrays(offsets, items, mask=absent)


def _levels(features: Mapping[str, Feature], name: str) -> int | None:
    return nested_levels(features[name].logical) if name in features else None


def _restore(name: str, columns: Mapping[str, Any], features: Mapping[str, Feature]) -> Any:
    levels = _levels(features, name)
    if levels is None:
        return _restore_leaf(columns[name], features[name]) if name in features else columns[name]
    return _restore_nested(name, columns, features, levels)


def _restore_nested(name: str, columns: Mapping[str, Any], features: Mapping[str, Feature], levels: int) -> Any:
    import pyarrow as pa

    logical = features[name].logical or ""
    is_map = "map" in logical
    absent = columns[name].is_valid()
    below = {field: array for field, array in columns.items() if field.startswith(f"{name}/")}
    wraps = []
    for _ in range(levels + is_map):
        below, wrap = _strip(name, below, features)
        wraps.append(wrap)
    fields = {field.removeprefix(f"{name}/"): array for field, array in restored(below, features).items()}
    rows = len(next(iter(below.values()))) if below else len(columns[name])
    if is_map:
        offsets = wraps.pop()(None)
        mask = absent if not wraps else None
        inner = pa.MapArray.from_arrays(offsets.cast(pa.int32()), fields["key"], fields["value"], mask=mask)
    else:
        mask = absent if not wraps else None
        inner = _struct(fields, rows, mask)
    for position, wrap in reversed(list(enumerate(wraps))):
        offsets = wrap(None)
        inner = pa.LargeListArray.from_arrays(offsets, inner, mask=absent if position == 0 else None)
    return inner


def _struct(fields: Mapping[str, Any], rows: int, mask: Any) -> Any:
    import pyarrow as pa

    if fields:
        return pa.StructArray.from_arrays(list(fields.values()), list(fields), mask=mask)
    flags = mask.to_pylist() if mask is not None else [False] * rows
    return pa.array([None if flag else {} for flag in flags], pa.struct([]))


def _strip(
    name: str, columns: Mapping[str, Any], features: Mapping[str, Feature]
) -> tuple[dict[str, Any], Callable[[Any], Any]]:
    """Return the items of the outermost lists of all columns, which have the same lengths."""
    import pyarrow as pa

    split = {field: _split(array) for field, array in columns.items() if _levels(features, field) is None}
    if not split:
        raise SchemaError(f"the fields of {name!r} are missing: select them, too")
    first = next(iter(split.values()))[0]
    for field, (offsets, _, _) in split.items():
        if not offsets.equals(first):
            raise SchemaError(f"the fields of {name!r} have different numbers of items in a row: {field!r}")
    items = first[-1].as_py()
    stripped = {field: split[field][1] if field in split else pa.nulls(items, pa.bool_()) for field in columns}
    return stripped, lambda _: first


def _restore_leaf(array: Any, feature: Feature) -> Any:
    import pyarrow as pa

    if feature.logical is None:
        return array
    if "dictionary" in feature.logical:
        names = pa.array(feature.names, pa.large_string())
        ordered = feature.logical.startswith("ordered")
        return _map_leaf(array, lambda codes: pa.DictionaryArray.from_arrays(codes, names, ordered=ordered))
    kind = arrow_type(feature.logical)
    if feature.logical.startswith("decimal"):
        return _map_leaf(array, lambda text: text.cast(pa.large_string()).cast(kind))
    if feature.logical == "null":
        return pa.nulls(len(array))
    stored = pa.int32() if kind.bit_width == 32 else pa.int64()
    return _map_leaf(array, lambda numbers: numbers.cast(stored).cast(kind))


def _map_leaf(array: Any, convert: Callable[[Any], Any]) -> Any:
    import pyarrow as pa

    if pa.types.is_fixed_size_list(array.type) and array.null_count == 0:
        return pa.FixedSizeListArray.from_arrays(_map_leaf(array.flatten(), convert), array.type.list_size)
    if pa.types.is_nested(array.type):
        _, items, lists = _split(array)
        return lists(_map_leaf(items, convert))
    return convert(array)


def arrow_type(logical: str) -> Any:
    """Return the Arrow type that a logical type of single values names."""
    pa = import_extra("pyarrow", "arrow", "Arrow data")
    name, _, rest = logical.partition("[")
    arguments = rest.removesuffix("]").split(", tz=")
    if logical.startswith("decimal"):
        precision, scale = logical.partition("(")[2].removesuffix(")").split(", ")
        return getattr(pa, logical.partition("(")[0])(int(precision), int(scale))
    if name == "timestamp":
        return pa.timestamp(*arguments)
    if name in ("date32", "date64", "null"):
        return getattr(pa, name)()
    return getattr(pa, name)(arguments[0])
