"""Write tables to files and to standard output: Parquet, Arrow, CSV, TSV and JSON Lines."""

from __future__ import annotations

import base64
import errno
import io
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import date, time, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from isal import igzip

from penstock.conversion.table_stream import TableFormat
from penstock.errors import SchemaError
from penstock.progress import ProgressBar
from penstock.storage.local import unfinished_path


def write_table(
    schema: Any,
    batches: Iterable[Any],
    path: str,
    form: TableFormat,
    *,
    rows: int | None = None,
    progress: bool = False,
) -> int:
    """Write record batches to a file, which appears when it is complete; return the number of rows.

    Args:
        schema: The Arrow schema.
        batches: Record batches.
        path: The file; ``-`` is standard output.
        form: The format.
        rows: The number of rows, where it is known, for the progress bar.
        progress: Whether to show a progress bar.
    """
    # Imported here: reading tables, and JSON values, do without.
    from penstock.dataset.export_arrow import without_views

    schema = without_views(schema)
    written = 0
    target = nullcontext(_StandardOutput()) if path == "-" else _complete_or_absent(Path(path))
    with (
        ProgressBar("writing", rows, "rows", show=progress) as bar,
        target as file,
        _compressed(file, path) as stream,
        _OPEN[form](stream, schema) as write,
    ):
        for batch in batches:
            write(batch.cast(schema))
            written += batch.num_rows
            bar.advance(batch.num_rows)
    return written


class _StandardOutput(io.RawIOBase):
    """Standard output as a file that knows its position, which a pipe does not."""

    def __init__(self) -> None:
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        sys.stdout.buffer.write(data)
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        sys.stdout.buffer.flush()


def _compressed(file: Any, path: str) -> Any:
    gzip: Any = igzip.IGzipFile
    return gzip(fileobj=file, mode="wb", mtime=0) if path.lower().endswith(".gz") else nullcontext(file)


@contextmanager
def _complete_or_absent(path: Path) -> Iterator[Any]:
    hidden = Path(unfinished_path(str(path)))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError:  # a file has the name of the folder
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None
    try:
        with open(hidden, "wb") as file:
            yield file
        hidden.replace(path)
    except OSError as error:
        # The hidden name means nothing to a user, and errors of Arrow's writers have none.
        if error.filename in (None, str(hidden)):
            error.filename = str(path)
        raise
    finally:
        hidden.unlink(missing_ok=True)


@contextmanager
def _parquet(file: Any, schema: Any) -> Iterator[Callable[[Any], object]]:
    import pyarrow.parquet

    with pyarrow.parquet.ParquetWriter(file, schema) as writer:
        yield writer.write_batch


@contextmanager
def _arrow(file: Any, schema: Any) -> Iterator[Callable[[Any], object]]:
    import pyarrow as pa

    with pa.ipc.new_file(file, schema) as writer:
        yield writer.write_batch


@contextmanager
def _csv(file: Any, schema: Any, delimiter: str = ",") -> Iterator[Callable[[Any], object]]:
    import pyarrow.csv
    from pyarrow import types

    for field in schema:
        if types.is_nested(field.type) or types.is_large_binary(field.type):
            raise SchemaError(
                f"a field of CSV holds one number or text, and feature {field.name!r} is {field.type}: "
                "choose other features, or write .parquet or .jsonl"
            )
    options = pyarrow.csv.WriteOptions(delimiter=delimiter)
    with pyarrow.csv.CSVWriter(file, schema, write_options=options) as writer:
        yield writer.write_batch


@contextmanager
def _json(file: Any, schema: Any) -> Iterator[Callable[[Any], object]]:
    def write(batch: Any) -> None:
        lines = (json.dumps({name: json_value(value) for name, value in row.items()}) for row in batch.to_pylist())
        file.write("".join(line + "\n" for line in lines).encode())

    yield write


_OPEN: dict[str, Callable[..., Any]] = {
    "parquet": _parquet,
    "arrow": _arrow,
    "csv": _csv,
    "tsv": partial(_csv, delimiter="\t"),
    "jsonl": _json,
}


def json_value(value: Any) -> Any:
    """Return a value as JSON has it: bytes as base64; NaN and the infinities as strings."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, dict):
        return {str(name): json_value(item) for name, item in value.items()}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal | timedelta) else value
