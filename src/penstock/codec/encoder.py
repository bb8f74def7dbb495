"""Turns columns and rows into records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock import _core
from penstock.codec.encode_columns import native_columns
from penstock.codec.encode_rows import Gatherer
from penstock.codec.encode_values import Float64, as_column
from penstock.columns import Batch
from penstock.errors import RowFault, SchemaError
from penstock.schema import Schema, check_schema


class Encoder:
    """Encode columns or rows as records by a schema. Built once, used for many; safe to share between threads.

    >>> encoder = ps.Encoder(ps.Schema({"label": ps.Feature("int64")}))
    >>> encoder.encode([{"label": 7}])
    [b'\\n\\x10\\n\\x0e\\n\\x05label\\x12\\x05\\x1a\\x03\\n\\x01\\x07']

    The same values and the same schema always give the same bytes: features come in the order of the schema.

    Args:
        schema: What the records hold. Values are converted to its dtypes where that changes nothing, and refused
            elsewhere.
        float64: ``"float32"`` lets arrays of float64 be rounded where the schema says float32.
    """

    def __init__(self, schema: Schema, *, float64: Float64 | None = None) -> None:
        self._encoding = Encoding(schema, float64)

    @property
    def schema(self) -> Schema:
        """What the records hold."""
        return self._encoding.schema

    def encode(self, data: Batch | Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> list[bytes]:
        """Encode a mapping of columns, or rows, one mapping each."""
        encoding = self._encoding
        if isinstance(data, Batch | Mapping):
            num_rows = data.num_rows if isinstance(data, Batch) else None
            block = encoding.columns_block({name: as_column(name, column) for name, column in data.items()}, num_rows)
        else:
            block = encoding.rows_block(list(data))
        frames = _core.FrameBuffer()
        block.frame(frames, 0, block.rows)
        records = _core.StreamRecords(verify=False, max_record_bytes=1 << 31)
        return [record for chunk in records.feed(frames.take()) for record in chunk]  # type: ignore[union-attr]


_NO_LIMIT = 1 << 62


@dataclass(frozen=True)
class EncodedRows:
    """Rows that are checked and ready to be written, by any number of threads."""

    columns: tuple[_core.EncodeColumn, ...]
    rows: int
    is_sequence: bool

    def frame(self, frames: _core.FrameBuffer, first: int, stop: int, limit: int = _NO_LIMIT) -> int:
        """Frame rows from ``first`` until ``stop``, or until the frames have ``limit`` bytes; return the next row."""
        return _core.encode_rows(self.columns, stop, first, limit, frames, self.is_sequence)


class Encoding:
    """What records hold, and how values become theirs. Immutable, and safe to share between threads; pickles."""

    def __init__(self, schema: Schema, float64: Float64 | None) -> None:
        if float64 not in (None, "float32", "raw"):
            raise ValueError(f'float64 is "float32" or "raw", not {float64!r}')
        self.schema = check_schema(schema)
        for name, feature in schema.items():
            if not _is_text([name if feature.key is None else feature.key, *feature.partitions]):
                raise SchemaError(f"feature {name!r}: keys that are not UTF-8 are read, and not written")
        self._float64 = float64

    def gatherer(self) -> Gatherer:
        """Return what rows are gathered with; :meth:`columns_block` takes its columns."""
        return Gatherer(self.schema, self._float64)

    def rows_block(self, rows: list[Any]) -> EncodedRows:
        """Make a block of rows."""
        gatherer = self.gatherer()
        try:
            gatherer.extend(rows, 0, _NO_LIMIT, _NO_LIMIT)
        except RowFault as fault:
            raise schema_error(fault) from None
        return self.columns_block(gatherer.take(), len(rows))

    def columns_block(
        self, columns: Batch | Mapping[str, Any], num_rows: int | None = None, numbers: Sequence[int] | None = None
    ) -> EncodedRows:
        """Make a block of columns of equal length."""
        for name in columns.keys():  # noqa: SIM118
            if name not in self.schema:
                known = ", ".join(map(repr, self.schema))
                raise SchemaError(f"the schema has no feature {name!r}; it has {known}")
        lengths = {name: len(column) for name, column in columns.items()}
        if num_rows is None:
            num_rows = columns.num_rows if isinstance(columns, Batch) else next(iter(lengths.values()), 0)
        for name, length in lengths.items():
            if length != num_rows:
                raise ValueError(f"columns are of equal length: {num_rows} rows, but {name!r} has {length}")
        for name, feature in self.schema.items():
            if name not in lengths and num_rows and not (feature.optional or feature.has_default):
                raise SchemaError(f"the data has no column {name!r}; optional=True lets it be absent")
        return self._block(dict(columns.items()), num_rows, numbers)

    def _block(self, columns: Mapping[str, Any], rows: int, numbers: Sequence[int] | None) -> EncodedRows:
        native: list[_core.EncodeColumn] = []
        for name in self.schema:
            if name not in columns:
                continue
            feature, sequence = self.schema[name], name in self.schema.sequence
            try:
                native += native_columns(name, feature, columns[name], sequence=sequence, float64=self._float64)
            except RowFault as fault:
                row = fault.row if numbers is None else numbers[fault.row]
                raise schema_error(RowFault(row, fault.message, name)) from None
        return EncodedRows(tuple(native), rows, self.schema.is_sequence)


def _is_text(keys: Iterable[str]) -> bool:
    try:
        "".join(keys).encode()
    except UnicodeEncodeError:
        return False
    return True


def schema_error(fault: RowFault) -> SchemaError:
    """Say which row does not fit."""
    where = f"row {fault.row}" + (f', feature "{fault.feature}"' if fault.feature else "")
    return SchemaError(f"{fault.message}: {where}")
