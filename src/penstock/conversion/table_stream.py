"""Tables that are read as a stream, with what is known of their columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias

from penstock.codec.encode_values import Float64
from penstock.codec.schema_from_data import infer_from_columns
from penstock.columns import from_arrow
from penstock.errors import SchemaError, import_extra
from penstock.schema import Feature, Schema
from penstock.schema.arrow_metadata import attach_schema, attached_schema
from penstock.schema.arrow_types import storable_schema
from penstock.schema.feature import FeatureArguments

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
        categories: What is known of columns of Arrow's dictionaries.
    """

    reader: ArrowBatches
    schema: Schema | None = None
    rows: int | None = None
    absent: frozenset[str] | None = None
    features: Mapping[str, Feature] = field(default_factory=dict)
    categories: Mapping[str, FeatureArguments] = field(default_factory=dict)

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
        known = {column.name: column.arguments for column in storable_schema(fields)} | dict(self.categories)
        found = infer_from_columns(from_arrow(pa.table(first)), float64, known) | self.features
        absent = set(fields.names) if self.absent is None else self.absent
        optional = {name for name in found if name in absent or any(name.startswith(f"{above}/") for above in absent)}
        schema = Schema({name: f.replace(optional=f.optional or name in optional) for name, f in found.items()})
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


def unify_tables(paths: Sequence[str], tables: Sequence[Any]) -> Any:
    """Return the ``pyarrow.Schema`` with the columns of all files, whose types hold the values of all of them.

    Raises:
        SchemaError: No type holds a column of two files.
    """
    import pyarrow as pa

    found = tables[0]
    for path, table in zip(paths, tables, strict=True):
        if table.equals(found):
            continue
        try:
            both = pa.unify_schemas([found, table], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise _differs(path, str(error)) from None
        for name in set(found.names) & set(table.names):
            kinds = {found.field(name).type, table.field(name).type}
            if any(_changes_values(kind, both.field(name).type) for kind in kinds):
                raise _differs(path, f"column {name!r} is {' and '.join(sorted(map(str, kinds)))}")
        found = both
    absent = missing_in(found, tables)
    return (
        found
        if found is tables[0]
        else pa.schema(
            [column.with_nullable(column.nullable or column.name in absent) for column in found], found.metadata
        )
    )


def _differs(path: str, what: str) -> SchemaError:
    advice = "pass a schema for text tables, or convert the files one by one"
    return SchemaError(f"{path} and the files before it have different types of one column: {what}: {advice}")


def _changes_values(old: Any, new: Any) -> bool:
    from pyarrow import types

    decimal, text = types.is_decimal(old), types.is_string(old) or types.is_large_string(old)
    is_binary = types.is_binary(new) or types.is_large_binary(new)
    return bool((decimal and types.is_floating(new)) or (text and is_binary))


def missing_in(unified: Any, tables: Sequence[Any]) -> set[str]:
    """Return the columns that not all tables have, or not all with the same fields inside."""
    return {
        column.name
        for table in tables
        if not table.equals(unified)
        for column in unified
        if (at := table.get_field_index(column.name)) < 0
        or (column.type.num_fields and column.type != table.field(at).type)
    }


def absent_in(batch: Any) -> set[str]:
    """Return the names of the columns of a record batch that have absent values."""
    return {name for name, column in zip(batch.schema.names, batch.columns, strict=True) if column.null_count}
