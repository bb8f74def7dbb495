"""Encode columns and rows as records, and copy records with other columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from penstock import _core
from penstock.codec.encode_columns import native_columns
from penstock.codec.encode_rows import Gatherer
from penstock.codec.encode_values import Float64, as_column
from penstock.columns import Batch
from penstock.errors import RowFault, SchemaError
from penstock.schema import Schema, check_schema
from penstock.schema.schema import keep_stored, unknown_feature

_NO_LIMIT = 1 << 62


class Encoder:
    r"""Encode columns or rows as records by a schema. Build it once and reuse it; it is safe to share between threads.

    The same values and the same schema always give the same bytes: features are written in the order of the schema.

    Args:
        schema: The features of the records. Values are converted to its dtypes if that does not change them.
        float64: What happens to float64 arrays if the schema says float32: ``"float32"`` rounds them, None raises.

    Raises:
        SchemaError: A feature has a key that is not UTF-8.

    Example:
        >>> encoder = ps.Encoder(ps.Schema({"label": int}))
        >>> encoder.encode([{"label": 7}])
        [b'\n\x10\n\x0e\n\x05label\x12\x05\x1a\x03\n\x01\x07']
    """

    def __init__(self, schema: Schema, *, float64: Float64 | None = None) -> None:
        if float64 not in (None, "float32", "raw"):
            raise ValueError(f'float64 must be "float32" or "raw", found {float64!r}')
        self._schema = schema = keep_stored(check_schema(schema))
        for name, feature in schema.items():
            if not _is_utf8([name if feature.key is None else feature.key, *feature.partitions]):
                raise SchemaError(f"feature {name!r}: keys that are not UTF-8 can be read, but not written")
        self._float64 = float64

    @property
    def schema(self) -> Schema:
        """The schema of the records.

        Example:
            >>> list(ps.Encoder(ps.Schema({"label": int})).schema)
            ['label']
        """
        return self._schema

    def encode(self, data: Batch | Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> list[bytes]:
        """Encode columns or rows, one record per row.

        Args:
            data: A batch or a mapping of names to columns; or an iterable of rows, each a mapping of names to values.

        Returns:
            The records as bytes.

        Raises:
            SchemaError: A value does not fit the schema. The message names the row and the feature.

        Example:
            >>> encoder = ps.Encoder(ps.Schema({"label": int}))
            >>> encoder.encode({"label": np.array([7, 8])}) == encoder.encode([{"label": 7}, {"label": 8}])
            True
        """
        if isinstance(data, Batch | Mapping):
            num_rows = data.num_rows if isinstance(data, Batch) else None
            block = self._block({name: as_column(name, column) for name, column in data.items()}, num_rows)
        else:
            block = self._block_of_rows(list(data))
        frames = _core.FrameBuffer()
        block.frame(frames, 0, block.rows)
        records = _core.StreamRecords(verify=False, max_record_bytes=1 << 31)
        return [record for chunk in records.feed(frames.take()) for record in chunk]  # type: ignore[union-attr]

    def _gatherer(self) -> Gatherer:
        """Return a new gatherer of rows; :meth:`_block` encodes the columns that it returns."""
        return Gatherer(self._schema, self._float64)

    def _block_of_rows(self, rows: list[Any]) -> EncodedRows:
        gatherer = self._gatherer()
        try:
            gatherer.extend(rows, 0, _NO_LIMIT, _NO_LIMIT)
        except RowFault as fault:
            raise schema_error(fault) from None
        return self._block(gatherer.take(), len(rows))

    def _block(
        self, columns: Batch | Mapping[str, Any], num_rows: int | None = None, numbers: Sequence[int] | None = None
    ) -> EncodedRows:
        """Check columns of equal length; ``numbers`` are the row numbers to report in errors."""
        lengths = {name: len(column) for name, column in columns.items()}
        if num_rows is None:
            num_rows = columns.num_rows if isinstance(columns, Batch) else next(iter(lengths.values()), 0)
        for name, length in lengths.items():
            if name not in self._schema:
                raise unknown_feature(name, self._schema)
            if length != num_rows:
                raise ValueError(
                    f"columns must have equal lengths: expected {num_rows} rows, but {name!r} has {length}"
                )
        native: list[_core.EncodeColumn] = []
        for name, feature in self._schema.items():
            if name not in columns:
                if num_rows and not (feature.optional or feature.has_default):
                    raise SchemaError(f"the data has no column {name!r}; optional=True lets it be absent")
                continue
            sequence = name in self._schema.sequence
            try:
                native += native_columns(name, feature, columns[name], sequence=sequence, float64=self._float64)
            except RowFault as fault:
                row = fault.row if numbers is None else numbers[fault.row]
                raise schema_error(RowFault(row, fault.message, name)) from None
        return EncodedRows(tuple(native), num_rows, self._schema.is_sequence)


@dataclass(frozen=True)
class EncodedRows:
    """Rows that are checked and ready to be written, by any number of threads."""

    columns: tuple[_core.EncodeColumn, ...]
    rows: int
    is_sequence: bool

    def frame(self, frames: _core.FrameBuffer, first: int, stop: int, limit: int = _NO_LIMIT) -> int:
        """Frame rows from ``first`` until ``stop``, or until the frames have ``limit`` bytes; return the next row."""
        return _core.encode_rows(self.columns, stop, first, limit, frames, self.is_sequence)


def _is_utf8(keys: Iterable[str]) -> bool:
    try:
        "".join(keys).encode()
    except UnicodeEncodeError:
        return False
    return True


def schema_error(fault: RowFault) -> SchemaError:
    """Return the error for a row that does not fit the schema."""
    where = f"row {fault.row}" + (f', feature "{fault.feature}"' if fault.feature else "")
    return SchemaError(f"{fault.message}: {where}")


Key: TypeAlias = tuple[bool, str]
"""Whether a feature is one of sequences, and its key in records."""


def keys_of(schema: Schema) -> list[Key]:
    """Return the keys of all features, and of what belongs to them."""
    return [
        (name in schema.sequence, key)
        for name, feature in schema.items()
        for key in (name if feature.key is None else feature.key, *feature.partitions)
    ]


def rewrite_of_keys(
    stored: Schema, written: Schema, dropped: frozenset[Key] | None, is_sequence: bool, *, strict: bool
) -> _core.EntryRewrite | None:
    """Return how records that hold the features of one schema are copied to hold those of another, in the same order.

    Keys that are in neither stay, unless ``dropped`` is None. None where a feature would have to be copied twice.
    """
    moves: dict[Key, str] = {}
    for place, (_, new) in zip(keys_of(stored), keys_of(written), strict=True):
        if moves.setdefault(place, new) != new:
            return None
    if len({(is_step, new) for (is_step, _), new in moves.items()}) < len(moves):
        return None
    rewrite = _core.EntryRewrite(sequence_example=is_sequence, keep_others=dropped is not None, strict=strict)
    changes: dict[Key, str | None] = {**dict.fromkeys(dropped or ()), **moves}
    for (is_step, key), to in changes.items():
        rewrite.change(is_step, _encoded(key), None if to is None else _encoded(to))
    return rewrite


def _encoded(key: str) -> bytes:
    return key.encode("utf-8", "surrogateescape")
