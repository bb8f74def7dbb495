"""The columns of the workloads, for contestants of every environment: what they are, and their values in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np


class Column(NamedTuple):
    """How a feature is stored, and what it is: ``shape`` None is ragged; that of a sequence is the shape of a step."""

    stored: str  # "raw", "bytes", "float" or "int64"
    dtype: str
    shape: tuple[int, ...] | None = ()
    sequence: bool = False


_LABEL = {"label": Column("int64", "int64")}

COLUMNS: dict[str, dict[str, Column]] = {
    "w1": {"image": Column("raw", "uint8", (32, 32, 3)), **_LABEL},
    "w2": {"image": Column("float", "float32", (4096,)), **_LABEL},
    "w2b": {"image": Column("raw", "float32", (64, 64)), **_LABEL},
    "w3": {
        **_LABEL,
        **{f"I{i + 1}": Column("float", "float32") for i in range(13)},
        **{f"C{i + 1}": Column("int64", "int64") for i in range(26)},
    },
    "w4": {**_LABEL, "text": Column("bytes", "bytes"), "tokens": Column("int64", "int64", None)},
    "w5": {"image": Column("bytes", "bytes"), **_LABEL},
    "w6": {
        "id": Column("bytes", "bytes"),
        "labels": Column("int64", "int64", None),
        "rgb": Column("float", "float32", (128,), sequence=True),
    },
}

# Rows in a batch: about as many bytes in each.
BATCH = {"w1": 1024, "w2": 256, "w2b": 256, "w3": 1024, "w4": 1024, "w5": 256, "w6": 256}


def plain(column: Column, values: Any, lengths: Any = None) -> Iterator[Any]:
    """What counts for a column's fingerprint: all values in order, then the lengths of its rows where they differ."""
    if column.stored == "bytes":
        lengths = [len(value) for value in values]
        yield b"".join(values)
    else:
        yield np.ascontiguousarray(values, column.dtype)
    if lengths is not None:
        yield np.ascontiguousarray(lengths, np.int64)


def save(path: str, columns: Iterable[tuple[str, Column, Any, Any]]) -> None:
    """Keep columns for :func:`load_columns`: of each the name, what it is, its values and the lengths of its rows."""
    arrays = {}
    for name, column, values, lengths in columns:
        parts = list(plain(column, values, lengths))
        data = np.frombuffer(parts[0], np.uint8) if column.stored == "bytes" else parts[0]
        arrays[name] = data
        if len(parts) > 1:
            arrays[f"{name}.offsets"] = np.concatenate([[0], np.cumsum(parts[1])])
    np.savez(path, **arrays)


def load_columns(path: str, workload: str, rows: int | None = None) -> dict[str, Any]:
    """Columns by name: an array; of ragged ones (values, offsets); of bytes a list."""
    loaded = {}
    with np.load(path) as arrays:
        for name, column in COLUMNS[workload].items():
            values = arrays[name]
            if f"{name}.offsets" not in arrays:
                loaded[name] = values[:rows]
                continue
            offsets = arrays[f"{name}.offsets"][: None if rows is None else rows + 1]
            if column.stored == "bytes":
                data = values.tobytes()
                loaded[name] = [data[start:stop] for start, stop in pairwise(offsets.tolist())]
            else:
                loaded[name] = (values[: offsets[-1]], offsets)
    return loaded


def load_rows(path: str, workload: str, rows: int) -> list[dict[str, Any]]:
    """Rows as a program has them at hand: Python scalars and bytes, and arrays."""
    columns = {}
    for name, values in load_columns(path, workload, rows).items():
        if isinstance(values, tuple):
            flat, offsets = values
            columns[name] = [flat[start:stop] for start, stop in pairwise(offsets.tolist())]
        else:
            columns[name] = values.tolist() if isinstance(values, np.ndarray) and values.ndim == 1 else list(values)
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
