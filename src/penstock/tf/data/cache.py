"""``cache(filename)``: elements in a file, which the first whole pass writes and all others read.

The file is there when it is complete, and not before. Its first record says what the elements were made from: where
that has changed they are not read, for they may be wrong by now.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any

import numpy as np

from penstock.codec.tensor_proto import parse_tensor, serialize_tensor
from penstock.format_header import FormatHeader
from penstock.records.reader import RecordReader
from penstock.records.writer import RecordWriter
from penstock.tf.data.cache_fingerprint import MadeFrom, made_from
from penstock.tf.data.error_recovery import lasting
from penstock.tf.data.node import Node, PassThroughNode
from penstock.tf.errors import DataLossError, FailedPreconditionError, UnimplementedError, tensorflow_errors
from penstock.tf.io import gfile
from penstock.tf.tensors.dtypes import as_dtype, string
from penstock.tf.tensors.ragged_tensor import RaggedTensor
from penstock.tf.tensors.sparse_tensor import SparseTensor
from penstock.tf.tensors.tensor import Tensor

# Versions before 3 were keyed by names of classes that have changed.
_HEADER = FormatHeader("cache file", "penstock.tf.cache", 3, oldest=3)


class FileCacheNode(PassThroughNode):
    """All elements, kept in a file by the first pass that comes to the end."""

    def __init__(self, before: Node, name: str) -> None:
        super().__init__(before)
        self.cardinality = before.cardinality
        self._path = f"{name}.cache"

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        return self._kept() if gfile.exists(self._path) else chain.from_iterable(self._stretches())

    @cached_property
    def _made_from(self) -> MadeFrom:
        return made_from(self.before)

    def _kept(self) -> Iterator[Any]:
        with tensorflow_errors():
            records = iter(RecordReader(self._path, compression=""))
            self._check(next(records, b""))
            yield from decode(records)

    def _stretches(self) -> Iterator[Iterator[Any]]:
        """Give the elements up to an error, which ends a generator, and then those behind it; and write them all.

        A pass that is given up closes this generator, and the writer leaves no file.
        """
        with tensorflow_errors():
            gfile.makedirs(os.path.dirname(self._path) or ".")
            with RecordWriter(self._path, compression="") as writer:
                header = _HEADER.to_json() | self._made_from._asdict()
                writer.write(json.dumps(header).encode())
                rows = self.before.rows()
                ended: list[bool] = []
                while not ended:
                    yield _stretch(rows, writer, ended)

    def _check(self, header: bytes) -> None:
        try:
            found = _HEADER.check(json.loads(bytes(header)), ValueError)
            steps, files = found["steps"], dict(found["files"])
        except (ValueError, TypeError, KeyError) as error:
            raise DataLossError(f"{self._path} cannot be read, delete it: {error}") from None
        now = self._made_from
        changed = [name for name, content in now.files.items() if files.get(name, content) != content]
        if changed or steps != now.steps:
            what = (
                f"{changed[0]} has changed" if changed else "the steps before cache() or their functions have changed"
            )
            raise FailedPreconditionError(
                f"{self._path} holds other elements than this dataset gives: {what} since it was written. "
                "Delete it, or give cache() another name"
            )


def _stretch(rows: Iterator[Any], writer: RecordWriter, ended: list[bool]) -> Iterator[Any]:
    for row in rows:
        writer.write_many(encode(row))
        yield row
    ended.append(True)


def encode(element: Any) -> list[bytes]:
    """Return the records of an element."""
    tensors: list[bytes] = []
    plan = _plan(element, tensors)
    return [json.dumps(plan).encode(), *tensors]


def decode(records: Iterator[Any]) -> Iterator[Any]:
    """Return the elements of records."""
    for plan in records:
        yield _element(_parsed(bytes(plan)), records)


def _plan(value: Any, tensors: list[bytes]) -> Any:
    """Return the kind of a value and what it is built of; its tensors are added to those before it."""
    if isinstance(value, Tensor) and value.dtype == string:
        tensors.append(serialize_tensor(value._array))
        return ["strings"]
    if isinstance(value, Tensor):
        array = value._array
        tensors.append(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
        return ["numbers", value.dtype.name, list(array.shape)]
    if isinstance(value, RaggedTensor):
        splits = _plan(value.row_splits, tensors)
        return ["ragged", splits, _plan(value.values, tensors), value.uniform_row_length]
    if isinstance(value, SparseTensor):
        return ["sparse", *(_plan(part, tensors) for part in (value.indices, value.values, value.dense_shape))]
    if type(value) is tuple:
        return ["tuple", *(_plan(item, tensors) for item in value)]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return ["dict", *([key, _plan(item, tensors)] for key, item in value.items())]
    raise UnimplementedError(
        f"cache(filename) keeps tensors in tuples and in dicts by strings, and found a {type(value).__name__}"
    )


def _element(plan: Any, records: Iterator[Any]) -> Any:
    match plan:
        case ["strings"]:
            return Tensor(parse_tensor(_next(records), "bytes"))
        case ["numbers", dtype, shape]:
            return _numbers(_next(records), dtype, shape)
        case ["ragged", splits, values, uniform]:
            ends = np.asarray(_element(splits, records))
            return RaggedTensor(_element(values, records), ends, uniform_row_length=uniform)
        case ["sparse", *parts]:
            return SparseTensor(*(_element(part, records) for part in parts))
        case ["tuple", *items]:
            return tuple([_element(item, records) for item in items])
        case ["dict", *pairs]:
            return {key: _element(item, records) for key, item in pairs}
    raise DataLossError(f"the file of a cache holds no element where one is due: {plan!r}")


def _next(records: Iterator[Any]) -> Any:
    record = next(records, None)
    if record is None:
        raise DataLossError("the file of a cache ends within an element")
    return record


def _numbers(record: Any, dtype: Any, shape: Any) -> Tensor:
    try:
        return Tensor(np.frombuffer(record, _stored(dtype)).reshape(shape).astype(as_dtype(dtype).numpy))
    except (ValueError, TypeError) as error:
        raise DataLossError(f"the file of a cache holds no tensor where one is due: {error}") from error


@lru_cache
def _stored(dtype: str) -> np.dtype[Any]:
    """Return how numbers lie in a record: little-endian, as everywhere in TFRecords."""
    return np.dtype(as_dtype(dtype).numpy).newbyteorder("<")


@lru_cache(maxsize=64)
def _parsed(plan: bytes) -> Any:
    """Parse what an element is built of; most are built alike."""
    try:
        return json.loads(plan)
    except ValueError as error:
        raise DataLossError(f"the file of a cache holds no element where one is due: {error}") from error


class CacheNode(PassThroughNode):
    """All rows, kept in memory by the first pass that comes to the end."""

    def __init__(self, before: Node) -> None:
        super().__init__(before)
        self.cardinality = before.cardinality
        self._kept: list[Any] | None = None

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        if self._kept is not None:
            return iter(self._kept)
        rows, kept = self.before.rows(), list[Any]()

        def first_pass() -> Iterator[Any]:
            for row in rows:
                kept.append(row)
                if len(kept) == self.cardinality:  # all there are: nobody has to ask for another one
                    self._keep(kept)
                yield row
            self._keep(kept)

        return lasting(first_pass)

    def _keep(self, rows: list[Any]) -> None:
        """Keep the rows of the first pass that is complete; another may have been begun beside it."""
        if self._kept is None:
            self._kept = rows
