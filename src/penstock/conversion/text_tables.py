"""Read tables of text: CSV, TSV and JSON Lines, compressed or not."""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from penstock.conversion.table_stream import (
    ArrowBatches,
    TableStream,
    absent_in,
    table_format,
    unify_tables,
)
from penstock.errors import SchemaError
from penstock.schema import Feature, Schema
from penstock.schema.feature import IMAGES

_JSON_BLOCK = 16 << 20


def open_csv(paths: Sequence[str], schema: Schema | None) -> TableStream:
    """Return the rows of CSV or TSV files, with the types of a schema, or those that their first rows show.

    Raises:
        SchemaError: A column has no values, or values of different types.
    """
    reader = _csv_reader(paths, schema)
    if schema is not None:
        return TableStream(reader)
    for column in reader.schema:
        if str(column.type) == "null":
            raise SchemaError(f"column {column.name!r} has no value to infer its type from: pass a schema")
    rows, absent = 0, set[str]()
    for batch in reader.batches:
        rows += batch.num_rows
        absent |= absent_in(batch)
    return TableStream(_csv_reader(paths, None), rows=rows, absent=frozenset(absent))


def _csv_reader(paths: Sequence[str], schema: Schema | None) -> ArrowBatches:
    import pyarrow as pa
    from pyarrow import dataset

    found, formats = [], []
    for path in paths:
        form = _csv_format(path, schema)
        with _error_of(path):
            columns = dataset.dataset([path], format=form).schema
            if len(columns.names) == 1:
                form = _csv_format(path, schema, one_column=True)
                columns = dataset.dataset([path], format=form).schema
        found.append(columns)
        formats.append(form)
    fields = unify_tables(paths, found)

    def batches() -> Iterator[Any]:
        for path, form, own in zip(paths, formats, found, strict=True):
            # Integers are read as such, so that the cast to floats checks them.
            integers = {column.name: column for column in own if pa.types.is_integer(column.type)}
            read = pa.schema([integers.get(column.name, column) for column in fields])
            with _error_of(path):
                for batch in dataset.dataset([path], schema=read, format=form).to_batches():
                    yield batch.cast(fields)

    return ArrowBatches(fields, batches())


@contextmanager
def _error_of(path: str) -> Iterator[None]:
    """Name the file in errors of Arrow."""
    import pyarrow as pa

    try:
        yield
    except pa.ArrowInvalid as error:
        raise SchemaError(f"{path}: {error}: a schema may give the types of its columns") from None


def _csv_format(path: str, schema: Schema | None, *, one_column: bool = False) -> Any:
    """Return how to read CSV: an empty field is a missing value, ``""`` an empty text, and no text means missing."""
    from pyarrow import csv, dataset

    types = {name: _csv_type(feature) for name, feature in (schema or {}).items() if not feature.shape}
    convert = csv.ConvertOptions(
        null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False, column_types=types
    )
    # In a table of one column, an empty line is a row.
    delimiter = "\t" if table_format(path) == "tsv" else ","
    parse = csv.ParseOptions(delimiter=delimiter, ignore_empty_lines=not one_column, newlines_in_values=True)
    return dataset.CsvFileFormat(parse_options=parse, convert_options=convert)


def _csv_type(feature: Feature) -> Any:
    import pyarrow as pa

    # CSV cannot be read as these; float32 holds their values.
    names = {"str": "string", "bytes": "binary", "bfloat16": "float32", "float16": "float32"}
    return pa.type_for_alias(names.get(feature.dtype, feature.dtype))


def open_json(paths: Sequence[str], schema: Schema | None) -> TableStream:
    """Return the rows of JSON Lines. All are read before, because any line may have a new field.

    Text stays text, even if it looks like a time, unless the schema says that it is one.
    """
    import pyarrow as pa

    found, rows, absent = pa.schema([]), 0, set[str]()
    times = {name for name, feature in (schema or {}).items() if "timestamp" in (feature.logical or "")}
    for table in _json_blocks(paths, None):
        kinds = pa.schema([c if c.name in times else c.with_type(_times_as_text(c.type)) for c in table.schema])
        try:
            both = pa.unify_schemas([found, kinds], promote_options="permissive")
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


def _times_as_text(kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_times_as_text(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_times_as_text(field.type)) for field in kind])
    return kind


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
