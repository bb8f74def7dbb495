"""Reads files as they are, from a row to the last."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing

import numpy as np

from penstock._core import RecordChunk
from penstock.codec.decoder import decoding_of
from penstock.columns import Batch
from penstock.dataset.source.source import Source
from penstock.reader import RecordReader


def can_stream(source: Source, first_row: int) -> bool:
    """Whether files can be read as they are from a row on, at no cost of finding it."""
    shards = source.shards
    if source.on_error != "raise" or source.allocate is not None:
        return False  # around damage, it takes an index; native threads cannot ask Python for memory
    return (first_row == 0 and not shards.indexed) or shards.local_and_plain


def stream_batches(source: Source, size: int, first_row: int) -> Generator[Batch, None, None]:
    """Decode the rows from ``first_row`` on in batches; they reach over the ends of files."""
    shards, reading = source.shards, source.shards.reading
    decoder = source.new_decoder(reading.threads)
    if not shards.local_and_plain:
        yield from decoder.decode_batches(_chunks(source), size)
        return
    start = (0, 0, 0)
    if first_row:
        if first_row >= shards.rows:
            return
        shard, number = (int(found[0]) for found in shards.split(np.array([first_row])))
        start = (shard, int(shards.index(shard).places(np.array([number]))[0][0]), number)
    batches = decoding_of(decoder).open_files(
        shards.paths, size, verify=reading.verify, max_record_bytes=reading.max_record_bytes, start=start
    )
    with closing(batches):
        yield from batches


def _chunks(source: Source) -> Iterator[RecordChunk]:
    reading = source.shards.reading
    for path in source.shards.paths:
        yield from RecordReader(
            path,
            compression=reading.compression,
            verify=reading.verify,
            max_record_bytes=reading.max_record_bytes,
            threads=reading.threads,
        ).chunks()
