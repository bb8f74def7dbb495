"""Turns records into batches of columns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock._core import DecodeFault, RecordChunk
from penstock.codec.file_batches import Decoded, FileBatches, Locate, Place, file_chunks, local_paths
from penstock.codec.plan import PlannedFeature, compile_plan
from penstock.codec.row_decoder import RowDecoder
from penstock.codec.row_fault import RowFault
from penstock.columns import Batch
from penstock.cpus import available_cpus
from penstock.errors import MalformedExampleError
from penstock.files import StrPath
from penstock.schema import Schema, check_schema

Records: TypeAlias = RecordChunk | Sequence[RecordChunk] | Sequence[bytes]

Allocate: TypeAlias = Callable[[str, tuple[int, ...], np.dtype[Any]], NDArray[Any]]
"""Makes the memory of a dense column: called with its name, shape and dtype."""

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
        threads: Native threads for a call; by default up to 4.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        columns: Iterable[str] | None = None,
        validate: Literal["requested", "all"] = "requested",
        threads: int | None = None,
    ) -> None:
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, found {threads}")
        if validate not in ("requested", "all"):
            raise ValueError(f"validate must be 'requested' or 'all', not {validate!r}")
        self._schema = check_schema(schema)
        self._plan = compile_plan(schema, columns)
        self._threads = threads or min(4, available_cpus())
        self._validate = validate
        self._native = _core.NativeDecoder(
            list(self._plan.native),
            default_bytes=self._plan.default_bytes,
            sequence_example=schema.is_sequence,
            validate_all=validate == "all",
            threads=self._threads,
        )

    @property
    def schema(self) -> Schema:
        """The schema of the features that are decoded."""
        return self._schema.select(planned.name for planned in self._plan.features)

    def decode(
        self, records: Records, *, out: Mapping[str, NDArray[Any]] | None = None, allocate: Allocate | None = None
    ) -> Batch:
        """Decode many records in one native call, on several threads.

        ``out`` gives memory for dense columns of numbers: arrays of the right dtype and shape ``[n, *shape]``,
        C-contiguous and writable. They are filled, and are the columns of the batch. ``allocate(name, shape, dtype)``
        makes such an array for every dense column that ``out`` does not give: in pinned or shared memory, say.
        """
        chunks = _as_chunks(records)
        return self.batch_of(self._native.decode(chunks, self._outputs(chunks, out or {}, allocate)), _locator(chunks))

    def decode_batches(
        self, chunks: Iterable[RecordChunk], size: int, *, allocate: Allocate | None = None
    ) -> Iterator[Batch]:
        """Decode a stream of chunks in batches of ``size`` rows, ahead of the consumer; the last may be smaller.

        Where the stream raises, the rows before come first, and then the error.
        """
        _check_size(size)
        failure: list[Exception] = []
        # One batch for each thread, and no more: what is decoded further ahead has left the caches when it is used.
        most_ahead = max(1, self._threads - 1)
        queue = _core.DecodeQueue(self._native, self._threads)
        try:
            ahead: deque[list[RecordChunk]] = deque()
            for part in rebatch(_until_failure(chunks, failure), size):
                queue.submit(part, self._outputs(part, {}, allocate))
                ahead.append(part)
                del part  # or its memory could not be used again while the consumer works
                if len(ahead) > most_ahead:
                    yield self.batch_of(queue.next(), _locator(ahead.popleft()))
            while ahead:
                yield self.batch_of(queue.next(), _locator(ahead.popleft()))
        finally:
            queue.close()
        if failure:
            raise failure[0]

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
        on from one file into the next; the last may be smaller. Damage raises, after the rows before it.
        """
        _check_size(size)
        files = local_paths(paths)
        if allocate is None and size * self._native.dense_row_bytes <= _LARGEST_BATCH_BYTES:
            return self.open_files(files, size, verify=verify, max_record_bytes=max_record_bytes)
        chunks = file_chunks(files, verify=verify, max_record_bytes=max_record_bytes, threads=self._threads)
        return self.decode_batches(chunks, size, allocate=allocate)

    def open_files(
        self,
        paths: Sequence[str],
        size: int,
        *,
        verify: bool = True,
        max_record_bytes: int = 1 << 30,
        start: Place = (0, 0, 0),
        rows: int | None = None,
        block_bytes: int = 1 << 19,
    ) -> FileBatches:
        """Do what :meth:`decode_files` does, from ``start`` on and for ``rows`` rows, and tell where it stands."""
        native = _core.FileBatches(
            paths,
            self._native,
            size,
            verify=verify,
            max_record_bytes=max_record_bytes,
            threads=self._threads,
            block_bytes=block_bytes,
            start=start,
            rows=rows,
        )
        return FileBatches(native, paths, self.batch_of)

    def __reduce__(self) -> tuple[Any, ...]:
        names = [planned.name for planned in self._plan.features]
        return _rebuild, (self._schema, names, self._validate, self._threads)

    @property
    def native(self) -> _core.NativeDecoder:
        """The native decoder, for native readers that decode what they read; :meth:`batch_of` takes their answers."""
        return self._native

    def by_row(self) -> RowDecoder:
        """Answer a decoder of the same features for one record at a time."""
        return RowDecoder(self._plan, self._native)

    def batch_of(self, decoded: Decoded, locate: Locate) -> Batch:
        """Make a batch of what the native decoder answered; ``locate`` tells where a row comes from."""
        rows, columns, buffers, fault = decoded
        if fault is not None:
            raise self._error(fault, locate)
        built = {}
        for planned in self._plan.features:
            if planned.build is None:
                built[planned.name] = columns[planned.native[0]]
                continue
            try:
                built[planned.name] = planned.build([columns[i] for i in planned.native], buffers)
            except RowFault as found:
                raise _error_at(locate(found.row), planned.name, found.message) from None
        return Batch.of_equal_columns(built, rows)

    def _outputs(
        self, chunks: list[RecordChunk], out: Mapping[str, NDArray[Any]], allocate: Allocate | None
    ) -> list[Any]:
        """Answer an array or None for each native column, or nothing where the caller provides none."""
        if not out and allocate is None:
            return []
        unknown = out.keys() - {planned.name for planned in self._plan.features}
        if unknown:
            raise ValueError(f"out has {unknown.pop()!r}, which is not decoded")
        return self.outputs(sum(map(len, chunks)), out, allocate)

    def outputs(self, rows: int, out: Mapping[str, NDArray[Any]], allocate: Allocate | None) -> list[Any]:
        """Answer, for each native column, the memory that the caller provides, or None."""
        outputs: list[Any] = [None] * len(self._plan.native)
        for planned in self._plan.features:
            array = out.get(planned.name)
            if array is None and allocate is not None and _takes_memory(planned):
                array = allocate(planned.name, (rows, *_dense_shape(planned)), planned.feature.numpy_dtype)
            if array is not None:
                outputs[planned.native[0]] = _checked_memory(planned, array, rows)
        return outputs

    def _error(self, fault: DecodeFault, locate: Locate) -> MalformedExampleError:
        name = None if fault.feature is None else self._plan.owners[fault.feature]
        return _error_at(locate(fault.row), name, self._describe(fault, name))

    def _describe(self, fault: DecodeFault, name: str | None) -> str:
        kind = "a SequenceExample" if self._schema.is_sequence else "an Example"
        feature = self._schema[name] if name is not None else None
        match fault.kind:
            case "missing":
                return f"expected {feature!r}, found nothing; optional=True or a default lets it be absent"
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
            case "too-large":
                return f"expected {kind} below 2 GiB, found {fault.found} bytes"
            case _:
                return f"expected {kind}, found malformed bytes"


def _check_size(size: int) -> None:
    if size < 1:
        raise ValueError(f"a batch has at least one row, not {size}")


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


def _error_at(place: tuple[str | None, int], name: str | None, message: str) -> MalformedExampleError:
    path, record = place
    parts = [path, f"record {record}", None if name is None else f'feature "{name}"']
    where = ", ".join(part for part in parts if part is not None)
    return MalformedExampleError(f"{message}: {where}", path=path, record=record, feature=name)


def _rebuild(schema: Schema, names: list[str], validate: Literal["requested", "all"], threads: int) -> Decoder:
    return Decoder(schema, columns=names, validate=validate, threads=threads)
