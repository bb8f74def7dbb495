"""Where rows come from: files of records, tensors in memory, Python generators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from penstock.reader import RecordReader
from penstock.tf.convert import as_tensor
from penstock.tf.data.elements import as_element
from penstock.tf.data.lasting import lasting
from penstock.tf.data.node import UNKNOWN, Node, ragged_rows_in
from penstock.tf.data.origins import ELEMENTS, RECORDS, OfNumbers, OfSlices, Origin
from penstock.tf.dtypes import string
from penstock.tf.errors import error_of_python, tensorflow_errors
from penstock.tf.ragged_tensor import RaggedTensor
from penstock.tf.specs import RaggedTensorSpec, SparseTensorSpec, TensorSpec
from penstock.tf.structure import leaves, map_structure


class Records(Node):
    """The records of files, one file after another."""

    origin: Origin = RECORDS

    def __init__(self, paths: Node, compression: str) -> None:
        self._paths = paths
        self._compression = compression

    def rows(self) -> Iterator[bytes]:
        """Start a pass."""
        return chain.from_iterable(map(self._of_file, self._paths.rows()))

    def _of_file(self, path: str) -> Iterator[bytes]:
        with tensorflow_errors():
            yield from RecordReader(path, compression=self._compression)

    def spec(self) -> TensorSpec:
        """Answer that records are strings."""
        return TensorSpec([], string)


class Slices(Node):
    """Tensors, slice by slice along their first dimension."""

    def __init__(self, tensors: Any) -> None:
        parts = list(leaves(tensors))
        if not parts:
            raise ValueError("there are no tensors to slice")
        if any(not part.shape.rank for part in parts):
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        sizes = [len(part) for part in parts]
        if len(set(sizes)) > 1:
            raise ValueError(f"the first dimensions of the tensors differ: {sizes}")
        self.origin = OfSlices(tensors)
        self.cardinality = sizes[0]
        self._tensors = tensors
        self.ragged_rows = ragged_rows_in(self.spec())

    def rows(self) -> Iterator[int]:
        """Start a pass."""
        return iter(range(self.cardinality))

    def spec(self) -> Any:
        """Answer what slices are like."""
        return map_structure(_slice_spec, self._tensors)


def _slice_spec(tensor: Any) -> Any:
    if not isinstance(tensor, RaggedTensor):
        return TensorSpec(tensor.shape[1:], tensor.dtype)
    return RaggedTensorSpec(tensor.shape[1:], tensor.dtype, tensor.ragged_rank - 1, tensor.row_splits.dtype)


class Numbers(Node):
    """A range of integers."""

    def __init__(self, numbers: range, dtype: np.dtype[Any]) -> None:
        self._numbers = numbers
        self._dtype = dtype
        self.origin = OfNumbers(dtype)
        self.cardinality = len(numbers)

    def rows(self) -> Iterator[int]:
        """Start a pass."""
        return iter(self._numbers)

    def spec(self) -> TensorSpec:
        """Answer that they are scalars."""
        return TensorSpec([], self._dtype)


class Listed(Node):
    """Elements that are in memory."""

    origin = ELEMENTS

    def __init__(self, elements: list[Any], spec: Any = None) -> None:
        self._elements = elements
        self._spec = spec
        self.cardinality = len(elements)

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        return iter(self._elements)

    def spec(self) -> Any:
        """Answer what is known of all of them, where that was said."""
        return self._spec


class Generated(Node):
    """What a Python generator gives, checked against what was said of it."""

    origin = ELEMENTS
    cardinality = UNKNOWN

    def __init__(self, generator: Callable[..., Any], arguments: tuple[Any, ...], signature: Any) -> None:
        self._generator = generator
        self._arguments = arguments
        self._signature = signature

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        try:
            values = iter(self._generator(*self._arguments))
        except Exception as error:
            raise error_of_python(error) from error

        def given() -> Iterator[Any]:
            while True:
                try:
                    yield _as_said(next(values), self._signature)
                except StopIteration:
                    return
                except Exception as error:
                    raise error_of_python(error) from error

        return lasting(given)

    def spec(self) -> Any:
        """Answer what was said of the elements."""
        return self._signature


def _as_said(value: Any, signature: Any) -> Any:
    if isinstance(signature, dict):
        if not isinstance(value, dict) or value.keys() != signature.keys():
            raise TypeError(
                f"the generator was to give a dict of {', '.join(map(repr, signature))}, and gave {value!r}"
            )
        return {key: _as_said(value[key], spec) for key, spec in signature.items()}
    if isinstance(signature, tuple):
        if not isinstance(value, tuple | list) or len(value) != len(signature):
            raise TypeError(f"the generator was to give {len(signature)} values, and gave {value!r}")
        return tuple(_as_said(item, spec) for item, spec in zip(value, signature, strict=True))
    if isinstance(signature, RaggedTensorSpec | SparseTensorSpec):
        return as_element(value)
    tensor = as_tensor(value, signature.dtype) if not hasattr(value, "dtype") else _of_dtype(value, signature)
    if not signature.shape.is_compatible_with(tensor.shape):
        raise TypeError(f"`generator` yielded an element of shape {tensor.shape} where {signature.shape} was expected")
    return tensor


def _of_dtype(value: Any, signature: TensorSpec) -> Any:
    tensor = as_tensor(value)
    return tensor if tensor.dtype == signature.dtype else as_tensor(np.asarray(tensor), signature.dtype)
