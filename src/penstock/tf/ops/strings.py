"""``tf.strings``: operations on tensors of bytes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.tf.errors import InvalidArgumentError, UnimplementedError
from penstock.tf.ops.batch_and_spec_rules import (
    batch_whole,
    broadcast,
    spec_by_trial,
    spec_elementwise,
    spec_of_argument,
    spec_of_reduction,
)
from penstock.tf.registry import operation
from penstock.tf.tensorflow_fallback import attribute_of_tensorflow
from penstock.tf.tensors.convert import as_array, object_array
from penstock.tf.tensors.dtypes import as_dtype, float32, of_numpy, string
from penstock.tf.tensors.ragged_tensor import RaggedTensor
from penstock.tf.tensors.sparse_tensor import SparseTensor
from penstock.tf.tensors.specs import RaggedTensorSpec, TensorSpec
from penstock.tf.tensors.tensor import Tensor

_SPACE = b" \t\n\v\f\r"


def strings_of(value: Any) -> NDArray[Any]:
    """Return a tensor of strings as an array."""
    array = as_array(value)
    if array.dtype != object and array.size:
        raise InvalidArgumentError(f"expected strings, found {of_numpy(array.dtype).name}")
    return array


def _each(function: Callable[[bytes], Any], value: Any, dtype: Any = string) -> Tensor:
    array = strings_of(value)
    found = object_array(map(function, array.ravel()), array.shape)
    return Tensor(found if dtype == string else found.astype(as_dtype(dtype).numpy))


def _checked_unit(unit: str) -> bool:
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise ValueError(f"unit must be BYTE or UTF8_CHAR, not {unit}")
    return unit == "UTF8_CHAR"


@operation("strings.length", batch=batch_whole, spec=spec_by_trial)
def length(input: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """Count bytes, or characters."""
    if _checked_unit(unit):  # count all bytes but continuation bytes
        return _each(lambda text: sum(byte & 0xC0 != 0x80 for byte in text), input, "int32")
    return _each(len, input, "int32")


@operation("strings.lower", batch=batch_whole, spec=spec_by_trial)
def lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Convert to lower case: ASCII letters, or with ``encoding="utf-8"`` all letters."""
    return _each(lambda text: text.decode().lower().encode() if _is_utf8(encoding) else text.lower(), input)


@operation("strings.upper", batch=batch_whole, spec=spec_by_trial)
def upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Convert to upper case: ASCII letters, or with ``encoding="utf-8"`` all letters."""
    return _each(lambda text: text.decode().upper().encode() if _is_utf8(encoding) else text.upper(), input)


def _is_utf8(encoding: str) -> bool:
    if encoding not in ("", "utf-8"):
        raise InvalidArgumentError(f'encoding must be "" or "utf-8", not {encoding!r}')
    return encoding == "utf-8"


@operation("strings.strip", batch=batch_whole, spec=spec_by_trial)
def strip(input: Any, name: str | None = None) -> Tensor:
    """Strip white space from both ends."""
    return _each(lambda text: text.strip(_SPACE), input)


def _join_spec(operation: Any, inputs: Any, *rest: Any, **options: Any) -> Any:
    return TensorSpec(broadcast([spec_of_argument(one).shape for one in inputs]), string)


@operation("strings.join", spec=_join_spec)
def join(inputs: Any, separator: str = "", name: str | None = None) -> Tensor:
    """Join strings, element by element."""
    arrays = [strings_of(value) for value in inputs]
    between = separator.encode() if isinstance(separator, str) else bytes(separator)
    shape = next((array.shape for array in arrays if array.ndim), ())
    if any(array.ndim and array.shape != shape for array in arrays):
        raise InvalidArgumentError(f"expected scalars and tensors of one shape, found {[a.shape for a in arrays]}")
    columns = [np.broadcast_to(array, shape).ravel() for array in arrays]
    return Tensor(object_array((between.join(parts) for parts in zip(*columns, strict=True)), shape))


@operation("strings.reduce_join", spec=spec_of_reduction)
def reduce_join(
    inputs: Any, axis: int | None = None, keepdims: bool = False, separator: str = "", name: str | None = None
) -> Tensor:
    """Join strings along a dimension, or all of them."""
    array = strings_of(inputs)
    between = separator.encode()
    if axis is None:
        joined = object_array([between.join(array.ravel())], ())
        return Tensor(joined.reshape((1,) * array.ndim) if keepdims else joined)
    rows = np.moveaxis(array, axis, -1)
    shape = rows.shape[:-1]
    joined = object_array(map(between.join, rows.reshape(math.prod(shape), rows.shape[-1])), shape)
    return Tensor(np.expand_dims(joined, axis) if keepdims else joined)


def _split_spec(operation: Any, input: Any, *rest: Any, **options: Any) -> Any:
    if input.shape.rank == 0:
        return TensorSpec([None], string)
    (count,) = input.shape
    return RaggedTensorSpec([count, None], string, 1)


@operation("strings.split", spec=_split_spec)
def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """Split each string at a separator, or at white space."""
    return split_rows(input, splitter_at(sep, maxsplit))


def splitter_at(sep: Any, maxsplit: int) -> Callable[[bytes], list[bytes]]:
    """Return a function that splits a string at a separator, or at white space."""
    between = b"" if sep is None else (sep.encode() if isinstance(sep, str) else bytes(sep))

    def split(text: bytes) -> list[bytes]:
        if maxsplit == 0:
            return [text]
        if between:
            return text.split(between, maxsplit)
        # The rest after the last split is a part, and may be empty.
        parts = text.split(None, maxsplit)
        return [*parts, b""] if len(parts) == maxsplit else parts

    return split


def split_rows(value: Any, split: Callable[[bytes], list[bytes]]) -> Any:
    """Split a string to a vector, or many strings to a RaggedTensor whose last dimension is the parts of a string."""
    if isinstance(value, RaggedTensor):
        return value.with_flat_values(split_rows(value.flat_values, split))
    array = strings_of(value)
    if array.ndim > 1:
        rows, length, *inner = array.shape
        flat = Tensor(array.reshape(rows * length, *inner))
        return RaggedTensor.from_uniform_row_length(split_rows(flat, split), length, nrows=rows)
    found = [split(text) for text in array.flat]
    parts = [part for row in found for part in row]
    values = Tensor(object_array(parts, (len(parts),)))
    lengths = Tensor(np.array([len(row) for row in found], np.int64))
    return RaggedTensor.from_row_lengths(values, lengths) if array.ndim else values


def split_rows_sparse(value: Any, split: Callable[[bytes], list[bytes]]) -> SparseTensor:
    """Split each string; the parts of a string are the last dimension of a SparseTensor."""
    array = strings_of(value)
    found = [split(text) for text in array.flat]
    positions = [
        (*place, part) for place, row in zip(np.ndindex(array.shape), found, strict=True) for part in range(len(row))
    ]
    parts = [part for row in found for part in row]
    shape = (*array.shape, max(map(len, found), default=0))
    return SparseTensor(
        np.array(positions, np.int64).reshape(-1, len(shape)),
        object_array(parts, (len(parts),)),
        np.array(shape, np.int64),
    )


_INTEGER = re.compile(rb"[+-]?[0-9]+")
_FLOAT = re.compile(rb"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|inf(inity)?|nan)", re.IGNORECASE)


@operation("strings.to_number", batch=batch_whole, spec=spec_by_trial)
def to_number(input: Any, out_type: Any = float32, name: str | None = None) -> Tensor:
    """Parse numbers."""
    wanted = as_dtype(out_type)

    def read(text: bytes) -> Any:
        stripped = text.strip(_SPACE)
        if not (_INTEGER if wanted.is_integer else _FLOAT).fullmatch(stripped):
            raise InvalidArgumentError(f"StringToNumberOp could not correctly convert string: {text[:40]!r}")
        number = int(stripped) if wanted.is_integer else float(stripped)
        if wanted.is_integer and not wanted.min <= number <= wanted.max:
            raise InvalidArgumentError(f"{number} is out of range for {wanted.name}")
        return number

    with np.errstate(over="ignore"):
        return _each(read, input, wanted)


def _regex(pattern: Any) -> re.Pattern[bytes]:
    return re.compile(pattern.encode() if isinstance(pattern, str) else bytes(as_array(pattern)[()]))


@operation("strings.regex_replace", batch=batch_whole, spec=spec_by_trial)
def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    """Replace the matches of a regular expression."""
    compiled = _regex(pattern)
    text = rewrite.encode() if isinstance(rewrite, str) else bytes(as_array(rewrite)[()])
    template = re.sub(rb"\\0", rb"\\g<0>", text)
    return _each(lambda value: compiled.sub(template, value, 0 if replace_global else 1), input)


@operation("strings.regex_full_match", batch=batch_whole, spec=spec_by_trial)
def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Return whether a regular expression matches the whole string."""
    compiled = _regex(pattern)
    return _each(lambda value: compiled.fullmatch(value) is not None, input, "bool")


@operation("strings.substr", spec=spec_elementwise)
def substr(input: Any, pos: Any, len: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """Return a substring of each string."""
    characters = _checked_unit(unit)
    parts = strings_of(input), as_array(pos), as_array(len)
    if parts[1].shape != parts[2].shape:
        raise InvalidArgumentError(f"pos and len should have the same shape, found {parts[1].shape}, {parts[2].shape}")
    array, starts, sizes = np.broadcast_arrays(*parts)
    if parts[0].shape != parts[1].shape and parts[1].ndim and array.ndim > 2:
        raise UnimplementedError(f"substr broadcasts up to 2 dimensions, found {array.ndim}")

    def cut(value: bytes, start: int, size: int) -> bytes:
        text: Any = value.decode() if characters else value
        total = text.__len__()
        if not -total <= start <= total:
            raise InvalidArgumentError(f"pos {start} out of range for a string of {total}")
        begin = start + total if start < 0 else start
        part = text[begin : max(begin, begin + size)]
        return bytes(part.encode() if characters else part)

    return Tensor(object_array(map(cut, array.flat, starts.flat, sizes.flat), array.shape))


@operation("strings.as_string", batch=batch_whole, spec=spec_by_trial)
def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Format numbers."""
    array = as_array(input)
    dtype = of_numpy(array.dtype)
    if scientific and shortest:
        raise InvalidArgumentError("Cannot select both scientific and shortest notation")
    if fill not in ("", "0", " ", "-", "+"):
        raise InvalidArgumentError(f"Fill string must be one or fewer of '0', ' ', '-', '+', found {fill!r}")
    if not (dtype.is_floating or dtype.is_complex) and (scientific or shortest):
        raise InvalidArgumentError("scientific and shortest format not supported for datatype " + dtype.name)
    if not (dtype.is_floating or dtype.is_complex) and precision > -1:
        raise InvalidArgumentError("precision not supported for datatype " + dtype.name)
    pad = fill + (str(width) if width > -1 else "")
    exact = pad + ("" if precision < 0 else f".{precision}") + ("e" if scientific else "g" if shortest else "f")
    if dtype.is_bool:
        texts = ["true" if value else "false" for value in array.flat]
    elif dtype.is_floating:
        texts = [f"%{exact}" % value for value in array.ravel().tolist()]
    elif dtype.is_complex:
        texts = [f"(%{exact},%{exact})" % (value.real, value.imag) for value in array.ravel().tolist()]
    elif dtype == string:
        return _each(lambda text: text.rjust(width, fill.encode() or b" "), input)
    else:
        texts = [f"%{pad}d" % value for value in array.ravel().tolist()]
    return Tensor(object_array((text.encode() for text in texts), array.shape))


@operation("strings.bytes_split", spec=_split_spec)
def bytes_split(input: Any, name: str | None = None) -> Any:
    """Split each string into its bytes."""
    return split_rows(input, lambda text: [text[place : place + 1] for place in range(len(text))])


def __getattr__(name: str) -> Any:
    return attribute_of_tensorflow("strings", name)
