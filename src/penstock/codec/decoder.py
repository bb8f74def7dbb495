"""Turns records into batches of columns."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from numpy.typing import NDArray

from penstock import _core
from penstock._core import RecordChunk
from penstock.codec.decoding import Allocate, Decoding
from penstock.codec.file_batches import Decoded, file_chunks, local_paths
from penstock.codec.row_fault import Locate, RowFault, malformed
from penstock.columns import Batch
from penstock.cpus import available_cpus
from penstock.files import StrPath
from penstock.schema import Schema, check_schema

Records: TypeAlias = RecordChunk | Sequence[RecordChunk] | Sequence[bytes]

# Above this, columns get their memory when the rows that are really there are counted.
_LARGEST_BATCH_BYTES = 256 << 20


class Decoder:
    """Decode records into columns by a schema. Built once, used for many batches; safe to share between threads.

    >>> decoder = ps.Decoder(ps.Schema({"label": ps.Feature("int64")}))
    >>> decoder.decode([example])["label"]
    array([7])

    Args:
        schema: What the records hold.
        columns: The features to decode; the others are skipped, at the cost of skipping. None: all.
        validate: ``"requested"`` checks the features that are decoded; ``"all"`` the whole record.
        strict: Refuse a record that has fields, and no feature among them: TensorFlow takes another message for an
            Example without features.
        threads: Native threads for a call; by default up to 4.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        columns: Iterable[str] | None = None,
        validate: Literal["requested", "all"] = "requested",
        strict: bool = False,
        threads: int | None = None,
    ) -> None:
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, found {threads}")
        if validate not in ("requested", "all"):
            raise ValueError(f"validate must be 'requested' or 'all', not {validate!r}")
        threads = threads or min(4, available_cpus())
        self._decoding = Decoding(check_schema(schema), columns, validate == "all", strict, threads)

    @property
    def schema(self) -> Schema:
        """The schema of the features that are decoded."""
        return self._decoding.schema

    def decode(
        self, records: Records, *, out: Mapping[str, NDArray[Any]] | None = None, allocate: Allocate | None = None
    ) -> Batch:
        """Decode many records in one native call, on several threads.

        ``out`` gives memory for dense columns of numbers: arrays of the right dtype and shape ``[n, *shape]``,
        C-contiguous and writable. They are filled, and are the columns of the batch. ``allocate(name, shape, dtype)``
        makes such an array for every dense column that ``out`` does not give: in pinned or shared memory, say.
        """
        chunks, decoding = _as_chunks(records), self._decoding
        outputs = decoding.outputs(sum(map(len, chunks)), out, allocate)
        return decoding.batch_of(decoding.native.decode(chunks, outputs), _locator(chunks))

    def decode_batches(
        self, chunks: Iterable[RecordChunk], size: int, *, allocate: Allocate | None = None
    ) -> Iterator[Batch]:
        """Decode a stream of chunks in batches of ``size`` rows, ahead of the consumer; the last may be smaller.

        Where the stream raises, or a record does not decode, the rows before come first, and then the error.
        """
        _check_size(size)
        decoding, failure, undecoded = self._decoding, list[Exception](), list[Exception]()
        # One batch for each thread, and no more: what is decoded further ahead has left the caches when it is used.
        most_ahead = max(1, decoding.threads - 1)
        queue = _core.DecodeQueue(decoding.native, decoding.threads)
        try:
            ahead: deque[list[RecordChunk]] = deque()
            parts = rebatch(_until_failure(chunks, failure), size)
            while not undecoded:
                while len(ahead) <= most_ahead and (part := next(parts, None)) is not None:
                    queue.submit(part, decoding.outputs(sum(map(len, part)), None, allocate))
                    ahead.append(part)
                part = None  # or its memory could not be used again while the consumer works
                if not ahead:
                    break
                yield self._sound(queue.next(), ahead.popleft(), allocate, undecoded)
        finally:
            queue.close()
        if undecoded or failure:
            raise [*failure, *undecoded][-1]

    def _sound(
        self, decoded: Decoded, part: list[RecordChunk], allocate: Allocate | None, failure: list[Exception]
    ) -> Batch:
        """Answer a batch, or where a row of it does not decode, those in front of it, and add the error to failure."""
        decoding = self._decoding
        try:
            return decoding.sound_batch_of(decoded)
        except RowFault as fault:
            error, count = malformed(fault, _locator(part)), fault.row
        if not count:
            raise error
        failure.append(error)
        front = next(rebatch(part, count))
        again = decoding.native.decode(front, decoding.outputs(count, None, allocate))
        return self._sound(again, front, allocate, failure)

    def decode_files(
        self,
        paths: Sequence[StrPath],
        size: int,
        *,
        verify: bool = True,
        max_record_bytes: int = 1 << 30,
        allocate: Allocate | None = None,
    ) -> Iterator[Batch]:
        """Decode local uncompressed files, one after another, in batches of ``size`` rows, ahead of the consumer.

        Each native thread decodes what it has just read and checked: the fastest way from files to columns. Batches go
        on from one file into the next; the last may be smaller. Damage and records that do not decode raise, after the
        rows before them.
        """
        _check_size(size)
        files = local_paths(paths)
        if allocate is None and size * self._decoding.native.dense_row_bytes <= _LARGEST_BATCH_BYTES:
            return self._decoding.open_files(files, size, verify=verify, max_record_bytes=max_record_bytes)
        chunks = file_chunks(files, verify=verify, max_record_bytes=max_record_bytes, threads=self._decoding.threads)
        return self.decode_batches(chunks, size, allocate=allocate)


def decoding_of(decoder: Decoder) -> Decoding:
    """Answer what a decoder works with, for readers of this package that decode what they read."""
    return decoder._decoding


def _check_size(size: int) -> None:
    if size < 1:
        raise ValueError(f"a batch has at least one row, not {size}")


def _until_failure(chunks: Iterable[RecordChunk], failure: list[Exception]) -> Iterator[RecordChunk]:
    """End where ``chunks`` raises, and leave the error in ``failure``."""
    try:
        yield from chunks
    except Exception as error:
        failure.append(error)


def rebatch(chunks: Iterable[RecordChunk], size: int) -> Iterator[list[RecordChunk]]:
    """Regroup chunks into lists of chunks that hold ``size`` records together; the last may hold fewer."""
    part: list[RecordChunk] = []
    room = size
    for chunk in chunks:
        start = 0
        while start < len(chunk):
            piece = chunk[start : start + room]
            part.append(piece)
            start += len(piece)
            room -= len(piece)
            if room == 0:
                yield part
                part, room = [], size
    if part:
        yield part


def _as_chunks(records: Records) -> list[RecordChunk]:
    if isinstance(records, RecordChunk):
        return [records]
    if isinstance(records, bytes | bytearray | memoryview):
        raise TypeError("records are a list, also where there is one: [record]")
    items = list(records)
    if items and isinstance(items[0], RecordChunk):
        return items  # type: ignore[return-value]
    return [_core.chunk_from_records(items)]


def _locator(chunks: list[RecordChunk]) -> Locate:
    def locate(row: int) -> tuple[str | None, int]:
        left = row
        for chunk in chunks:
            if left < len(chunk):
                return chunk.source or None, chunk.first_record + left
            left -= len(chunk)
        return None, row

    return locate
