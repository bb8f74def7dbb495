"""``cache()`` in memory, and ``cache(filename)`` in a file that the first complete iteration writes.

The file appears once it is complete. Its first record is a header with a fingerprint of what the elements depend on:
where that has changed, the file is not read, because its elements may be wrong by now.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.codec.tensor_proto import parse_tensor, serialize_tensor
from penstock.format_header import FormatHeader
from penstock.records.reader import RecordReader
from penstock.records.writer import RecordWriter
from penstock.tf.data.error_recovery import resume_after_errors
from penstock.tf.data.node import INFINITE, Dependencies, Node, PassThroughNode
from penstock.tf.errors import (
    DataLossError,
    FailedPreconditionError,
    OutOfRangeError,
    UnimplementedError,
    tensorflow_errors,
)
from penstock.tf.io import gfile
from penstock.tf.tensors.dtypes import as_dtype, string
from penstock.tf.tensors.ragged_tensor import RaggedTensor
from penstock.tf.tensors.sparse_tensor import SparseTensor
from penstock.tf.tensors.tensor import Tensor

if TYPE_CHECKING:
    from penstock.tf.data.cache_fingerprint import Fingerprint

# Earlier versions were keyed by the names of Python classes and attributes, which have changed.
_HEADER = FormatHeader("cache file", "penstock.tf.cache", 3, oldest=3)


class CacheNode(PassThroughNode):
    """All rows, stored in memory by the first iteration that reaches the end."""

    def __init__(self, upstream: Node) -> None:
        super().__init__(upstream)
        self.cardinality = upstream.cardinality
        self._stored: list[Any] | None = None
        self._seen: tuple[Iterator[Any], list[Any]] | None = None  # by random access to rows without end

    def rows(self) -> Iterator[Any]:
        if self._stored is not None:
            return iter(self._stored)
        rows, seen = self._upstream.rows(), list[Any]()

        def first_iteration() -> Iterator[Any]:
            for row in rows:
                seen.append(row)
                if len(seen) == self.cardinality:  # these are all: nobody has to request another one
                    self._store(seen)
                yield row
            self._store(seen)

        return resume_after_errors(first_iteration)

    def row_at(self, index: int) -> Any:
        if self._stored is None:
            if self.cardinality == INFINITE:  # stores the rows up to this one
                self._seen = self._seen or (self._upstream.rows(), [])
                rows, seen = self._seen
                seen.extend(islice(rows, max(0, index + 1 - len(seen))))
                return seen[index]
            self._store(list(self._upstream.rows()))
        stored = self._stored or []
        if index >= len(stored):
            raise OutOfRangeError(f"Index out of range: {index} of {len(stored)}")
        return stored[index]

    def dependencies(self) -> Dependencies:
        return Dependencies("cache", (self._upstream,))

    def _store(self, rows: list[Any]) -> None:
        if self._stored is None:  # else another iteration was faster
            self._stored = rows


class FileCacheNode(PassThroughNode):
    """All elements, written to a file by the first iteration that reaches the end."""

    def __init__(self, upstream: Node, name: str) -> None:
        super().__init__(upstream)
        self.cardinality = upstream.cardinality
        self._path = f"{name}.cache"

    def rows(self) -> Iterator[Any]:
        return self._read() if gfile.exists(self._path) else chain.from_iterable(self._write())

    def dependencies(self) -> Dependencies:
        return Dependencies("cache", (self._upstream,))

    @cached_property
    def _fingerprint(self) -> Fingerprint:
        from penstock.tf.data.cache_fingerprint import fingerprint_of  # only caches in files need it

        return fingerprint_of(self._upstream)

    def _read(self) -> Iterator[Any]:
        with tensorflow_errors():
            records = iter(RecordReader(self._path, compression=""))
            self._check(next(records, b""))
            yield from decode_elements(records)

    def _write(self) -> Iterator[Iterator[Any]]:
        """Return the elements up to an error, which ends a generator, then those after it, and write them all.

        An abandoned iteration closes this generator, and the writer leaves no file.
        """
        with tensorflow_errors():
            gfile.makedirs(os.path.dirname(self._path) or ".")
            with RecordWriter(self._path, compression="") as writer:
                header = _HEADER.to_json() | self._fingerprint._asdict()
                writer.write(json.dumps(header).encode())
                rows = self._upstream.rows()
                ended: list[bool] = []
                while not ended:
                    yield _write_run(rows, writer, ended)

    def _check(self, record: bytes) -> None:
        """Raise unless the file with this header contains the elements of this dataset."""
        steps, files = self._parse_header(record)
        now = self._fingerprint
        changed = [name for name, content in now.files.items() if files.get(name, content) != content]
        if changed or steps != now.steps:
            what = changed[0] if changed else "a transformation before cache(), its function or the Penstock version"
            raise FailedPreconditionError(
                f"{self._path} does not contain the elements of this dataset: {what} has changed since it was "
                "written. Delete it, or give cache() another name"
            )

    def _parse_header(self, record: bytes) -> tuple[str, dict[str, str]]:
        try:
            header = _HEADER.check(json.loads(bytes(record)), ValueError)
            return header["steps"], dict(header["files"])
        except (ValueError, TypeError, KeyError) as error:
            raise DataLossError(
                f"{self._path} cannot be read: {error}. Delete it, or give cache() another name"
            ) from None


def _write_run(rows: Iterator[Any], writer: RecordWriter, ended: list[bool]) -> Iterator[Any]:
    for row in rows:
        writer.write_many(encode_element(row))
        yield row
    ended.append(True)


def encode_element(element: Any) -> list[bytes]:
    """Return the records of an element: its layout in JSON, then one for each tensor."""
    tensors: list[bytes] = []
    layout = _encode_layout(element, tensors)
    return [json.dumps(layout).encode(), *tensors]


def decode_elements(records: Iterator[Any]) -> Iterator[Any]:
    """Return the elements of records."""
    for layout in records:
        yield _decode_value(_parse_layout(bytes(layout)), records)


def _encode_layout(value: Any, tensors: list[bytes]) -> Any:
    """Return the layout of a value, and append its tensors."""
    if isinstance(value, Tensor) and value.dtype == string:
        tensors.append(serialize_tensor(value._array))
        return ["strings"]
    if isinstance(value, Tensor):
        array = value._array
        tensors.append(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
        return ["numbers", value.dtype.name, list(array.shape)]
    if isinstance(value, RaggedTensor):
        splits = _encode_layout(value.row_splits, tensors)
        return ["ragged", splits, _encode_layout(value.values, tensors), value.uniform_row_length]
    if isinstance(value, SparseTensor):
        return ["sparse", *(_encode_layout(part, tensors) for part in (value.indices, value.values, value.dense_shape))]
    if type(value) is tuple:
        return ["tuple", *(_encode_layout(item, tensors) for item in value)]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return ["dict", *([key, _encode_layout(item, tensors)] for key, item in value.items())]
    raise UnimplementedError(
        f"cache(filename) stores tensors, in tuples and in dicts with string keys, found a {type(value).__name__}"
    )


def _decode_value(layout: Any, records: Iterator[Any]) -> Any:
    match layout:
        case ["strings"]:
            return Tensor(parse_tensor(_next_record(records), "bytes"))
        case ["numbers", dtype, shape]:
            return _decode_numbers(_next_record(records), dtype, shape)
        case ["ragged", splits, values, uniform]:
            ends = np.asarray(_decode_value(splits, records))
            return RaggedTensor(_decode_value(values, records), ends, uniform_row_length=uniform)
        case ["sparse", *parts]:
            return SparseTensor(*(_decode_value(part, records) for part in parts))
        case ["tuple", *items]:
            return tuple([_decode_value(item, records) for item in items])
        case ["dict", *pairs]:
            return {key: _decode_value(item, records) for key, item in pairs}
    raise DataLossError(f"expected the layout of an element in a cache file, found {layout!r}: delete the file")


def _next_record(records: Iterator[Any]) -> Any:
    record = next(records, None)
    if record is None:
        raise DataLossError("a cache file ends within an element: delete it")
    return record


def _decode_numbers(record: Any, dtype: Any, shape: Any) -> Tensor:
    try:
        return Tensor(np.frombuffer(record, _stored_dtype(dtype)).reshape(shape).astype(as_dtype(dtype).numpy))
    except (ValueError, TypeError) as error:
        raise DataLossError(f"expected a tensor in a cache file: {error}. Delete the file") from error


@lru_cache
def _stored_dtype(dtype: str) -> np.dtype[Any]:
    """Return the dtype of numbers in a record: little-endian, as everywhere in TFRecords."""
    return np.dtype(as_dtype(dtype).numpy).newbyteorder("<")


@lru_cache(maxsize=64)
def _parse_layout(layout: bytes) -> Any:
    """Parse a layout; most elements share one."""
    try:
        return json.loads(layout)
    except ValueError as error:
        raise DataLossError(f"expected the layout of an element in a cache file: {error}. Delete the file") from error
