"""Write a dataset from the tasks of an engine: each writes a part, and the driver commits one attempt of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, TypedDict
from urllib.parse import quote

from penstock.codec.encode_values import Float64
from penstock.engines.splits import absolute
from penstock.errors import SchemaError, import_extra
from penstock.manifest import Manifest
from penstock.schema import Schema
from penstock.storage import StrPath, locate
from penstock.writing.commit import commit
from penstock.writing.destination import check_base, check_replace, existing
from penstock.writing.write import write

_NULL = "__HIVE_DEFAULT_PARTITION__"


class PartOptions(TypedDict):
    """The options of :func:`penstock.write` that all tasks share."""

    compression: str | None
    level: int
    rows_per_shard: int | None
    shard_bytes: int | str | None
    float64: Float64 | None
    sync: bool


def check_path(path: StrPath, *, can_exist: bool) -> str:
    """Raise before any task runs where the commit would raise because of the path; return it for all processes."""
    store, base = locate(path)
    check_base(base)
    check_replace(existing(store, base), can_exist)
    return absolute(base)


def write_part(path: StrPath, table: Any, part: str | int, schema: Schema | None, options: PartOptions) -> Manifest:
    """Write a ``pyarrow.Table`` as a part. Without a schema, it follows from the types, so that tasks agree on it."""
    table = nested_lists(table)
    if schema is None:
        schema = Schema.from_arrow(table.schema, float64=options["float64"])
        absent = {name for name, column in zip(table.column_names, table.columns, strict=True) if column.null_count}
        schema |= {
            name: feature.replace(optional=False)
            for name, feature in schema.items()
            if name in table.column_names and name not in absent and not feature.logical
        }
    return write(path, table, schema=schema, part=part, progress=False, **options)


def commit_parts(path: StrPath, parts: Iterable[Manifest], **options: Any) -> Manifest:
    """Commit parts. A feature that is absent from rows of one part is optional in all of them."""
    parts = list(parts)
    names = dict.fromkeys(name for part in parts for name in part.schema)
    optional = {name for part in parts for name in part.schema if part.schema[name].optional}
    for part in parts:
        for name in names:
            if name not in part.schema:
                raise SchemaError(f"some tasks wrote the column {name!r}, and others did not: pass schema=...")
    unified = [
        replace(
            part, schema=part.schema | {n: part.schema[n].replace(optional=True) for n in part.schema if n in optional}
        )
        for part in parts
    ]
    return commit(path, unified, **options)


def rows_by_key(batch: Any, keys: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each key with the rows of a batch that have it. NaN and null are keys, too: each row is in one group."""
    pa = import_extra("pyarrow", "arrow", "Arrow data")
    if isinstance(keys, pa.ChunkedArray):
        keys = keys.combine_chunks()
    if pa.types.is_dictionary(keys.type):
        keys = keys.cast(keys.type.value_type)
    encoded = keys.dictionary_encode("encode")
    for number, key in enumerate(encoded.dictionary.to_pylist()):
        yield key, batch.filter(pa.compute.equal(encoded.indices, number))


def name_of_key(key: Any) -> str:
    """Return the name of the dataset of a key, as Hive names partitions: different values of a column differ."""
    if key is None:
        return _NULL
    text = quote(str(key), safe=" ").replace(".", "%2E")
    return text.replace("_", "%5F", 1) if text == _NULL else text


def check_same_key(key: Any, other: Any) -> None:
    """Raise if keys whose datasets have one name differ, such as 1 and "1"; all NaN are one key."""
    if key is not other and key != other and (key == key or other == other):
        raise ValueError(f"the keys {key!r} and {other!r} would share a dataset: return keys of one type, such as str")


def nested_lists(table: Any) -> Any:
    """Return an Arrow table whose tensors of a fixed shape are nested lists of fixed sizes, as schemas know them."""
    for number, field in enumerate(table.schema):
        if type(field.type).__name__ in ("FixedShapeTensorType", "ArrowTensorType", "ArrowTensorTypeV2"):
            column = _nested(table.column(number), list(field.type.shape))
            table = table.set_column(number, field.name, column)
    return table


def _nested(column: Any, shape: list[int]) -> Any:
    pa = import_extra("pyarrow", "arrow", "Arrow data")
    chunks = list(_flat(column))
    values = pa.concat_arrays(chunks)
    for size in reversed(shape):
        values = pa.FixedSizeListArray.from_arrays(values, size)
    return values


def _flat(column: Any) -> Iterator[Any]:
    """Yield the numbers of the tensors of each chunk."""
    pa = import_extra("pyarrow", "arrow", "Arrow data")
    for chunk in column.chunks or [pa.ExtensionArray.from_storage(column.type, pa.array([], column.type.storage_type))]:
        if chunk.null_count:
            raise SchemaError("tensors with absent rows cannot be written: fill them, or write lists")
        yield chunk.storage.flatten()
