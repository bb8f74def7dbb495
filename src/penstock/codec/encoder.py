"""Turns columns and rows into records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock import _core
from penstock.codec.encode_values import Float64
from penstock.codec.encoding import Encoding
from penstock.codec.given_columns import as_column
from penstock.columns import Batch
from penstock.schema import Schema


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
            block = encoding.columns_block({name: as_column(name, data[name]) for name in data}, num_rows)
        else:
            block = encoding.rows_block(list(data))
        frames = _core.FrameBuffer()
        block.frame(frames, 0, block.rows)
        records = _core.StreamRecords(verify=False, max_record_bytes=1 << 31)
        return [record for chunk in records.feed(frames.take()) for record in chunk]  # type: ignore[union-attr]
