"""The records of a dataset in its order, for copying them as they are stored, or with other columns."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial

import numpy as np

from penstock import _core
from penstock._core import RecordChunk
from penstock.dataset.export_arrow import keep_encoded
from penstock.dataset.order import Epoch, Ints
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.progress import Meter
from penstock.dataset.read_rows import ReadRows, start_cursor
from penstock.dataset.source.sequential import can_stream, stream_records
from penstock.writing.rewrite import RewrittenRows, StoredRows


def stored_rows(pipeline: Pipeline, epoch: int) -> StoredRows:
    """Return the records of an epoch.

    Raises:
        TypeError: Elements are not records as they are stored.
        ValueError: A record comes twice.
    """
    reads, stored = pipeline.start, keep_encoded(pipeline)
    is_plain = isinstance(reads, ReadRows) and reads.batches is None and not reads.filters and not pipeline.stages
    if not is_plain or stored is None or not isinstance(reads, ReadRows) or not reads.source.is_whole:
        raise TypeError(
            "memory= copies records as they are stored: without functions, conditions, batches, joined datasets, "
            "and with all columns under their names"
        )
    source, shards = reads.source, reads.source.shards
    if source.on_error != "raise":
        raise TypeError('memory= copies whole files: repair them first, or open the dataset with on_error="raise"')
    rows = None
    if not reads.rows.whole:
        which = Epoch(epoch)
        length = reads.rows.length(which)
        if length is None:
            raise ValueError("memory= needs a dataset that ends")
        rows = reads.rows.at(np.arange(length), which).rows
        taken = np.zeros(shards.rows, np.bool_)
        taken[rows] = True
        if np.count_nonzero(taken) != length:
            raise ValueError("memory= copies each record once at most, and repeat() or select() took one twice")
    indexes = [shards.index(number) for number in range(len(shards.paths))]
    lengths = [index.locations(np.arange(index.records))[1] for index in indexes]
    return StoredRows(
        shards.paths,
        shards.counts,
        np.concatenate([np.zeros(0, np.uint64), *lengths]),
        rows,
        shards.options,
        stored[1],
    )


def rewrite_of(pipeline: Pipeline) -> _core.EntryRewrite | None:
    """Return how records are copied to the columns of a pipeline; None where nothing changes, or their values count."""
    reads = pipeline.start
    if not isinstance(reads, ReadRows) or reads.batches is not None or pipeline.stages or reads.source.is_whole:
        return None
    source = reads.source
    if source.on_error != "raise" or source.allocate is not None:
        return None
    if reads.filters and not source.shards.seekable:
        return None  # which rows pass is known after they were read
    return source.rewrite()


def rewritten_rows(pipeline: Pipeline, change: _core.EntryRewrite, epoch: int) -> Generator[RewrittenRows, None, None]:
    """Yield the records of an epoch with other columns, many at once."""
    reads = pipeline.start
    assert isinstance(reads, ReadRows)
    source, run = reads.source, reads.rows.run
    if run is not None and not reads.filters and can_stream(source, run.start):
        for chunk in stream_records(source, run):
            yield RewrittenRows(chunk, change, partial(_locate, chunk))
        return
    reads.check_seeks()
    fetcher = source.open(reads.rows.reach)
    for rows in _rows_at_once(reads, epoch):
        chunks, inverse = fetcher.read(rows)
        yield RewrittenRows(_core.RecordPool(chunks).take(inverse), change, partial(source.shards.locate, rows))


def _locate(chunk: RecordChunk, row: int) -> tuple[str | None, int]:
    return chunk.source, chunk.first_record + row


def _rows_at_once(reads: ReadRows, epoch: int) -> Iterator[Ints]:
    """Yield the numbers of the rows of an epoch, in their order."""
    if reads.filters:
        tested = replace(reads, source=reads.filters[0].source)
        with closing(tested.open(start_cursor(epoch), Meter())) as blocks:
            for block in blocks:
                yield block.keys.rows
        return
    which, step = Epoch(epoch), 4 * reads.source.shards.rows_per_run
    position, end = 0, reads.rows.length(which)
    while end is None or position < end:
        stop = position + step if end is None else min(position + step, end)
        yield reads.rows.at(np.arange(position, stop), which).rows
        position = stop
