"""Choose rows and columns of a table on their way to another format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from penstock.conversion.table_stream import ArrowBatches, TableStream
from penstock.errors import import_extra
from penstock.schema.schema import unknown_feature


def choose(stream: TableStream, *, columns: Sequence[str] | None, skip: int, limit: int | None) -> TableStream:
    """Return some rows of a table, with some of the columns.

    Raises:
        SchemaError: The table has no such column.
    """
    pa = import_extra("pyarrow", "arrow", "reading tables")
    known = stream.reader.schema
    names = list(known.names) if columns is None else list(columns)
    for name in names:
        if name not in known.names:
            raise unknown_feature(name, known.names, "the table has no column")
    fields = pa.schema([known.field(name) for name in names], known.metadata)
    return replace(
        stream,
        reader=ArrowBatches(fields, _cut(stream.reader.batches, names, fields, skip, limit)),
        schema=None if stream.schema is None else stream.schema.select([n for n in names if n in stream.schema]),
        rows=None if stream.rows is None else min(max(0, stream.rows - skip), stream.rows if limit is None else limit),
        absent=None if stream.absent is None else stream.absent & set(names),
        features={name: feature for name, feature in stream.features.items() if name in names},
    )


def _cut(batches: Iterator[Any], names: list[str], fields: Any, skip: int, limit: int | None) -> Iterator[Any]:
    for batch in batches:
        if limit == 0:
            return
        start = min(skip, batch.num_rows)
        skip -= start
        rows = batch.num_rows - start if limit is None else min(limit, batch.num_rows - start)
        limit = None if limit is None else limit - rows
        if rows:
            yield batch.slice(start, rows).select(names).replace_schema_metadata(fields.metadata)
