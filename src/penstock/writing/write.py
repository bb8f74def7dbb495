"""Writes a dataset in one call, or appends to one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Any

from penstock.codec.encode_values import Float64
from penstock.compression.detect import by_extension
from penstock.manifest import SUFFIX, Manifest
from penstock.schema import Schema
from penstock.storage import StrPath, locate
from penstock.writing.destination import AppendDestination, Destination
from penstock.writing.engine import check_seed, permutation
from penstock.writing.hugging_face import class_labels, encoded_images
from penstock.writing.inputs import (
    Table,
    as_table,
    count_rows,
    is_dataset,
    mapped_rows,
    open_source,
    peek,
    row_of,
    schema_of_table,
    traced,
)
from penstock.writing.layout import bytes_of, check_shard_sizes, open_destination
from penstock.writing.rewrite import rewrite, shuffled
from penstock.writing.write_mapped import write_mapped_elements
from penstock.writing.writer import Writer, expect, write_block, write_whole

_ROWS_AT_ONCE = 8192
Row = Mapping[str, Any]


def write(
    path: StrPath,
    data: Any,
    *,
    schema: Schema | None = None,
    shards: int | None = None,
    rows_per_shard: int | None = None,
    shard_bytes: int | str | None = None,
    part: str | int | None = None,
    compression: str | None = "",
    level: int = 2,
    shuffle: int | None = None,
    map: Callable[[dict[str, Any]], Row] | None = None,
    replace: bool = False,
    float64: Float64 | None = None,
    progress: bool = True,
    sync: bool = False,
    memory: int | str | None = None,
) -> Manifest:
    """Write a dataset: shards, and a manifest that describes them.

    >>> ps.write("digits", {"image": np.zeros((10, 8, 8), np.uint8), "label": np.arange(10)}, shards=2)
    <Manifest of 10 records in 2 shards, 1,130 bytes: image, label>

    Rows keep their order over the shards, unless they are shuffled.

    Args:
        path: The name of the dataset: ``data/train`` has the shards ``data/train-00000-of-00008.tfrecord`` ... and the
            manifest ``data/train.penstock.json``. With an extension, ``train.tfrecord``, it is one file of that
            name. Also a URL.
        data: Columns (a mapping of names to arrays, a batch, an Arrow table, a pandas or Polars frame), rows (a list or
            an iterator of mappings), an iterator of batches, such as an Arrow reader; or a dataset: of Penstock, a
            ``tf.data.Dataset``, a torch ``Dataset`` or ``DataLoader``, one of Hugging Face.
        schema: What the records hold. None takes that of a dataset, or of an Arrow table made from one, else infers it
            from the columns, or from the first rows. Values that the functions of a dataset did not change are copied
            as they are stored, and changed ones follow the stored features where they fit.
        shards: The number of files, 1 by default.
        rows_per_shard: Rows in each file, instead of ``shards``; the last one has the rest.
        shard_bytes: Size of each file before compression, instead of ``shards``: bytes, or ``"256MB"``. A file ends
            with the row that brings it to this size.
        part: Write a part of the dataset, one of any number, under this name or number; :func:`commit` makes a dataset
            of the parts.
        compression: ``"GZIP"``, ``"ZLIB"``, ``"SNAPPY"`` or ``""`` (none).
        level: 0 to 9, for GZIP and ZLIB.
        shuffle: A seed. Data in memory is shuffled as a whole; a stream in windows of about 64 MB and at most 65,536
            rows, batches each in itself.
        map: A function from row to row, called before writing, such as one that resizes an image.
        replace: Replace a dataset of the same name; without, it is an error if there is one.
        float64: How arrays of float64 are stored: ``"float32"`` rounds them, ``"raw"`` keeps them. None raises an
            error.
        progress: Show a progress bar where standard error is a terminal.
        sync: Wait until the shards are on the disk.
        memory: Copy the records of a dataset as they are stored, with at most this much memory, bytes or ``"1GB"``, and
            32 bytes for each record: after ``shuffle()``, ``sort()``, ``unique()``, ``split()``, ``select()`` and the
            like, without a function. What does not fit goes through temporary files beside the output.

    Returns:
        The manifest; that of a ``part`` is for :func:`commit`.
    """
    if memory is not None:
        if part is not None or shuffle is not None or map is not None or schema is not None:
            raise ValueError("memory= copies records as they are stored: leave out part, shuffle, map and schema")
        if not is_dataset(data):
            raise TypeError(f"memory= takes a Dataset, not {type(data).__name__}")
        at_most = bytes_of("memory", memory)
        sizes = check_shard_sizes(shards, rows_per_shard, shard_bytes)
        destination = open_destination(path, sizes, compression=compression, level=level, replace=replace, sync=sync)
        if not destination.is_local:
            raise ValueError("memory= writes to a local disk, with temporary files on it: copy the output from there")
        return rewrite(data._stored_rows(), destination, sizes, memory=at_most, progress=progress)
    open_writer = partial(
        Writer,
        path,
        shards=shards,
        rows_per_shard=rows_per_shard,
        shard_bytes=shard_bytes,
        part=part,
        compression=compression,
        level=level,
        replace=replace,
        float64=float64,
        progress=progress,
        sync=sync,
    )
    return _write(open_writer, data, schema, shuffle, map, float64)


def append(
    path: StrPath,
    data: Any,
    *,
    shards: int | None = None,
    rows_per_shard: int | None = None,
    shard_bytes: int | str | None = None,
    compression: str | None = None,
    level: int = 2,
    shuffle: int | None = None,
    map: Callable[[dict[str, Any]], Row] | None = None,
    float64: Float64 | None = None,
    progress: bool = True,
    sync: bool = False,
) -> Manifest:
    """Add shards to a dataset.

    >>> ps.write("log", {"step": [0, 1, 2]})
    <Manifest of 3 records in 1 shard, 99 bytes: step>
    >>> ps.append("log", {"step": [3, 4]})
    <Manifest of 5 records in 2 shards, 165 bytes: step>

    Readers see all of the new rows or none: the new manifest replaces the old one when the shards are complete. No
    existing file changes, and the rows follow those of the dataset.

    Args:
        path: The name of the dataset, as for :func:`write`.
        data: As for :func:`write`; it is written by the schema of the dataset.
        shards: The number of new files, 1 by default.
        rows_per_shard: As for :func:`write`.
        shard_bytes: As for :func:`write`.
        compression: As for :func:`write`; None: as the last shard of the dataset.
        level: As for :func:`write`.
        shuffle: As for :func:`write`, for the new rows.
        map: As for :func:`write`.
        float64: As for :func:`write`.
        progress: As for :func:`write`.
        sync: As for :func:`write`.

    Returns:
        The manifest of the whole dataset.

    Raises:
        FileNotFoundError: There is no such dataset.
        SchemaError: The rows do not fit the schema of the dataset.
    """
    before = Manifest.load(locate(path)[1] + SUFFIX)
    if compression is None:
        compression = by_extension(before.shards[-1].name) if before.shards else ""
    open_writer = partial(
        _Appender,
        path,
        shards=shards,
        rows_per_shard=rows_per_shard,
        shard_bytes=shard_bytes,
        compression=compression,
        level=level,
        float64=float64,
        progress=progress,
        sync=sync,
    )
    return _write(open_writer, data, before.schema, shuffle, map, float64)


class _Appender(Writer):
    """Writes further shards of a dataset."""

    def _open_destination(self, path: StrPath, part: str | int | None, **options: Any) -> Destination:
        return AppendDestination(path, **options)


def _write(
    open_writer: Callable[..., Writer],
    data: Any,
    schema: Schema | None,
    shuffle: int | None,
    map: Callable[[dict[str, Any]], Row] | None,
    float64: Float64 | None,
) -> Manifest:
    check_seed(shuffle)
    num_rows = count_rows(data)
    if is_dataset(data):
        data = data if map is None else mapped_rows(data, map)
        map = None
        stored = data._as_stored()
        if stored is None or schema not in (None, stored[1]):
            elements, stored_schema = traced(data)
            with closing(elements), open_writer(schema=schema, shuffle=shuffle) as writer:
                expect(writer, num_rows=num_rows)
                write_mapped_elements(writer, elements, row_of, stored_schema, float64)
            return writer.manifest
        rewritten = data._rewritten_rows()
        if rewritten is not None:
            with closing(rewritten), open_writer(schema=stored[1], shuffle=shuffle) as writer:
                expect(writer, num_rows=num_rows)
                for block in rewritten if shuffle is None else shuffled(rewritten, shuffle):
                    write_block(writer, block)
            return writer.manifest
        data, schema = stored
    elif schema is None and map is None:
        schema = schema_of_table(data)
    labels = {} if map is not None or schema is not None else class_labels(data)
    images = None if map is not None else encoded_images(data, schema)
    data, known = images or (data, {})
    known = {**known, **labels}
    source = open_source(data)
    if not isinstance(source, Iterator) and map is None:
        with open_writer(schema=schema) as writer:
            write_whole(writer, source, None if shuffle is None else permutation(shuffle, 0, source.num_rows))
        return writer.manifest
    row_numbers = None
    # Tables are shuffled each in itself, and those of images are small.
    by_row = images is not None and shuffle is not None
    rows_in_memory = isinstance(data, list | tuple) and len(data) > 0 and as_table(data[0]) is None
    if shuffle is not None and rows_in_memory:
        row_numbers = permutation(shuffle, 0, len(data)).tolist()
        source, shuffle = iter([data[row] for row in row_numbers]), None
    with open_writer(schema=schema, shuffle=shuffle) as writer:
        expect(writer, num_rows=num_rows, row_numbers=row_numbers, features=known)
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
