"""A schema compiled: what native readers decode with, and what makes batches of their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock._core import DecodeFault
from penstock.codec.file_batches import Decoded, FileBatches, Place
from penstock.codec.plan import PlannedFeature, compile_plan
from penstock.codec.row_decoder import RowDecoder
from penstock.codec.row_fault import Locate, RowFault, malformed
from penstock.columns import Batch, batch_of_equal_columns
from penstock.errors import MAY_BE_ABSENT
from penstock.schema import Schema

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
        start: Place = (0, 0, 0),
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

        def reopen(place: Place, count: int) -> FileBatches:
            return self.open_files(
                paths, count, verify=verify, max_record_bytes=max_record_bytes, start=place, rows=count
            )

        return FileBatches(native, paths, self.sound_batch_of, reopen)

    def by_row(self) -> RowDecoder:
        """Answer what decodes the same features of one record at a time."""
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
        return batch_of_equal_columns(built, rows)

    def outputs(
        self, rows: int, out: Mapping[str, NDArray[Any]] | None, allocate: Allocate | None
    ) -> list[NDArray[Any] | None]:
        """Answer the memory of each native column, None for what is not provided; nothing where none is provided."""
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
