"""Read tables with pyarrow: Parquet, Arrow, CSV, TSV and JSON Lines, by their extensions."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from penstock.conversion.table_stream import (
    ArrowBatches,
    TableStream,
    absent_in,
    missing_in,
    table_format,
    unify_tables,
)
from penstock.conversion.text_tables import open_csv, open_json
from penstock.errors import CorruptDataError, SchemaError, import_extra
from penstock.schema import Feature, Schema
from penstock.schema.feature import FeatureArguments
from penstock.writing.hugging_face import images_as_bytes
from penstock.writing.image_features import ANY_IMAGE


def open_tables(paths: Sequence[str], schema: Schema | None = None) -> TableStream:
    """Return the rows of tables of one format, one after the other.

    CSV and JSON have no types, which come from the ``schema``, or from all rows.
    """
    import_extra("pyarrow", "arrow", "reading tables")
    match table_format(paths[0]):
        case "parquet":
            stream = _open_parquet(paths)
        case "arrow":
            stream = _open_arrow(paths)
        case "jsonl":
            stream = open_json(paths, schema)
        case _:
            stream = open_csv(paths, schema)
    return replace(stream, schema=schema) if schema is not None else _with_hugging_face_features(stream, paths)


def _with_hugging_face_features(stream: TableStream, paths: Sequence[str]) -> TableStream:
    """Return rows with images as bytes, and the names of classes, where Hugging Face's metadata has them."""
    import pyarrow as pa

    described = _hugging_face_features(stream.reader.schema)
    names = [name for name in stream.reader.schema.names if isinstance(described.get(name), dict)]
    labels = {name: _names_of(described[name]) for name in names}
    features = {name: Feature("int64", names=classes) for name, classes in labels.items() if classes}
    images = [n for n in names if described[n].get("_type") == "Image" and _holds_images(stream.reader.schema, n)]
    if not images:
        return replace(stream, features=features)
    fields = pa.schema(
        [column.with_type(pa.large_binary()) if column.name in images else column for column in stream.reader.schema]
    )
    reader = ArrowBatches(fields, (_images_as_bytes(b, fields, images, paths) for b in stream.reader.batches))
    return replace(stream, reader=reader, features={**features, **dict.fromkeys(images, ANY_IMAGE)})


def _hugging_face_features(fields: Any) -> dict[str, Any]:
    try:
        found = json.loads((fields.metadata or {})[b"huggingface"])["info"]["features"]
    except (KeyError, TypeError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _names_of(described: dict[str, Any]) -> list[str]:
    names = described.get("names") if described.get("_type") == "ClassLabel" else None
    return names if isinstance(names, list) and all(isinstance(name, str) for name in names) else []


def _holds_images(fields: Any, name: str) -> bool:
    """Whether a column has the type of images, whatever the metadata says."""
    import pyarrow as pa

    kind = fields.field(position).type if (position := fields.get_field_index(name)) >= 0 else pa.null()
    if not pa.types.is_struct(kind) or min(map(kind.get_field_index, ("bytes", "path"))) < 0:
        return False
    return kind.field("bytes").type in (pa.binary(), pa.large_binary(), pa.null()) and (
        kind.field("path").type in (pa.string(), pa.large_string(), pa.null())
    )


def _images_as_bytes(batch: Any, fields: Any, names: Sequence[str], paths: Sequence[str]) -> Any:
    for name in names:
        position = fields.get_field_index(name)
        try:
            column = images_as_bytes(batch.column(position), partial(_read_beside, paths)).cast("large_binary")
        except UnicodeDecodeError:
            raise CorruptDataError(f"a path in the column {name!r} is not UTF-8", path=paths[0]) from None
        batch = batch.set_column(position, fields.field(position), column)
    return batch


def _read_beside(tables: Sequence[str], name: str) -> bytes:
    """Return the image that a table names; raise unless it is a file in the folder of the table, after all links."""
    folders = {os.path.realpath(os.path.dirname(table)) for table in tables}
    folder = folders.pop()
    cause = ""
    if folders:
        cause = "the tables are in several folders: convert those of each folder by themselves"
    elif not name or ".." in name.split("/") or name.startswith("/") or any(mark in name for mark in "\\:\0"):
        cause = "a table may name files in its own folder, without .., absolute paths and URLs"
    elif os.path.commonpath([folder, found := os.path.realpath(os.path.join(folder, name))]) != folder:
        cause = "it is a link out of the folder of the table"
    elif os.path.exists(found) and not os.path.isfile(found):
        cause = "it is no file"
    if cause:
        advice = "; a dataset that you trust can be loaded with the package datasets and passed to penstock.write"
        raise CorruptDataError(f"the image {name[:80]!r} is not read: {cause}{advice}", path=tables[0])
    with open(found, "rb") as file:
        return file.read()


def _open_parquet(paths: Sequence[str]) -> TableStream:
    import pyarrow as pa
    from pyarrow import dataset, parquet

    absent: set[str] = set()
    schemas = []
    for path in paths:
        with _damage_of(path):
            metadata = parquet.read_metadata(path)
            schemas.append(metadata.schema.to_arrow_schema())
            absent |= _absent_in_parquet(metadata)
    tables = dataset.dataset(list(paths), schema=unify_tables(paths, schemas), format="parquet")
    promoted = any(not tables.schema.equals(schema) for schema in schemas)
    # In lists, the statistics also count empty ones.
    lists = [column.name for column in tables.schema if column.name in absent and column.type.num_fields]
    coded = [column.name for column in tables.schema if pa.types.is_dictionary(column.type)]
    categories = _Categories()
    if coded:
        for batch in _checked(paths, tables.to_batches(columns=coded), promoted=promoted):
            categories.add(batch)
    if lists:
        absent -= set(lists)
        for batch in _checked(paths, tables.to_batches(columns=lists), promoted=promoted):
            absent |= absent_in(batch)
    absent |= missing_in(tables.schema, schemas)
    reader = ArrowBatches(tables.schema, _checked(paths, tables.to_batches(), promoted=promoted))
    return TableStream(reader, None, tables.count_rows(), frozenset(absent), categories=categories.found())


class _Categories:
    """Collects the categories of columns, which each batch numbers in its own way."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, None]] = {}
        self._types: dict[str, Any] = {}

    def add(self, batch: Any) -> None:
        import pyarrow as pa

        for column, array in zip(batch.schema, batch.columns, strict=True):
            if pa.types.is_dictionary(column.type):
                names = self._names.setdefault(column.name, {})
                names.update(dict.fromkeys(array.dictionary.to_pylist()))
                self._types[column.name] = column.type

    def found(self) -> dict[str, FeatureArguments]:
        """Return what is known of the features of these columns, where categories are text."""
        return {
            name: {
                "dtype": str(kind.index_type),
                "names": list(self._names[name]),
                "logical": "ordered dictionary" if kind.ordered else "dictionary",
            }
            for name, kind in self._types.items()
            if self._names[name] and all(isinstance(category, str) for category in self._names[name])
        }


@contextmanager
def _damage_of(path: str) -> Iterator[None]:
    """Name the file in errors of Arrow."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, EOFError) as error:
        raise CorruptDataError(f"the table is damaged: {error}", path=path) from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise CorruptDataError(f"the table is damaged: {error}", path=path) from None


def _checked(paths: Sequence[str], batches: Iterator[Any], *, promoted: bool) -> Iterator[Any]:
    name = paths[0] if len(paths) == 1 else f"one of {paths[0]} ..."
    with _damage_of(name), _unified(name) if promoted else nullcontext():
        yield from batches


@contextmanager
def _unified(name: str) -> Iterator[None]:
    """Say in errors of Arrow that the files have different types."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(f"{name}: the files have different types, which do not hold all values: {error}") from None


def _absent_in_parquet(metadata: Any) -> set[str]:
    """Return the columns with absent values, by the statistics; those without statistics may have some."""
    absent = set()
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            column = metadata.row_group(group).column(number)
            statistics = column.statistics
            if statistics is None or not statistics.has_null_count or statistics.null_count:
                absent.add(column.path_in_schema.split(".")[0])
    return absent


def _open_arrow(paths: Sequence[str]) -> TableStream:
    """Return the rows of Arrow files, and of files with Arrow's stream format, as Hugging Face saves them."""
    schemas = []
    for path in paths:
        with _damage_of(path), _arrow_file(path) as file:
            schemas.append(file.schema)
    fields = unify_tables(paths, schemas)
    rows, absent, categories = 0, missing_in(fields, schemas), _Categories()
    for batch in _arrow_batches(paths, fields):
        rows += batch.num_rows
        categories.add(batch)
        absent |= absent_in(batch)
    reader = ArrowBatches(fields, _arrow_batches(paths, fields))
    return TableStream(reader, None, rows, frozenset(absent), categories=categories.found())


def _arrow_batches(paths: Sequence[str], fields: Any) -> Iterator[Any]:
    for path in paths:
        with _damage_of(path), _arrow_file(path) as file:
            same = file.schema.equals(fields)
            for batch in map(file.get_batch, range(file.num_record_batches)) if _is_file(file) else file:
                yield batch if same else _with_columns(path, batch, fields)


def _with_columns(path: str, batch: Any, fields: Any) -> Any:
    """Return a record batch with the columns of all files: those that it lacks are absent values."""
    import pyarrow as pa

    with _unified(path):
        columns = [
            pa.nulls(batch.num_rows, column.type)
            if (at := batch.schema.get_field_index(column.name)) < 0
            else batch.column(at).cast(column.type)
            for column in fields
        ]
    return pa.RecordBatch.from_arrays(columns, schema=fields)


def _arrow_file(path: str) -> Any:
    import pyarrow as pa

    data = pa.memory_map(path)
    is_file = data.read(6) == b"ARROW1"
    data.seek(0)
    return pa.ipc.open_file(data) if is_file else pa.ipc.open_stream(data)


def _is_file(reader: Any) -> bool:
    return hasattr(reader, "num_record_batches")
