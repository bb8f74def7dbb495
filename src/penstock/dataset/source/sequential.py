"""Reads files front to back, from a given row."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from itertools import repeat

import numpy as np

from penstock._core import RecordChunk
from penstock.codec.decode_files import member_batches
from penstock.codec.decoder import Decoder
from penstock.columns import Batch
from penstock.dataset.order import Run
from penstock.dataset.source.row_source import RowSource
from penstock.errors import ManifestError
from penstock.records.reader import RecordReader


def can_stream(source: RowSource, first_row: int) -> bool:
    """Return whether reading files front to back from a row is the best way to read them."""
    shards = source.shards
    if source.on_error != "raise" or source.allocate is not None:
        return False  # skipping damage needs an index; native threads cannot call an allocator in Python
    if not shards.is_tfrecord:
        return False
    if shards.local_and_plain or (shards.local_members and first_row == 0):
        return True
    if shards.stored_restarts:
        return False  # threads inflate different parts
    # In a remote file, reading up to the row costs less than reading all of it for an index.
    return not shards.indexed and (first_row == 0 or shards.remote)


def stream_batches(source: RowSource, size: int, run: Run) -> Generator[Batch, None, None]:
    """Decode a run of rows in batches, across file boundaries."""
    left = None if run.stop is None else run.stop - run.start
    found = 0
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
            found += batch.num_rows
            yield batch
    _check_count(source, run.start, found)


def stream_records(source: RowSource, run: Run) -> Generator[RecordChunk, None, None]:
    """Read a run of rows as records, across file boundaries."""
    left = None if run.stop is None else run.stop - run.start
    if left is not None and left <= 0:
        return
    found = 0
    for chunk in chunks_from(source, run.start):
        if left is not None and found + len(chunk) >= left:
            yield chunk[: left - found]
            return
        found += len(chunk)
        yield chunk
    _check_count(source, run.start, found)


def _check_count(source: RowSource, start: int, found: int) -> None:
    """Raise where files that were read from a row to their end have fewer or more rows than their metadata says."""
    counts = source.shards.known_counts
    if counts is not None and found != max(0, sum(counts) - start):
        raise ManifestError(
            f"{source.shards.paths[0]}: the metadata lists {sum(counts)} records in this and the next "
            f"{len(source.shards.paths) - 1} files, found {found + start}: copy the dataset again"
        )


def _from_members(source: RowSource, decoder: Decoder, size: int) -> Generator[Batch, None, int | None]:
    """Decode gzip members on native threads, in whole batches; return the row from which a stream reader has to go on.

    None if all is read. The stream reader takes what is no whole member, and reports damage.
    """
    shards, options = source.shards, source.shards.options
    rows, last = 0, None
    members = member_batches(
        decoder._native,
        decoder._batch_or_fault,
        shards.paths,
        size,
        verify=options.verify,
        max_record_bytes=options.max_record_bytes,
        threads=options.thread_count,
    )
    with closing(members):
        for batch in members:
            if batch is None:
                return rows
            if batch.num_rows < size:
                last = batch  # or what comes before damage
                continue
            yield batch
            rows += size
    if last is not None:
        yield last
    return None


def _batches(source: RowSource, size: int, first_row: int) -> Generator[Batch, None, None]:
    shards, options = source.shards, source.shards.options
    decoder = source.new_decoder(options.thread_count)
    if not shards.local_and_plain:
        if first_row == 0 and shards.local_members:
            stopped_at = yield from _from_members(source, decoder, size)
            if stopped_at is None:
                return
            first_row = stopped_at
        yield from decoder.decode_batches(chunks_from(source, first_row), size)
        return
    start = (0, 0, 0)
    if first_row:
        if first_row >= shards.rows:
            return
        shard, number = (int(found[0]) for found in shards.split(np.array([first_row])))
        start = (shard, int(shards.index(shard).locations(np.array([number]))[0][0]), number)
    batches = decoder._open_files(
        shards.paths, size, verify=options.verify, max_record_bytes=options.max_record_bytes, start=start
    )
    with closing(batches):
        yield from batches


def chunks_from(source: RowSource, first_row: int) -> Iterator[RecordChunk]:
    """Read the records from a row on; files before it are skipped unopened if their counts are known."""
    shards, options = source.shards, source.shards.options
    to_skip = first_row
    for path, count in zip(shards.paths, shards.known_counts or repeat(None), strict=False):
        if count is not None and count <= to_skip:
            to_skip -= count
            continue
        reader = RecordReader._with_options(path, options)
        for chunk in reader.chunks():
            if to_skip < len(chunk):
                yield chunk[to_skip:] if to_skip else chunk
            to_skip = max(0, to_skip - len(chunk))
