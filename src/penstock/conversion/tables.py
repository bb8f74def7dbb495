"""Read and write tables with pyarrow: Parquet, Arrow, CSV and JSON Lines, by their extensions."""

from __future__ import annotations

import base64
import errno
import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from penstock.codec.encode_values import Float64
from penstock.errors import SchemaError, import_extra
from penstock.schema import Feature, Schema
from penstock.storage.local import unfinished_path

_FORMATS = {
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".csv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
}
TABLES = ".parquet, .arrow, .feather, .csv or .jsonl"
"""The extensions of tables, for messages."""


def table_format(path: str) -> str | None:
    """Return the format of a table by its extension; None if it is not a table."""
    return _FORMATS.get(os.path.splitext(path)[1].lower())


def open_tables(paths: Sequence[str], schema: Schema | None = None) -> Any:
    """Return a ``pyarrow.RecordBatchReader`` over tables of one format, one after the other.

    CSV has no types: they come from the ``schema``, or from the first rows.
    """
    dataset = import_extra("pyarrow.dataset", "arrow", "reading tables")
    form = table_format(paths[0])
    if form != "csv":
        return dataset.dataset(list(paths), format=form).scanner().to_reader()
    tables = dataset.dataset(list(paths), format=_csv_format(schema))
    if len(tables.schema.names) == 1:
        tables = dataset.dataset(list(paths), format=_csv_format(schema, one_column=True))
    return tables.scanner().to_reader()


def schema_of_csv(paths: Sequence[str], float64: Float64 | None) -> Schema:
    """Infer the schema of CSV files from all rows: columns with an empty field anywhere are optional."""
    reader = open_tables(paths)
    for field in reader.schema:
        if str(field.type) == "null":
            raise SchemaError(f"column {field.name!r} has no value to infer its type from: pass a schema")
    absent: set[str] = set()
    for batch in reader:
        absent |= {field.name for field, column in zip(batch.schema, batch.columns, strict=True) if column.null_count}
    fields = [field.with_nullable(field.name in absent) for field in reader.schema]
    return Schema.from_arrow(import_extra("pyarrow", "arrow", "reading tables").schema(fields), float64=float64)


def _csv_format(schema: Schema | None, *, one_column: bool = False) -> Any:
    """Return how to read CSV: an empty field is a missing value, ``""`` an empty text, and no text means missing."""
    from pyarrow import csv, dataset

    types = {name: _csv_type(feature) for name, feature in (schema or {}).items() if not feature.shape}
    convert = csv.ConvertOptions(
        null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False, column_types=types
    )
    # In a table of one column, an empty line is a row.
    parse = csv.ParseOptions(ignore_empty_lines=not one_column)
    return dataset.CsvFileFormat(parse_options=parse, convert_options=convert)


def _csv_type(feature: Feature) -> Any:
    import pyarrow as pa

    # CSV cannot be read as these; float32 holds their values.
    names = {"str": "string", "bytes": "binary", "bfloat16": "float32", "float16": "float32"}
    return pa.type_for_alias(names.get(feature.dtype, feature.dtype))


def write_table(reader: Any, path: str) -> int:
    """Write all batches of a reader to a file, which appears when it is complete; return the number of rows."""
    # Imported here: reading tables, and JSON values, do without.
    from penstock.dataset.export_arrow import without_views

    form = table_format(path)
    assert form is not None
    schema = without_views(reader.schema)
    rows = 0
    with _complete_or_absent(Path(path)) as partial, _OPEN[form](partial, schema) as write:
        for batch in reader:
            write(batch.cast(schema))
            rows += batch.num_rows
    return rows


@contextmanager
def _complete_or_absent(path: Path) -> Iterator[str]:
    partial = Path(unfinished_path(str(path)))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.touch()  # so that the error is the system's, not Arrow's
    except FileExistsError:  # a file has the name of the folder
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None
    except OSError as error:
        error.filename = str(path)
        raise
    try:
        yield str(partial)
        partial.replace(path)
    except OSError as error:
        # Errors of Arrow's writers have no file name.
        error.filename = error.filename or str(path)
        raise
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def _parquet(path: str, schema: Any) -> Iterator[Callable[[Any], object]]:
    import pyarrow.parquet

    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        yield writer.write_batch


@contextmanager
def _arrow(path: str, schema: Any) -> Iterator[Callable[[Any], object]]:
    import pyarrow as pa

    with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, schema) as writer:
        yield writer.write_batch


@contextmanager
def _csv(path: str, schema: Any) -> Iterator[Callable[[Any], object]]:
    import pyarrow.csv
    from pyarrow import types

    for field in schema:
        if types.is_nested(field.type) or types.is_large_binary(field.type):
            raise SchemaError(
                f"a field of CSV holds one number or text, and feature {field.name!r} is {field.type}: "
                "choose other features, or write .parquet or .jsonl"
            )
    with pyarrow.csv.CSVWriter(path, schema) as writer:
        yield writer.write_batch


@contextmanager
def _json(path: str, schema: Any) -> Iterator[Callable[[Any], object]]:
    with open(path, "w", encoding="utf-8") as file:

        def write(batch: Any) -> None:
            for row in batch.to_pylist():
                file.write(json.dumps({name: json_value(value) for name, value in row.items()}) + "\n")

        yield write


_OPEN = {"parquet": _parquet, "arrow": _arrow, "csv": _csv, "json": _json}


def json_value(value: Any) -> Any:
    """Return a value as JSON has it: bytes as base64; NaN and the infinities as strings."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list):
        return [json_value(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
