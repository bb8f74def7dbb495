"""Turns records into batches of columns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock._core import DecodeFault, RecordChunk
from penstock.codec.decode_files import Decoded, FileBatches, FilePosition, file_chunks, local_paths
from penstock.codec.decode_plan import PlannedFeature, RowDecoder, compile_plan
from penstock.columns import Batch, unchecked_batch
from penstock.errors import MAY_BE_ABSENT, Locate, RowFault, malformed
from penstock.parallel import available_cpus
from penstock.schema import Schema, check_schema
from penstock.storage import StrPath

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
        """Return a batch, or where a row of it does not decode, those in front of it, and add the error to failure."""
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
    """Return what a decoder works with, for readers of this package that decode what they read."""
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


Allocate: TypeAlias = Callable[[str, tuple[int, ...], np.dtype[Any]], NDArray[Any]]
"""Makes the memory of a dense column: called with its name, shape and dtype."""


class Decoding:
    """The features of a schema that are decoded, compiled. Immutable, and safe to share between threads; pickles.

    Attributes:
        native: The native decoder, for readers that decode what they read; :meth:`batch_of` takes their answers.
        threads: How many threads decode side by side.
    """

    def __init__(
        self, schema: Schema, columns: Iterable[str] | None, validate_all: bool, strict: bool, threads: int
    ) -> None:
        self._schema, self._validate_all, self._strict, self.threads = schema, validate_all, strict, threads
        self._plan = compile_plan(schema, columns)
        self.native = _core.NativeDecoder(
            list(self._plan.native),
            default_bytes=self._plan.default_bytes,
            sequence_example=schema.is_sequence,
            validate_all=validate_all,
            strict=strict,
            threads=threads,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Decoding, (self._schema, self._names, self._validate_all, self._strict, self.threads)

    @property
    def _names(self) -> list[str]:
        return [planned.name for planned in self._plan.features]

    @property
    def schema(self) -> Schema:
        """The schema of the features that are decoded."""
        return self._schema.select(self._names)

    def open_files(
        self,
        paths: Sequence[str],
        size: int,
        *,
        verify: bool = True,
        max_record_bytes: int = 1 << 30,
        start: FilePosition = (0, 0, 0),
        rows: int | None = None,
        block_bytes: int = 1 << 19,
    ) -> FileBatches:
        """Do what ``Decoder.decode_files`` does, from ``start`` on and for ``rows`` rows, and tell where it stands."""
        native = _core.FileBatches(
            paths,
            self.native,
            size,
            verify=verify,
            max_record_bytes=max_record_bytes,
            threads=self.threads,
            block_bytes=block_bytes,
            start=start,
            rows=rows,
        )

        def reopen(place: FilePosition, count: int) -> FileBatches:
            return self.open_files(
                paths, count, verify=verify, max_record_bytes=max_record_bytes, start=place, rows=count
            )

        return FileBatches(native, paths, self.sound_batch_of, reopen)

    def by_row(self) -> RowDecoder:
        """Return what decodes the same features of one record at a time."""
        return RowDecoder(self._plan, self.native)

    def batch_of(self, decoded: Decoded, locate: Locate) -> Batch:
        """Make a batch of what the native decoder answered; ``locate`` tells where a row comes from."""
        try:
            return self.sound_batch_of(decoded)
        except RowFault as fault:
            raise malformed(fault, locate) from None

    def sound_batch_of(self, decoded: Decoded) -> Batch:
        """Make a batch of what the native decoder answered; a row that does not decode is a RowFault."""
        rows, columns, buffers, fault = decoded
        if fault is not None:
            name = None if fault.feature is None else self._plan.owners[fault.feature]
            raise RowFault(fault.row, self._describe(fault, name), name)
        built = {}
        for planned in self._plan.features:
            if planned.build is None:
                built[planned.name] = columns[planned.native[0]]
                continue
            try:
                built[planned.name] = planned.build([columns[i] for i in planned.native], buffers)
            except RowFault as found:
                raise RowFault(found.row, found.message, planned.name) from None
        return unchecked_batch(built, rows)

    def outputs(
        self, rows: int, out: Mapping[str, NDArray[Any]] | None, allocate: Allocate | None
    ) -> list[NDArray[Any] | None]:
        """Return the memory of each native column, None for what is not provided; nothing where none is provided."""
        if not out and allocate is None:
            return []
        given = out or {}
        unknown = given.keys() - set(self._names)
        if unknown:
            raise ValueError(f"out has {unknown.pop()!r}, which is not decoded")
        outputs: list[NDArray[Any] | None] = [None] * len(self._plan.native)
        for planned in self._plan.features:
            array = given.get(planned.name)
            if array is None and allocate is not None and _takes_memory(planned):
                array = allocate(planned.name, (rows, *_dense_shape(planned)), planned.feature.numpy_dtype)
            if array is not None:
                outputs[planned.native[0]] = _checked_memory(planned, array, rows)
        return outputs

    def _describe(self, fault: DecodeFault, name: str | None) -> str:
        kind = "a SequenceExample" if self._schema.is_sequence else "an Example"
        feature = self._schema[name] if name is not None else None
        match fault.kind:
            case "missing":
                return f"expected {feature!r}, found nothing; {MAY_BE_ABSENT}"
            case "wrong-kind":
                return f"expected {feature.kind if feature else ''}, found {fault.found_kind}"
            case "wrong-count":
                return f"expected {fault.expected} values, found {fault.found}"
            case "not-multiple":
                return f"expected a multiple of {fault.expected} values, found {fault.found}"
            case "raw-size":
                return f"expected {fault.expected} raw bytes, found {fault.found}"
            case "out-of-range":
                return f"found an integer that {feature.dtype if feature else ''} does not hold"
            case "inexact":
                return f"found a float that {feature.dtype if feature else ''} does not hold exactly"
            case "other":
                return f"expected {kind}, found another message: none of its fields is a feature"
            case "too-large":
                return f"expected {kind} below 2 GiB, found {fault.found} bytes"
            case _:
                return f"expected {kind}, found malformed bytes"


def _takes_memory(planned: PlannedFeature) -> bool:
    """Whether the caller may provide a column's memory: dense numbers, which the native decoder stores as they are."""
    return planned.build is None


def _dense_shape(planned: PlannedFeature) -> tuple[int, ...]:
    return tuple(size or 0 for size in planned.feature.shape)


def _checked_memory(planned: PlannedFeature, array: NDArray[Any], rows: int) -> NDArray[Any]:
    if not _takes_memory(planned):
        raise ValueError(f"out takes dense columns of numbers; {planned.name!r} is {planned.feature!r}")
    expected, dtype = (rows, *_dense_shape(planned)), planned.feature.numpy_dtype
    if array.dtype != dtype or array.shape != expected:
        raise ValueError(
            f"the memory for {planned.name!r} must be {dtype}{list(expected)}, found {array.dtype}{list(array.shape)}"
        )
    if not (array.flags.c_contiguous and array.flags.writeable):
        raise ValueError(f"the memory for {planned.name!r} must be C-contiguous and writable")
    return array
