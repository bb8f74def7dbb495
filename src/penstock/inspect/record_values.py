"""The values of single records, to show where two of them differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock.codec.decoder import Decoder
from penstock.columns.column import Column
from penstock.errors import PenstockError
from penstock.schema import Schema
from penstock.schema.schema import keep_images_encoded

_DTYPES = {"float": np.float32, "int64": np.int64}


class RecordValues:
    """Reads single records of a dataset: by its schema where they fit it, else as they are stored.

    Args:
        schema: The schema; None if there is none.
    """

    def __init__(self, schema: Schema | None) -> None:
        self._decoder = None if schema is None else Decoder(keep_images_encoded(schema), threads=1)
        self._names: dict[str, str] = {}
        for name, feature in schema.items() if schema is not None else ():
            self._names |= dict.fromkeys((feature.key or name, *feature.partitions), name)

    def read(self, record: bytes, keys: set[str]) -> dict[str, Any]:
        """Return the values of features, by their names, that are stored under some keys."""
        stored = _stored(record)
        values = {self._names.get(key, key): _plain(stored[key]) for key in keys & stored.keys()}
        if self._decoder is None or "" in stored:
            return values
        try:
            batch = self._decoder.decode([record])
            for name in values.keys() & set(batch.column_names):
                value = batch[name][0]
                if isinstance(value, Column):
                    value = value.to_list()
                values[name] = value.item() if isinstance(value, np.generic) else value
        except (PenstockError, UnicodeDecodeError):
            pass  # the record does not fit the schema
        return values


def changed_values(a: RecordValues, record_a: bytes, b: RecordValues, record_b: bytes) -> dict[str, tuple[Any, Any]]:
    """Return the features whose stored values differ, with their values in both records; None is an absent one."""
    stored_a, stored_b = _stored(record_a), _stored(record_b)
    # As text NaN equals itself, and the zeros differ.
    keys = {key for key in stored_a | stored_b if repr(stored_a.get(key)) != repr(stored_b.get(key))}
    values_a, values_b = a.read(record_a, keys), b.read(record_b, keys)
    return {name: (values_a.get(name), values_b.get(name)) for name in sorted(values_a | values_b)}


def _stored(record: bytes) -> dict[str, Any]:
    """Return kind and values by key, in a sequence those of each step; other records have their bytes under ""."""
    found = None if _core.is_other_message(record) else _core.read_example(record, sequence_example=True)
    if found is None:
        return {"": ("bytes", [record])}
    context, sequence = found
    set_ones = {key: value for key, value in context.items() if value[0] != "unset"}
    return {key.decode("utf-8", "surrogateescape"): value for key, value in {**set_ones, **sequence}.items()}


def _plain(stored: Any) -> Any:
    if isinstance(stored, list):
        return [_plain(step) for step in stored]
    kind, values = stored
    if len(values) == 1:
        return values[0]
    return np.array(values, _DTYPES[kind]) if kind in _DTYPES else values
