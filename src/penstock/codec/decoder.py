"""Decode records into batches of columns."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock._core import DecodedColumns, DecodeFault, RecordChunk
from penstock.codec.decode_files import FileBatches, FilePosition, file_chunks, local_paths
from penstock.codec.decode_plan import PlannedColumns, PlannedFeature, RowDecoder, compile_plan
from penstock.columns import Batch, unbuilt_batch, unchecked_batch, with_paths
from penstock.errors import MAY_BE_ABSENT, Locate, RowFault, malformed
from penstock.parallel import available_cpus
from penstock.schema import Schema, check_schema
from penstock.storage import StrPath

Records: TypeAlias = RecordChunk | Sequence[RecordChunk] | Sequence[bytes]
Allocate: TypeAlias = Callable[[str, tuple[int, ...], np.dtype[Any]], NDArray[Any]]
"""Allocates a dense column from its name, shape and dtype."""
# In larger batches, columns are allocated once the rows that are really there have been counted.
_LARGEST_BATCH_BYTES = 256 << 20


class Decoder:
    """Decode records into columns by a schema. Build it once and reuse it; it is safe to share between threads.

    Args:
        schema: The features of the records.
        columns: The features to decode; the others are skipped. None decodes all.
        validate: ``"requested"`` checks the features that are decoded, ``"all"`` the whole record.
        strict: Raise for a record that has fields but no features. TensorFlow reads such a record, which is another
            protobuf message, as an Example without features.
        threads: The number of native threads of a call; by default one per CPU
            that the process may use.

    Raises:
        SchemaError: ``columns`` names a feature that the schema does not have.

    Example:
        >>> schema = ps.Schema({"label": int})
        >>> records = ps.Encoder(schema).encode({"label": [7, 8]})
        >>> ps.Decoder(schema).decode(records)["label"]
        array([7, 8])
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
        self._full_schema = check_schema(schema)
        self._validate, self._strict = validate, strict
        self._given_threads, self._threads = threads, threads or available_cpus()
        self._plan = compile_plan(schema, columns, self._threads)
        # For readers of this package, which decode what they have just read; :meth:`_batch` takes the results.
        self._native = _core.NativeDecoder(
            list(self._plan.native),
            default_bytes=self._plan.default_bytes,
            sequence_example=schema.is_sequence,
            validate_all=validate == "all",
            strict=strict,
            threads=self._threads,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        options: dict[str, Any] = {"columns": self._names, "validate": self._validate, "strict": self._strict}
        options["threads"] = self._given_threads
        return functools.partial(Decoder, **options), (self._full_schema,)

    @property
    def schema(self) -> Schema:
        """The schema of the features that are decoded.

        Example:
            >>> list(ps.Decoder(ps.Schema({"label": int, "name": str}), columns=["name"]).schema)
            ['name']
        """
        return self._full_schema.select(self._names)

    def decode(
        self, records: Records, *, out: Mapping[str, NDArray[Any]] | None = None, allocate: Allocate | None = None
    ) -> Batch:
        """Decode many records in one native call, on several threads.

        Args:
            records: Records as bytes, a chunk of records, or several chunks.
            out: Arrays to decode dense numeric columns into, with rows of up to 64 MiB: C-contiguous, writable, of the
                feature's dtype, and of shape ``[n, *shape]``. They become the columns of the batch.
            allocate: A function ``allocate(name, shape, dtype)`` that returns such an array, in pinned or shared
                memory for example. It is called for each dense numeric column that is not in ``out``.

        Raises:
            MalformedExampleError: A record does not fit the schema. The error has its path, record number and feature.

        Example:
            >>> schema = ps.Schema({"label": int})
            >>> records = ps.Encoder(schema).encode({"label": [7, 8]})
            >>> labels = np.empty(2, np.int64)
            >>> batch = ps.Decoder(schema).decode(records, out={"label": labels})
            >>> labels
            array([7, 8])
        """
        chunks = _as_chunks(records)
        outputs = self._outputs(sum(map(len, chunks)), out, allocate)
        return self._batch(self._native.decode(chunks, outputs), _locator(chunks))

    def decode_batches(
        self, chunks: Iterable[RecordChunk], size: int, *, allocate: Allocate | None = None
    ) -> Iterator[Batch]:
        """Decode a stream of chunks into batches of ``size`` rows, ahead of the consumer. The last may be smaller.

        If ``chunks`` raises or a record does not decode, the rows before the error come first.

        Args:
            chunks: Chunks of records, such as ``ps.RecordReader(path).chunks()``.
            size: The number of rows of a batch.
            allocate: Allocates dense numeric columns, as in :meth:`decode`.

        Example:
            >>> schema = ps.Schema({"label": int})
            >>> with ps.RecordWriter("labels.tfrecord") as writer:
            ...     for record in ps.Encoder(schema).encode({"label": [7, 8, 9]}):
            ...         writer.write(record)
            >>> chunks = ps.RecordReader("labels.tfrecord").chunks()
            >>> [batch["label"].tolist() for batch in ps.Decoder(schema).decode_batches(chunks, 2)]
            [[7, 8], [9]]
        """
        _check_size(size)
        source_errors, decode_errors = list[Exception](), list[Exception]()
        # One batch per thread: batches decoded further ahead have left the CPU caches when they are used.
        most_ahead = max(1, self._threads - 1)
        queue = _core.DecodeQueue(self._native, self._threads)
        try:
            submitted: deque[list[RecordChunk]] = deque()
            parts = rebatch(_until_error(chunks, source_errors), size)
            while not decode_errors:
                while len(submitted) <= most_ahead and (part := next(parts, None)) is not None:
                    queue.submit(part, self._outputs(sum(map(len, part)), None, allocate))
                    submitted.append(part)
                part = None  # drop the reference, so that its memory can be reused while the consumer works
                if not submitted:
                    break
                yield self._valid_rows(queue.next(), submitted.popleft(), allocate, decode_errors)
        finally:
            queue.close()
        if decode_errors or source_errors:
            raise [*source_errors, *decode_errors][-1]

    def decode_files(
        self,
        paths: Sequence[StrPath],
        size: int,
        *,
        verify: bool = True,
        max_record_bytes: int = 1 << 30,
        allocate: Allocate | None = None,
    ) -> Iterator[Batch]:
        """Decode local uncompressed files, one after another, into batches of ``size`` rows, ahead of the consumer.

        This is the fastest way from files to columns: each native thread decodes what it has just read and checked.
        A batch may hold rows of several files; the last may be smaller. Damaged records and records that do not decode
        raise, after the rows before them.

        Args:
            paths: Local files without compression.
            size: The number of rows of a batch.
            verify: Whether to check the checksums of the records.
            max_record_bytes: The largest record to accept.
            allocate: Allocates dense numeric columns, as in :meth:`decode`.

        Raises:
            ValueError: A file is compressed, or is not a local file: use :meth:`decode_batches`.

        Example:
            >>> schema = ps.Schema({"label": int})
            >>> with ps.RecordWriter("labels.tfrecord") as writer:
            ...     for record in ps.Encoder(schema).encode({"label": [7, 8, 9]}):
            ...         writer.write(record)
            >>> decoder = ps.Decoder(schema)
            >>> [batch["label"].tolist() for batch in decoder.decode_files(["labels.tfrecord"], 2)]
            [[7, 8], [9]]
        """
        _check_size(size)
        files = local_paths(paths)
        if allocate is None and size * self._native.dense_row_bytes <= _LARGEST_BATCH_BYTES:
            return self._open_files(files, size, verify=verify, max_record_bytes=max_record_bytes)
        chunks = file_chunks(files, verify=verify, max_record_bytes=max_record_bytes, threads=self._threads)
        return self.decode_batches(chunks, size, allocate=allocate)

    @property
    def _names(self) -> list[str]:
        return [planned.name for planned in self._plan.features]

    def _valid_rows(
        self, decoded: DecodedColumns, part: list[RecordChunk], allocate: Allocate | None, errors: list[Exception]
    ) -> Batch:
        """Return a batch. If a row does not decode, return the rows before it and append the error to ``errors``."""
        try:
            return self._batch_or_fault(decoded)
        except RowFault as fault:
            error, count = malformed(fault, _locator(part)), fault.row
        if not count:
            raise error
        errors.append(error)
        front = next(rebatch(part, count))
        again = self._native.decode(front, self._outputs(count, None, allocate))
        return self._valid_rows(again, front, allocate, errors)

    def _open_files(
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
        """Decode files as :meth:`decode_files` does, from ``start`` on and for at most ``rows`` rows."""
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

        def reopen(position: FilePosition, count: int) -> FileBatches:
            return self._open_files(
                paths, count, verify=verify, max_record_bytes=max_record_bytes, start=position, rows=count
            )

        return FileBatches(native, paths, self._batch_or_fault, reopen)

    def _row_decoder(self) -> RowDecoder:
        """Return a decoder of the same features, for one record at a time."""
        return RowDecoder(self._plan, self._native)

    def _batch(self, decoded: DecodedColumns, locate: Locate) -> Batch:
        """Build a batch from native columns; ``locate`` returns the file and record of a row, for errors."""
        try:
            return self._batch_or_fault(decoded)
        except RowFault as fault:
            raise malformed(fault, locate) from None

    def _batch_or_fault(self, decoded: DecodedColumns) -> Batch:
        """Build a batch from native columns; raise a RowFault for a row that does not decode."""
        fault = decoded.fault
        if fault is not None:
            name = None if fault.feature is None else self._plan.owners[fault.feature]
            raise RowFault(fault.row, self._describe(fault, name), name)
        columns = PlannedColumns(self._plan, decoded)
        if self._plan.can_fail:
            batch = unchecked_batch(columns.build_all(), len(decoded))
        else:
            batch = unbuilt_batch(columns, len(decoded))
        return with_paths(batch, self._plan.paths)

    def _outputs(
        self, rows: int, out: Mapping[str, NDArray[Any]] | None, allocate: Allocate | None
    ) -> list[NDArray[Any] | None]:
        """Return the array to decode each native column into, or None; an empty list if the caller provides none."""
        if not out and allocate is None:
            return []
        provided = out or {}
        unknown = provided.keys() - set(self._names)
        if unknown:
            raise ValueError(f"out has {unknown.pop()!r}, which is not decoded")
        outputs: list[NDArray[Any] | None] = [None] * len(self._plan.native)
        for planned in self._plan.features:
            array = provided.get(planned.name)
            if array is None and allocate is not None and _takes_output(planned):
                array = allocate(planned.name, (rows, *_dense_shape(planned)), planned.feature.numpy_dtype)
            if array is not None:
                _check_output(planned, array, rows)
                outputs[planned.native[0]] = array
        return outputs

    def _describe(self, fault: DecodeFault, name: str | None) -> str:
        kind = "a SequenceExample" if self._full_schema.is_sequence else "an Example"
        feature = self._full_schema[name] if name is not None else None
        match fault.kind:
            case "missing":
                return f"expected {feature!r}, found nothing; {MAY_BE_ABSENT}"
            case "wrong-kind":
                return f"expected {feature.kind if feature else ''}, found {fault.found_kind}"
            case "wrong-count":
                return f"expected {fault.expected} values, found {fault.found}"
            case "not-multiple":
                multiple = "" if feature is not None and feature.is_dense else "a multiple of "
                return f"expected {multiple}{fault.expected} values, found {fault.found}"
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


def _check_size(size: int) -> None:
    if size < 1:
        raise ValueError(f"size must be at least 1, found {size}")


def _until_error(chunks: Iterable[RecordChunk], errors: list[Exception]) -> Iterator[RecordChunk]:
    """Yield chunks until one raises, and append the error to ``errors``."""
    try:
        yield from chunks
    except Exception as error:
        errors.append(error)


def _as_chunks(records: Records) -> list[RecordChunk]:
    if isinstance(records, RecordChunk):
        return [records]
    if isinstance(records, bytes | bytearray | memoryview):
        raise TypeError("expected a list of records, found one: write [record]")
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


def _takes_output(planned: PlannedFeature) -> bool:
    """Whether the caller may provide the array: only for dense numbers, which are decoded straight into it."""
    return planned.build is None


def _dense_shape(planned: PlannedFeature) -> tuple[int, ...]:
    return tuple(size or 0 for size in planned.feature.shape)


def _check_output(planned: PlannedFeature, array: NDArray[Any], rows: int) -> None:
    if not _takes_output(planned):
        raise ValueError(f"out takes dense columns of numbers; {planned.name!r} is {planned.feature!r}")
    expected, dtype = (rows, *_dense_shape(planned)), planned.feature.numpy_dtype
    if array.dtype != dtype or array.shape != expected:
        raise ValueError(
            f"the array for {planned.name!r} must be {dtype}{list(expected)}, found {array.dtype}{list(array.shape)}"
        )
    if not (array.flags.c_contiguous and array.flags.writeable):
        raise ValueError(f"the array for {planned.name!r} must be C-contiguous and writable")
