"""The nodes that datasets start from: record files, tensors in memory, ranges and Python generators."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from penstock.compression import Compression, inflate
from penstock.records.reader import RecordReader
from penstock.tf.data.error_recovery import resume_after_errors
from penstock.tf.data.node import (
    ELEMENTS,
    RECORDS,
    UNKNOWN,
    Dependencies,
    ItemRows,
    Node,
    RowFormat,
    ScalarFormat,
    SliceFormat,
    as_element,
    item_rows,
    ragged_components_in,
)
from penstock.tf.errors import InvalidArgumentError, error_of_python, tensorflow_errors
from penstock.tf.io import gfile
from penstock.tf.tensors.convert import as_array, as_tensor
from penstock.tf.tensors.dtypes import as_dtype, int64, string
from penstock.tf.tensors.shape import TensorShape
from penstock.tf.tensors.specs import RaggedTensorSpec, SparseTensorSpec, TensorSpec, spec_of, without_first
from penstock.tf.tensors.structure import leaves, map_structure
from penstock.tf.tensors.tensor import Tensor


class RecordsNode(Node):
    """The records of files, one file after another."""

    row_format: RowFormat = RECORDS

    def __init__(self, paths: Node, compression: str) -> None:
        self._paths = paths
        self._compression = compression

    def rows(self) -> Iterator[bytes]:
        return chain.from_iterable(map(self._read, self._paths.rows()))

    def dependencies(self) -> Dependencies:
        return Dependencies("records", (self._paths, self._compression))

    def _read(self, path: str) -> Iterator[bytes]:
        with tensorflow_errors():
            yield from RecordReader(path, compression=self._compression)

    def spec(self) -> TensorSpec:
        return TensorSpec([], string)


class FilePartsNode(Node):
    """The parts of files that ``split`` makes of a file's name and its inflated pieces."""

    row_format: RowFormat = RECORDS

    def __init__(
        self,
        paths: Node,
        split: Callable[[str, Iterator[bytes]], Iterator[bytes]],
        compression: Compression,
        depends_on: tuple[Any, ...],
    ) -> None:
        self._paths, self._split, self._compression, self._depends_on = paths, split, compression, depends_on

    def rows(self) -> Iterator[bytes]:
        return chain.from_iterable(map(self._read, self._paths.rows()))

    def _read(self, path: str) -> Iterator[bytes]:
        with tensorflow_errors(), gfile.GFile(path, "rb") as file:
            pieces = iter(partial(file.read, _PIECE_BYTES), b"")
            yield from self._split(path, map(bytes, inflate(self._compression, pieces, path=path)))

    def dependencies(self) -> Dependencies:
        return Dependencies("file_parts", (self._paths, self._compression, self._depends_on))

    def spec(self) -> TensorSpec:
        return TensorSpec([], string)


_PIECE_BYTES = 1 << 18


def split_lines(path: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Return lines, without ``\\n`` or ``\\r\\n``; the last one needs no end."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from (line.removesuffix(b"\r") for line in lines)
    if rest:
        yield rest


def split_fixed(path: str, pieces: Iterator[bytes], sizes: tuple[int, int, int], check: bool) -> Iterator[bytes]:
    """Return records of one length, without header and footer; ``check`` the size of the file before the first."""
    length, header, footer = sizes
    rest, skipped, total = b"", 0, 0
    if check and ((size := gfile.stat(path).length) - header - footer) % length:
        raise _wrong_size(path, sizes, size)
    for piece in pieces:
        total += len(piece)
        rest += piece
        if skipped < header:
            gone = min(header - skipped, len(rest))
            rest, skipped = rest[gone:], skipped + gone
        ready = max(0, len(rest) - footer) // length * length
        yield from (rest[start : start + length] for start in range(0, ready, length))
        rest = rest[ready:]
    if skipped < header or len(rest) != footer:
        raise _wrong_size(path, sizes, total)


def _wrong_size(path: str, sizes: tuple[int, int, int], total: int) -> InvalidArgumentError:
    length, header, footer = sizes
    return InvalidArgumentError(
        f'Excluding the header ({header} bytes) and footer ({footer} bytes), input file "{path}" has body length '
        f"{total - header - footer} bytes, which is not an exact multiple of the record length ({length} bytes)."
    )


class SlicesNode(Node):
    """The slices of tensors along their first dimension."""

    def __init__(self, tensors: Any) -> None:
        parts = list(leaves(tensors))
        if not parts:
            raise ValueError("from_tensor_slices() expects at least one tensor, found none")
        if any(not part.shape.rank for part in parts):
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        sizes = [part.shape[0] for part in parts]
        if len(set(sizes)) > 1:
            raise ValueError(f"from_tensor_slices() expects tensors with the same first dimension, found {sizes}")
        self.row_format = SliceFormat(map_structure(item_rows, tensors))
        self.cardinality = sizes[0]
        self._tensors = tensors
        self.ragged_components = ragged_components_in(self.spec())

    def rows(self) -> Iterator[int]:
        return iter(range(self.cardinality))

    def row_at(self, index: int) -> int:
        return index

    def dependencies(self) -> Dependencies:
        return Dependencies("slices", (self._tensors,))

    def spec(self) -> Any:
        return map_structure(_slice_spec, self._tensors)


def _slice_spec(tensor: Any) -> Any:
    return without_first(tensor.spec if isinstance(tensor, ItemRows) else spec_of(tensor))


class RangeNode(Node):
    """A range of integers."""

    def __init__(self, numbers: range, dtype: np.dtype[Any]) -> None:
        self._numbers = numbers
        self._dtype = dtype
        self.row_format = ScalarFormat(dtype)
        self.cardinality = len(numbers)

    def rows(self) -> Iterator[int]:
        return iter(self._numbers)

    def row_at(self, index: int) -> int:
        return self._numbers[index]

    def dependencies(self) -> Dependencies:
        return Dependencies("range", (self._numbers, self.spec()))

    def spec(self) -> TensorSpec:
        return TensorSpec([], self._dtype)


class ListNode(Node):
    """Elements in memory."""

    row_format = ELEMENTS

    def __init__(self, elements: list[Any], spec: Any = None) -> None:
        self._elements = elements
        self._spec = spec
        self.cardinality = len(elements)

    def rows(self) -> Iterator[Any]:
        return iter(self._elements)

    def row_at(self, index: int) -> Any:
        return self._elements[index]

    def dependencies(self) -> Dependencies:
        return Dependencies("list", (self._elements,))

    def spec(self) -> Any:
        return self._spec


class GeneratorNode(Node):
    """The elements of a Python generator, checked against their signature."""

    row_format = ELEMENTS
    cardinality = UNKNOWN

    def __init__(self, generator: Callable[..., Any], arguments: tuple[Any, ...], signature: Any) -> None:
        self._generator = generator
        self._arguments = arguments
        self._signature = signature

    def rows(self) -> Iterator[Any]:
        try:
            values = iter(self._generator(*self._arguments))
        except Exception as error:
            raise error_of_python(error) from error

        def elements() -> Iterator[Any]:
            while True:
                try:
                    yield _conform(next(values), self._signature)
                except StopIteration:
                    return
                except Exception as error:
                    raise error_of_python(error) from error

        return resume_after_errors(elements)

    def dependencies(self) -> Dependencies:
        return Dependencies("generator", (self._generator, self._arguments, self._signature))

    def spec(self) -> Any:
        return self._signature


def _conform(value: Any, signature: Any) -> Any:
    if isinstance(signature, dict):
        if not isinstance(value, dict) or value.keys() != signature.keys():
            raise TypeError(
                f"`generator` must yield a dict with the keys {', '.join(map(repr, signature))}, found {value!r}"
            )
        return {key: _conform(value[key], spec) for key, spec in signature.items()}
    if isinstance(signature, tuple):
        if not isinstance(value, tuple | list) or len(value) != len(signature):
            raise TypeError(f"`generator` must yield {len(signature)} values, found {value!r}")
        return tuple(_conform(item, spec) for item, spec in zip(value, signature, strict=True))
    if isinstance(signature, RaggedTensorSpec | SparseTensorSpec):
        return as_element(value)
    tensor = as_tensor(value, signature.dtype) if not hasattr(value, "dtype") else _with_dtype(value, signature)
    if not signature.shape.is_compatible_with(tensor.shape):
        raise TypeError(f"`generator` yielded an element of shape {tensor.shape} where {signature.shape} was expected")
    return tensor


def _with_dtype(value: Any, signature: TensorSpec) -> Any:
    tensor = as_tensor(value)
    return tensor if tensor.dtype == signature.dtype else as_tensor(np.asarray(tensor), signature.dtype)


def slices(tensors: Any) -> SlicesNode:
    """Return the slices of tensors, or of values that become tensors."""
    return SlicesNode(as_element(tensors))


def numbers(args: tuple[Any, ...], output_type: Any) -> RangeNode:
    """Return a range of numbers, from the arguments of Python's ``range``."""
    if not 1 <= len(args) <= 3:
        raise ValueError(f"Invalid `args`. The length of `args` should be between 1 and 3 but was {len(args)}.")
    bounds = [int(as_array(arg, None if hasattr(arg, "dtype") else int64)) for arg in args]
    dtype = as_dtype(output_type)
    if not (dtype.is_integer or dtype.is_floating):
        raise InvalidArgumentError(f"Unsupported data type: {dtype.name}")
    return RangeNode(range(*bounds), np.dtype(dtype.numpy))


def matching_files(file_pattern: Any) -> Tensor:
    """Return the sorted names of the files that match patterns. No match is an error."""
    patterns = [os.fsdecode(pattern) for pattern in np.ravel(as_array(_as_paths(file_pattern))).tolist()]
    found = sorted(path for pattern in patterns for path in gfile.glob(pattern))
    if not found:
        raise InvalidArgumentError(f"No files matched pattern: {', '.join(patterns)}")
    return as_tensor(found)


def paths_of(filenames: Any) -> list[str]:
    """Return file names as a flat list, from any nesting."""
    array = as_array(_as_paths(filenames))
    if array.dtype != object and array.size:
        raise TypeError(f"The `filenames` argument must contain `tf.string` elements. Got `tf.{array.dtype}` elements.")
    return [os.fsdecode(name) for name in array.ravel().tolist()]


def path_of(path: Any) -> str:
    """Return one file name."""
    (name,) = paths_of(path)
    return name


def path_of_element(element: Any) -> str:
    """Return the file name in an element."""
    if not isinstance(element, Tensor) or element.dtype != string or element.ndim:
        raise TypeError("The `filenames` argument must contain scalar `tf.string` elements.")
    return os.fsdecode(element.numpy())


def signature_of(output_signature: Any, output_types: Any, output_shapes: Any) -> Any:
    """Return the specs of a generator's elements, from a signature or from types and shapes."""
    if output_signature is not None:
        if output_types is not None or output_shapes is not None:
            raise TypeError("The `output_types` and `output_shapes` arguments can't be used with `output_signature`.")
        return _check_specs(output_signature)
    if output_types is None:
        raise TypeError("Either `output_signature` or `output_types` must be specified.")
    return _specs(output_types, output_shapes)


def _check_specs(signature: Any) -> Any:
    if any(not isinstance(leaf, TensorSpec | RaggedTensorSpec | SparseTensorSpec) for leaf in leaves(signature)):
        raise TypeError("`output_signature` must contain objects that are subclass of `tf.TypeSpec`.")
    return signature


def _specs(types: Any, shapes: Any) -> Any:
    if isinstance(types, dict):
        return {key: _specs(item, None if shapes is None else shapes[key]) for key, item in types.items()}
    if isinstance(types, tuple | list):
        each = [None] * len(types) if shapes is None else shapes
        return tuple(_specs(item, shape) for item, shape in zip(types, each, strict=True))
    return TensorSpec(TensorShape(shapes), types)


def _as_paths(names: Any) -> Any:
    if isinstance(names, os.PathLike):
        return os.fspath(names)
    return [_as_paths(name) for name in names] if isinstance(names, list | tuple) else names
