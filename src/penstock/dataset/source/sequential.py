"""Reads files as they are, from a row on."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from itertools import repeat

import numpy as np

from penstock._core import RecordChunk
from penstock.columns import Batch
from penstock.dataset.order import Run
from penstock.dataset.source.row_source import RowSource
from penstock.records.reader import RecordReader


def can_stream(source: RowSource, first_row: int) -> bool:
    """Whether files are best read as they are from a row on."""
    shards = source.shards
    if source.on_error != "raise" or source.allocate is not None:
        return False  # around damage, it takes an index; native threads cannot ask Python for memory
    if shards.local_and_plain:
        return True
    # Of a remote file, what is in front of the row is less to read than all of it for an index.
    return not shards.indexed and (first_row == 0 or shards.remote)


def stream_batches(source: RowSource, size: int, run: Run) -> Generator[Batch, None, None]:
    """Decode a run of rows in batches; they reach over the ends of files."""
    left = None if run.stop is None else run.stop - run.start
    if left is not None:
        if left <= 0:
            return
        size = min(size, left)
    with closing(_batches(source, size, run.start)) as batches:
        for batch in batches:
            if left is not None and batch.num_rows >= left:
                yield batch if batch.num_rows == left else batch.take(slice(left))
                return
            left = None if left is None else left - batch.num_rows
            yield batch


def _batches(source: RowSource, size: int, first_row: int) -> Generator[Batch, None, None]:
    shards, reading = source.shards, source.shards.reading
    decoder = source.new_decoder(reading.threads)
    if not shards.local_and_plain:
        yield from decoder.decode_batches(_chunks(source, first_row), size)
        return
    start = (0, 0, 0)
    if first_row:
        if first_row >= shards.rows:
            return
        shard, number = (int(found[0]) for found in shards.split(np.array([first_row])))
        start = (shard, int(shards.index(shard).places(np.array([number]))[0][0]), number)
    batches = decoder._open_files(
        shards.paths, size, verify=reading.verify, max_record_bytes=reading.max_record_bytes, start=start
    )
    with closing(batches):
        yield from batches


def _chunks(source: RowSource, first_row: int) -> Iterator[RecordChunk]:
    """Read the records from a row on; of files whose records are counted, none is opened that lies in front of it."""
    shards, reading = source.shards, source.shards.reading
    before = first_row
    for path, count in zip(shards.paths, shards.told or repeat(None), strict=False):
        if count is not None and count <= before:
            before -= count
            continue
        reader = RecordReader(
            path,
            compression=reading.compression,
            verify=reading.verify,
            max_record_bytes=reading.max_record_bytes,
            threads=reading.threads,
        )
        for chunk in reader.chunks():
            if before < len(chunk):
                yield chunk[before:] if before else chunk
            before = max(0, before - len(chunk))
