"""Reads all files from the first to the last, without an index."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from penstock._core import RecordChunk
from penstock.columns import Batch
from penstock.dataset.source.source import Source
from penstock.reader import RecordReader


def stream_batches(source: Source, size: int) -> Generator[Batch, None, None]:
    """Decode all rows in batches; they reach over the ends of files."""
    decoder = source.new_decoder(source.shards.reading.threads)
    yield from decoder.decode_batches(_chunks(source), size)


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
