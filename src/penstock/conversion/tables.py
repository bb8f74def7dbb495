"""Read tables with pyarrow: Parquet, Arrow, CSV, TSV and JSON Lines, by their extensions."""

from __future__ import annotations

import base64
import binascii
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias

from penstock.codec.encode_values import Float64
from penstock.codec.schema_from_data import infer_from_columns
from penstock.columns import from_arrow
from penstock.errors import CorruptDataError, SchemaError, import_extra
from penstock.schema import Feature, Schema
from penstock.schema.arrow_metadata import attach_schema, attached_schema
from penstock.schema.feature import IMAGES
from penstock.writing.hugging_face import images_as_bytes
from penstock.writing.image_features import ANY_IMAGE

TableFormat: TypeAlias = Literal["parquet", "arrow", "csv", "tsv", "jsonl"]
_FORMATS: dict[str, TableFormat] = {
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
TABLES = ".parquet, .arrow, .feather, .csv, .tsv or .jsonl"
"""The extensions of tables, for messages."""
_JSON_BLOCK = 16 << 20


class ArrowBatches(NamedTuple):
    """Record batches and their schema: a ``pyarrow.RecordBatchReader`` that raises the errors of its source."""

    schema: Any
    batches: Iterator[Any]


@dataclass(frozen=True)
class TableStream:
    """Rows that are read as they are needed.

    Args:
        reader: The rows.
        schema: What the records hold; None infers it.
        rows: The number of rows, where it is known.
        absent: The columns that have absent values, where it is known.
        features: Features that are known before, by the names of their columns.
    """

    reader: ArrowBatches
    schema: Schema | None = None
    rows: int | None = None
    absent: frozenset[str] | None = None
    features: Mapping[str, Feature] = field(default_factory=dict)

    def describe(self, float64: Float64 | None) -> TableStream:
        """Return the same rows with their schema: the known one, or by the first batch and all absent values.

        Raises:
            SchemaError: No feature stores the values of a column.
        """
        if self.schema is not None:
            return self
        attached = attached_schema(self.reader.schema)
        if attached is not None and self.absent is not None:
            with_nulls = [attached[name] for name in self.absent if name in attached]
            attached = attached if all(feature.optional or feature.has_default for feature in with_nulls) else None
        if attached is not None:
            return replace(self, schema=attached)
        pa = import_extra("pyarrow", "arrow", "reading tables")
        fields = self.reader.schema
        first = next((batch for batch in self.reader.batches if batch.num_rows), None)
        if first is None:
            schema = Schema.from_arrow(fields, float64=float64)
            return replace(self, schema=Schema({**schema, **self.features}))
        for column in fields:
            if pa.types.is_null(column.type):
                raise SchemaError(f"column {column.name!r} has no value to infer its type from: pass a schema")
        found = infer_from_columns(from_arrow(pa.table(first)), float64) | self.features
        absent = frozenset(fields.names) if self.absent is None else self.absent
        schema = Schema({name: f.replace(optional=f.optional or name in absent) for name, f in found.items()})
        reader = ArrowBatches(fields, chain([first], self.reader.batches))
        return replace(self, reader=reader, schema=schema)

    def with_metadata(self) -> ArrowBatches:
        """Return the reader, with the schema in its metadata if it is known."""
        if self.schema is None:
            return self.reader
        fields = attach_schema(self.reader.schema, self.schema)
        batches = (batch.replace_schema_metadata(fields.metadata) for batch in self.reader.batches)
        return ArrowBatches(fields, batches)


def table_format(path: str) -> TableFormat | None:
    """Return the format of a table by its extension; None if it is not a table. Text may be compressed: ``.csv.gz``."""
    name = path.lower()
    form = _FORMATS.get(os.path.splitext(name.removesuffix(".gz"))[1])
    return None if form in ("parquet", "arrow") and name.endswith(".gz") else form


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
            stream = _open_json(paths, schema)
        case _:
            stream = _open_csv(paths, schema)
    return replace(stream, schema=schema) if schema is not None else _with_hugging_face_features(stream)


def _with_hugging_face_features(stream: TableStream) -> TableStream:
    """Return rows with images as bytes, and the names of classes, where Hugging Face's metadata has them."""
    import pyarrow as pa

    described = _hugging_face_features(stream.reader.schema)
    names = [name for name in stream.reader.schema.names if isinstance(described.get(name), dict)]
    labels = {name: _names_of(described[name]) for name in names}
    features = {name: Feature("int64", names=classes) for name, classes in labels.items() if classes}
    images = [name for name in names if described[name].get("_type") == "Image"]
    if not images:
        return replace(stream, features=features)
    fields = pa.schema(
        [column.with_type(pa.large_binary()) if column.name in images else column for column in stream.reader.schema]
    )
    reader = ArrowBatches(fields, (_images_as_bytes(b, fields, images) for b in stream.reader.batches))
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


def _images_as_bytes(batch: Any, fields: Any, names: Sequence[str]) -> Any:
    for name in names:
        position = fields.get_field_index(name)
        column = images_as_bytes(batch.column(position)).cast("large_binary")
        batch = batch.set_column(position, fields.field(position), column)
    return batch


def _open_parquet(paths: Sequence[str]) -> TableStream:
    from pyarrow import dataset, parquet

    absent: set[str] = set()
    for path in paths:
        with _damage_of(path):
            absent |= _absent_in_parquet(parquet.read_metadata(path))
    tables = dataset.dataset(list(paths), format="parquet")
    # In lists, the statistics also count empty ones.
    lists = [column.name for column in tables.schema if column.name in absent and column.type.num_fields]
    if lists:
        absent -= set(lists)
        for batch in tables.scanner(columns=lists).to_batches():
            absent |= _absent_in(batch)
    reader = ArrowBatches(tables.schema, _checked(paths, tables.to_batches()))
    return TableStream(reader, rows=tables.count_rows(), absent=frozenset(absent))


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


def _checked(paths: Sequence[str], batches: Iterator[Any]) -> Iterator[Any]:
    with _damage_of(paths[0] if len(paths) == 1 else f"one of {paths[0]} ..."):
        yield from batches


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


def _absent_in(batch: Any) -> set[str]:
    return {name for name, column in zip(batch.schema.names, batch.columns, strict=True) if column.null_count}


def _open_arrow(paths: Sequence[str]) -> TableStream:
    """Return the rows of Arrow files, and of files with Arrow's stream format, as Hugging Face saves them."""

    rows, absent = 0, set[str]()
    for batch in _arrow_batches(paths):
        rows += batch.num_rows
        absent |= _absent_in(batch)
    with _damage_of(paths[0]), _arrow_file(paths[0]) as first:
        fields = first.schema
    reader = ArrowBatches(fields, _arrow_batches(paths))
    return TableStream(reader, rows=rows, absent=frozenset(absent))


def _arrow_batches(paths: Sequence[str]) -> Iterator[Any]:
    for path in paths:
        with _damage_of(path), _arrow_file(path) as file:
            yield from map(file.get_batch, range(file.num_record_batches)) if _is_file(file) else file


def _arrow_file(path: str) -> Any:
    import pyarrow as pa

    data = pa.memory_map(path)
    is_file = data.read(6) == b"ARROW1"
    data.seek(0)
    return pa.ipc.open_file(data) if is_file else pa.ipc.open_stream(data)


def _is_file(reader: Any) -> bool:
    return hasattr(reader, "num_record_batches")


def _open_csv(paths: Sequence[str], schema: Schema | None) -> TableStream:
    reader = _csv_reader(paths, schema)
    if schema is not None:
        return TableStream(reader)
    rows, absent = 0, set[str]()
    for batch in reader.batches:
        rows += batch.num_rows
        absent |= _absent_in(batch)
    return TableStream(_csv_reader(paths, None), rows=rows, absent=frozenset(absent))


def _csv_reader(paths: Sequence[str], schema: Schema | None) -> ArrowBatches:
    from pyarrow import dataset

    tables = dataset.dataset(list(paths), format=_csv_format(paths[0], schema))
    if len(tables.schema.names) == 1:
        tables = dataset.dataset(list(paths), format=_csv_format(paths[0], schema, one_column=True))
    return ArrowBatches(tables.schema, tables.to_batches())


def _csv_format(path: str, schema: Schema | None, *, one_column: bool = False) -> Any:
    """Return how to read CSV: an empty field is a missing value, ``""`` an empty text, and no text means missing."""
    from pyarrow import csv, dataset

    types = {name: _csv_type(feature) for name, feature in (schema or {}).items() if not feature.shape}
    convert = csv.ConvertOptions(
        null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False, column_types=types
    )
    # In a table of one column, an empty line is a row.
    parse = csv.ParseOptions(delimiter="\t" if table_format(path) == "tsv" else ",", ignore_empty_lines=not one_column)
    return dataset.CsvFileFormat(parse_options=parse, convert_options=convert)


def _csv_type(feature: Feature) -> Any:
    import pyarrow as pa

    # CSV cannot be read as these; float32 holds their values.
    names = {"str": "string", "bytes": "binary", "bfloat16": "float32", "float16": "float32"}
    return pa.type_for_alias(names.get(feature.dtype, feature.dtype))


def _open_json(paths: Sequence[str], schema: Schema | None) -> TableStream:
    """Return the rows of JSON Lines. All are read before, because any line may have a new field."""
    import pyarrow as pa

    found, rows, absent = pa.schema([]), 0, set[str]()
    for table in _json_blocks(paths, None):
        try:
            both = pa.unify_schemas([found, table.schema], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise SchemaError(f"{paths[0]}: two lines have values that one column cannot hold: {error}") from None
        absent |= {name for name in both.names if name not in table.column_names or table[name].null_count}
        absent |= set(both.names) - set(found.names) if rows else set()
        found, rows = both, rows + table.num_rows
    fields = pa.schema([column.with_nullable(column.name in absent) for column in found])
    coded = [name for name, feature in (schema or {}).items() if _is_bytes(feature) and name in fields.names]
    decoded = pa.schema(
        [column.with_type(_as_binary(pa, column.type)) if column.name in coded else column for column in fields]
    )
    batches = (
        _decode_base64(batch.cast(fields), decoded, coded) if coded else batch.cast(fields)
        for table in _json_blocks(paths, found)
        for batch in table.to_batches()
    )
    return TableStream(ArrowBatches(decoded, batches), rows=rows, absent=frozenset(absent))


def _json_blocks(paths: Sequence[str], schema: Any) -> Iterator[Any]:
    """Yield tables of many lines each, with the columns that occur in them, or those of a schema."""
    import pyarrow as pa
    from pyarrow import json as arrow_json

    parse = arrow_json.ParseOptions(explicit_schema=schema)
    for path in paths:
        first = 1
        with pa.input_stream(path) as file:
            text = io.BufferedReader(file)
            while block := text.read(_JSON_BLOCK) + text.readline():
                options = arrow_json.ReadOptions(block_size=len(block) + 1)
                try:
                    yield arrow_json.read_json(io.BytesIO(block), options, parse)
                except pa.ArrowInvalid as error:
                    raise SchemaError(f"{path}, in the lines from {first} on: {error}") from None
                first += block.count(b"\n")


def _is_bytes(feature: Feature) -> bool:
    return feature.dtype == "bytes" or feature.encoding in IMAGES


def _as_binary(pa: Any, kind: Any) -> Any:
    return pa.list_(_as_binary(pa, kind.value_type)) if pa.types.is_list(kind) else pa.binary()


def _decode_base64(batch: Any, schema: Any, names: Sequence[str]) -> Any:
    import pyarrow as pa

    for name in names:
        try:
            values = [_from_base64(value) for value in batch.column(name).to_pylist()]
        except (binascii.Error, ValueError):
            raise SchemaError(f"column {name!r} holds text that is not base64, which bytes are in JSON") from None
        column = schema.field(name)
        batch = batch.set_column(schema.get_field_index(name), column, pa.array(values, column.type))
    return batch


def _from_base64(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_base64(item) for item in value]
    return None if value is None else base64.b64decode(value, validate=True)
