"""Elements as records, and back: a record in JSON that says what an element is built of, then one for each tensor.

Most elements of a data set are built alike, shapes included: what is said of them is parsed once, and numbers are
stored as they lie in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from penstock.codec.tensor_proto import parse_tensor, serialize_tensor
from penstock.tf.dtypes import as_dtype, string
from penstock.tf.errors import DataLossError, UnimplementedError
from penstock.tf.ragged_tensor import RaggedTensor
from penstock.tf.sparse_tensor import SparseTensor
from penstock.tf.tensor import Tensor


def encode(element: Any) -> list[bytes]:
    """Answer the records of an element."""
    tensors: list[bytes] = []
    plan = _plan(element, tensors)
    return [json.dumps(plan).encode(), *tensors]


def decode(records: Iterator[Any]) -> Iterator[Any]:
    """Answer the elements of records."""
    for plan in records:
        yield _element(_parsed(bytes(plan)), records)


def _plan(value: Any, tensors: list[bytes]) -> Any:
    """Answer the kind of a value and what it is built of; its tensors are added to those before it."""
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
    """Answer how numbers lie in a record: little-endian, as everywhere in TFRecords."""
    return np.dtype(as_dtype(dtype).numpy).newbyteorder("<")


@lru_cache(maxsize=64)
def _parsed(plan: bytes) -> Any:
    """Parse what an element is built of; most are built alike."""
    try:
        return json.loads(plan)
    except ValueError as error:
        raise DataLossError(f"the file of a cache holds no element where one is due: {error}") from error
