"""``tf.io``: decode and encode raw numbers, compressed strings and TensorProtos; read and write files."""

from __future__ import annotations

import os
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.codec import tensor_proto
from penstock.storage import is_remote, write_whole
from penstock.tf.errors import DataLossError, InvalidArgumentError, ResourceExhaustedError, tensorflow_errors
from penstock.tf.io.gfile import GFile, glob
from penstock.tf.ops.batch_and_spec_rules import batch_whole, spec_of_first
from penstock.tf.ops.strings import strings_of
from penstock.tf.registry import operation
from penstock.tf.tensors.batch_values import EqualStrings, Stacked
from penstock.tf.tensors.convert import as_array, as_bytes, object_array
from penstock.tf.tensors.dtypes import ALL, DType, as_dtype, string
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tensors.tensor import Tensor

# The limit for one compressed string: a few kilobytes can inflate to gigabytes.
_MAX_INFLATED_BYTES = 1 << 30

_RAW_DTYPES = frozenset(dtype.name for dtype in ALL) - {"string", "uint32", "uint64"}


def _spec_of_string(operation: Any, *args: Any, **options: Any) -> Any:
    return TensorSpec([], string)


def _decode_raw_batch(operation: Any, *args: Any, **options: Any) -> Any:
    if args and isinstance(args[0], EqualStrings):
        if len(args) == 2 and not options:
            return Stacked(_numbers_of_rows(args[0].raw, args[1]))
        args = (args[0].strings(), *args[1:])
    try:
        return batch_whole(operation, *args, **options)
    except InvalidArgumentError:
        return NotImplemented  # rows may differ in length, where the strings of one row may not


def _numbers_of_rows(raw: NDArray[np.uint8], out_type: Any) -> NDArray[Any]:
    """Read the numbers of equally long strings, given as bytes ``[rows, length]``."""
    dtype = _raw_dtype(out_type)
    _check_length(raw.shape[1], dtype)
    return _numbers(raw, dtype.numpy, little_endian=True)


def _decode_raw_spec(
    operation: Any,
    input_bytes: Any,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: Any = None,
    name: str | None = None,
) -> Any:
    dtype = as_dtype(out_type)
    size = None if fixed_length is None else int(fixed_length) // np.dtype(dtype.numpy).itemsize
    return TensorSpec(input_bytes.shape.concatenate([size]), dtype)


@operation("io.decode_raw", batch=_decode_raw_batch, spec=_decode_raw_spec, takes_stored_strings=True)
def decode_raw(
    input_bytes: Any,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: Any = None,
    name: str | None = None,
) -> Tensor:
    """Decode the bytes of strings as numbers, along a new last dimension."""
    dtype = _raw_dtype(out_type)
    strings = strings_of(input_bytes)
    size = dtype.numpy.itemsize
    if fixed_length is not None:
        length = int(fixed_length)
        if length <= 0 or length % size:
            raise InvalidArgumentError(
                f"fixed_length must be greater than zero and must be a multiple of {size}, found {length}"
            )
        parts = [text[:length].ljust(length, b"\0") for text in strings.flat]
    else:
        parts = strings.ravel().tolist()
        length = len(parts[0]) if parts else 0
        if len(set(map(len, parts))) > 1:
            raise InvalidArgumentError("DecodeRaw requires input strings to all be the same size")
        _check_length(length, dtype)
    raw = np.frombuffer(bytearray().join(parts), np.uint8)
    return Tensor(_numbers(raw, dtype.numpy, little_endian).reshape(*strings.shape, length // size))


def _raw_dtype(out_type: Any) -> DType:
    dtype = as_dtype(out_type)
    if dtype.name not in _RAW_DTYPES:
        raise InvalidArgumentError(f"decode_raw is not defined for {dtype.name}")
    return dtype


def _check_length(length: int, dtype: DType) -> None:
    size = dtype.numpy.itemsize
    if length % size:
        raise InvalidArgumentError(
            f"Input to DecodeRaw has length {length} that is not a multiple of {size}, the size of {dtype.name}"
        )


def _numbers(raw: NDArray[np.uint8], dtype: np.dtype[Any], little_endian: bool) -> NDArray[Any]:
    if dtype == np.bool_:
        return np.not_equal(raw, 0)
    found = raw.view(dtype.newbyteorder("<" if little_endian else ">"))
    return found if found.dtype == dtype else found.astype(dtype)


@operation("io.decode_compressed", spec=spec_of_first)
def decode_compressed(bytes: Any, compression_type: str = "", name: str | None = None) -> Tensor:
    """Decompress each string."""
    windows = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS | 16}
    if compression_type and compression_type not in windows:
        raise InvalidArgumentError("Only ZLIB, GZIP or NONE are supported compressions")
    strings = strings_of(bytes)
    if not compression_type:
        return Tensor(strings)
    return Tensor(object_array((_inflated(text, windows[compression_type]) for text in strings.flat), strings.shape))


def _inflated(data: bytes, window: int) -> bytes:
    parts, left = [], _MAX_INFLATED_BYTES
    while data:
        stream = zlib.decompressobj(window)
        try:
            parts.append(stream.decompress(data, left + 1))
        except zlib.error as error:
            raise DataLossError(f"inflate() failed: {error}") from error
        left -= len(parts[-1])
        if left < 0:
            raise ResourceExhaustedError(f"a compressed string inflates to more than {_MAX_INFLATED_BYTES} bytes")
        if not stream.eof:
            raise DataLossError("the compressed string is truncated")
        data = stream.unused_data
    return b"".join(parts)


@operation("io.serialize_tensor", spec=_spec_of_string)
def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """Serialize a tensor as a TensorProto."""
    return Tensor(object_array([tensor_proto.serialize_tensor(as_array(tensor))], ()))


def _parse_tensor_spec(operation: Any, serialized: Any, out_type: Any, name: str | None = None) -> Any:
    return TensorSpec(None, out_type)


@operation("io.parse_tensor", spec=_parse_tensor_spec, tensorflow_name="")
def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Tensor:
    """Parse a tensor from a TensorProto."""
    wanted = as_dtype(out_type)
    with tensorflow_errors():
        return Tensor(
            tensor_proto.parse_tensor(as_bytes(serialized), "bytes" if wanted.name == "string" else wanted.name)
        )


@operation("io.read_file", spec=_spec_of_string)
def read_file(filename: Any, name: str | None = None) -> Tensor:
    """Read a whole file."""
    with tensorflow_errors(), GFile(os.fsdecode(as_bytes(filename)), "rb") as file:
        return Tensor(object_array([file.read()], ()))


def write_file(filename: Any, contents: Any, name: str | None = None) -> None:
    """Write a whole file; missing directories are created."""
    path = os.fsdecode(as_bytes(filename))
    with tensorflow_errors():
        if not is_remote(path) and os.path.dirname(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        write_whole(path, as_bytes(contents))


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """List the files that match patterns."""
    patterns = [os.fsdecode(text) for text in np.atleast_1d(strings_of(pattern))]
    found = sorted({os.fsencode(path) for one in patterns for path in glob(one)})
    return Tensor(object_array(found, (len(found),)))
