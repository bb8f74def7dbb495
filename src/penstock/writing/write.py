"""Writes a dataset in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.codec.encode_values import Float64
from penstock.codec.encoder import Encoder
from penstock.codec.schema_from_data import infer_from_columns
from penstock.manifest import Manifest
from penstock.progress import ProgressBar
from penstock.schema import Schema
from penstock.storage import StrPath
from penstock.writing.engine import check_seed, permutation, write_table
from penstock.writing.hugging_face import encoded_pictures
from penstock.writing.inputs import (
    Table,
    as_table,
    is_dataset,
    mapped_rows,
    open_source,
    peek,
    row_of,
    schema_of_table,
    traced,
)
from penstock.writing.stored_values import write_traced
from penstock.writing.target import Target
from penstock.writing.writer import Writer, know_features, number_rows

_ROWS_AT_ONCE = 8192
Row = Mapping[str, Any]


def write(
    path: StrPath,
    data: Any,
    *,
    schema: Schema | None = None,
    shards: int = 1,
    shard: int | None = None,
    compression: str | None = "",
    level: int = 2,
    shuffle: int | None = None,
    map: Callable[[dict[str, Any]], Row] | None = None,
    replace: bool = False,
    float64: Float64 | None = None,
    progress: bool = True,
    sync: bool = False,
) -> Manifest:
    """Write a dataset: shards, and the manifest that says what is in them.

    >>> ps.write("data/train", {"image": images, "label": labels}, shards=8)

    Args:
        path: What the dataset is called: ``data/train`` has the shards ``data/train-00000-of-00008.tfrecord`` ... and
            the manifest ``data/train.penstock.json``. Also a URL.
        data: Columns (a mapping of names to arrays, a batch, an Arrow table, a pandas or Polars frame), rows (a list or
            an iterator of mappings), an iterator of batches, such as an Arrow reader; or a dataset: of Penstock, a
            ``tf.data.Dataset``, a torch ``Dataset`` or ``DataLoader``, one of Hugging Face.
        schema: What the records hold; None: what a dataset, or an Arrow table made of one, tells, else it is inferred:
            from the columns, or from the first rows. Values that the functions of a dataset did not change are copied
            as they are stored, and changed ones follow the stored features where they fit.
        shards: How many files.
        shard: Write this one of the shards alone, as one of several processes; :func:`commit` then makes them a dataset
            .
        compression: ``"GZIP"``, ``"ZLIB"``, ``"SNAPPY"`` or ``""`` (none).
        level: 0 to 9, for GZIP and ZLIB.
        shuffle: A seed. What is in memory is shuffled whole; a stream in windows of about 64 MB and at most 65,536
            rows, its batches each in itself.
        map: A function from row to row, called before writing, such as one that resizes an image.
        replace: Replace a dataset of the same name; without, one that is there is an error.
        float64: What becomes of arrays of float64: ``"float32"`` rounds them, ``"raw"`` keeps them. None refuses them.
        progress: Show a progress bar where standard error is a terminal.
        sync: Wait until the shards are on the disk.

    Returns:
        The manifest; of a ``shard``, its part of it, for :func:`commit`.
    """
    options: dict[str, Any] = {
        "shards": shards,
        "shard": shard,
        "compression": compression,
        "level": level,
        "replace": replace,
    }
    check_seed(shuffle)
    if is_dataset(data):
        data = data if map is None else mapped_rows(data, map)
        map = None
        stored = data._as_stored()
        if stored is None or schema not in (None, stored[1]):
            elements, stored_schema = traced(data)
            with (
                closing(elements),
                Writer(
                    path, schema=schema, shuffle=shuffle, float64=float64, progress=progress, sync=sync, **options
                ) as writer,
            ):
                write_traced(writer, elements, row_of, stored_schema, float64)
            return writer.manifest
        data, schema = stored
    elif schema is None and map is None:
        schema = schema_of_table(data)
    pictures = None if map is not None else encoded_pictures(data, schema)
    data, known = pictures or (data, {})
    source = open_source(data)
    if not isinstance(source, Iterator) and map is None:
        with ProgressBar("writing", source.num_rows, "rows", show=progress) as bar:
            encoder = Encoder(schema or infer_from_columns(source.sample(), float64), float64=float64)
            return write_table(
                source, encoder, _order(shuffle, source.num_rows), Target(path, **options, sync=sync), bar
            )
    order = None
    # Tables are shuffled each in itself, and those of pictures are small.
    by_row = pictures is not None and shuffle is not None
    rows_in_memory = isinstance(data, list | tuple) and len(data) > 0 and as_table(data[0]) is None
    if shuffle is not None and rows_in_memory:
        order = permutation(shuffle, 0, len(data)).tolist()
        source, shuffle = iter([data[row] for row in order]), None
    with Writer(
        path, schema=schema, shuffle=shuffle, float64=float64, progress=progress, sync=sync, **options
    ) as writer:
        number_rows(writer, order)
        know_features(writer, known)
        _write_stream(writer, source, map, at_once=rows_in_memory, by_row=by_row)
    return writer.manifest


def _write_stream(
    writer: Writer,
    source: Table | Iterator[Any],
    function: Callable[[dict[str, Any]], Row] | None,
    *,
    at_once: bool,
    by_row: bool,
) -> None:
    if not isinstance(source, Iterator):
        source = _rows_of(source)
    first, items = peek(source)
    if as_table(first) is not None:
        if function is None and not by_row:
            for columns in items:
                writer.write_batch(columns)
            return
        items = (row for table in map(as_table, items) if table is not None for row in _rows_of(table))
    if function is not None:
        items = (function(dict(row)) for row in items)
    elif at_once:
        while rows := list(islice(items, _ROWS_AT_ONCE)):
            writer.write_rows(rows)
        return
    for row in items:
        writer.write(row)


def _rows_of(table: Table) -> Iterator[dict[str, Any]]:
    for start in range(0, table.num_rows, 256):
        columns = table.take(slice(start, start + 256))
        names, lists = columns.keys(), columns.values()
        for values in zip(*lists, strict=True):
            yield dict(zip(names, values, strict=True))


def _order(seed: int | None, rows: int) -> NDArray[np.int64] | None:
    return None if seed is None else permutation(seed, 0, rows)
