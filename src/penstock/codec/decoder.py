"""Turns records into batches of columns."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock._core import DecodeFault, RecordChunk
from penstock.codec.plan import PlannedFeature, compile_plan
from penstock.codec.row_fault import RowFault
from penstock.columns import Batch
from penstock.errors import MalformedExampleError
from penstock.schema import Schema

Records: TypeAlias = RecordChunk | Sequence[RecordChunk] | Sequence[bytes]

Allocate: TypeAlias = Callable[[str, tuple[int, ...], np.dtype[Any]], NDArray[Any]]
"""Makes the memory of a dense column: called with its name, shape and dtype."""

_Native: TypeAlias = tuple[int, list[Any], list[NDArray[np.uint8]], DecodeFault | None]


class Decoder:
    """Decode records into columns by a schema. Built once, used for many batches; safe to share between threads.

    >>> decoder = ps.Decoder(ps.Schema({"label": ps.Feature("int64")}))
    >>> decoder.decode([example])["label"]
    array([7])

    Args:
        schema: What the records hold.
        features: Names to decode; the others are skipped, at the cost of skipping. None: all.
        validate: ``"requested"`` checks the features that are decoded; ``"all"`` the whole record.
        threads: Native threads for a call; by default up to 4.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        features: Iterable[str] | None = None,
        validate: Literal["requested", "all"] = "requested",
        threads: int | None = None,
    ) -> None:
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, found {threads}")
        if validate not in ("requested", "all"):
            raise ValueError(f"validate must be 'requested' or 'all', not {validate!r}")
        self._schema = schema
        self._plan = compile_plan(schema, features)
        self._threads = threads or min(4, os.cpu_count() or 1)
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
        return self._batch(chunks, self._native.decode(chunks, self._outputs(chunks, out or {}, allocate)))

    def decode_batches(
        self, chunks: Iterable[RecordChunk], size: int, *, allocate: Allocate | None = None
    ) -> Iterator[Batch]:
        """Decode a stream of chunks in batches of ``size`` rows, ahead of the consumer; the last may be smaller.

        Where the stream raises, the rows before come first, and then the error.
        """
        if size < 1:
            raise ValueError(f"a batch has at least one row, not {size}")
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
                    yield self._batch(ahead.popleft(), queue.next())
            while ahead:
                yield self._batch(ahead.popleft(), queue.next())
        finally:
            queue.close()
        if failure:
            raise failure[0]

    def __reduce__(self) -> tuple[Any, ...]:
        names = [planned.name for planned in self._plan.features]
        return _rebuild, (self._schema, names, self._validate, self._threads)

    def _batch(self, chunks: list[RecordChunk], native: _Native) -> Batch:
        rows, columns, buffers, fault = native
        if fault is not None:
            raise self._error(chunks, fault)
        built = {}
        for planned in self._plan.features:
            if planned.build is None:
                built[planned.name] = columns[planned.native[0]]
                continue
            try:
                built[planned.name] = planned.build([columns[i] for i in planned.native], buffers)
            except RowFault as found:
                raise _error_at(chunks, found.row, planned.name, found.message) from None
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
        rows = sum(map(len, chunks))
        outputs: list[Any] = [None] * len(self._plan.native)
        for planned in self._plan.features:
            array = out.get(planned.name)
            if array is None and allocate is not None and _takes_memory(planned):
                array = allocate(planned.name, (rows, *_dense_shape(planned)), planned.feature.numpy_dtype)
            if array is not None:
                outputs[planned.native[0]] = _checked_memory(planned, array, rows)
        return outputs

    def _error(self, chunks: list[RecordChunk], fault: DecodeFault) -> MalformedExampleError:
        name = None if fault.feature is None else self._plan.owners[fault.feature]
        return _error_at(chunks, fault.row, name, self._describe(fault, name))

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


def _error_at(chunks: list[RecordChunk], row: int, name: str | None, message: str) -> MalformedExampleError:
    path, record = None, row
    for chunk in chunks:
        if row < len(chunk):
            path, record = chunk.source or None, chunk.first_record + row
            break
        row -= len(chunk)
    parts = [path, f"record {record}", None if name is None else f'feature "{name}"']
    where = ", ".join(part for part in parts if part is not None)
    return MalformedExampleError(f"{message}: {where}", path=path, record=record, feature=name)


def _rebuild(schema: Schema, names: list[str], validate: Literal["requested", "all"], threads: int) -> Decoder:
    return Decoder(schema, features=names, validate=validate, threads=threads)
