"""``batch``, ``padded_batch`` and ``ragged_batch``: several elements become one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.tf.data.error_recovery import resume_after_errors
from penstock.tf.data.node import ELEMENTS, Dependencies, Node
from penstock.tf.data.traced_functions import Computation
from penstock.tf.errors import DataLossError, InvalidArgumentError, UnimplementedError
from penstock.tf.tensors.batch_values import RowValues, Stacked
from penstock.tf.tensors.convert import as_array
from penstock.tf.tensors.dtypes import DType, as_dtype, int32, int64, of_numpy
from penstock.tf.tensors.ragged_tensor import RaggedTensor
from penstock.tf.tensors.shape import TensorShape
from penstock.tf.tensors.sparse_tensor import SparseTensor
from penstock.tf.tensors.specs import (
    UNKNOWN_SPEC,
    DatasetSpec,
    NoneTensorSpec,
    RaggedTensorSpec,
    SparseTensorSpec,
    TensorSpec,
    with_first,
)
from penstock.tf.tensors.structure import leaves, map_structure
from penstock.tf.tensors.tensor import Tensor


class Collate(NamedTuple):
    """How the elements of a batch become one."""

    values: Callable[[Any], Any]
    """Turns a structure with the values of all rows at each leaf into a structure of tensors."""
    spec: Callable[[Any, int | None], Any]
    """Returns the specs of batches, given those of elements, and the batch size where it is always the same."""
    dependencies: Dependencies


class BatchNode(Node):
    """Batches of ``size`` elements, each computed in one call."""

    row_format = ELEMENTS
    yields_batches = True

    def __init__(
        self, upstream: Node, computation: Computation, size: int, collate: Collate, *, drop_remainder: bool
    ) -> None:
        self._upstream = upstream
        self._computation = computation
        self._size = size
        self._collate = collate
        self._drop_remainder = drop_remainder
        self.first_dim_varies = not drop_remainder
        known = upstream.cardinality
        self.cardinality = known if known < 0 else known // size if drop_remainder else -(-known // size)

    def rows(self) -> Iterator[Any]:
        rows = self._upstream.rows()

        def batches() -> Iterator[Any]:
            while batch := list(islice(rows, self._size)):
                if len(batch) == self._size or not self._drop_remainder:
                    yield self._collate.values(self._computation.checked_batch(batch))

        return resume_after_errors(batches)

    def row_at(self, index: int) -> Any:
        first, known = index * self._size, self._upstream.cardinality
        last = first + self._size if known < 0 else min(first + self._size, known)
        return self._collate.values(
            self._computation.checked_batch(list(map(self._upstream.row_at, range(first, last))))
        )

    def dependencies(self) -> Dependencies:
        elements = self._computation.dependencies(self._upstream)
        return Dependencies("batch", (elements, self._size, self._drop_remainder, self._collate.dependencies))

    def sample(self) -> Any:
        # One row is enough, unless every batch is full.
        rows = [self._upstream.sample()] * (self._size if self._drop_remainder else 1)
        return self._collate.values(self._computation.checked_batch(rows))

    def spec(self) -> Any:
        known = self._computation.spec(self._upstream.spec())
        return None if known is None else self._collate.spec(known, self._size if self._drop_remainder else None)


def stack_elements(ragged_components: frozenset[int]) -> Collate:
    """Return a Collate that stacks elements, of which some components are rows of RaggedTensors."""

    def collate(values: Any) -> Any:
        components = iter(range(sum(1 for _ in leaves(values))))
        return map_structure(lambda leaf: stack(leaf, next(components)), values)

    def stack(leaf: Stacked | RowValues, component: int) -> Any:
        return _stack_ragged(leaf.each()) if component in ragged_components else _stack(leaf, component)

    def spec(known: Any, size: int | None) -> Any:
        return map_structure(lambda leaf: with_first(leaf, size), known)

    return Collate(collate, spec, Dependencies("stack", (sorted(ragged_components),)))


STACK = stack_elements(frozenset())
"""Stacks elements."""


def _stack(leaf: Stacked | RowValues, component: int) -> Any:
    if isinstance(leaf, Stacked):
        return Tensor(leaf.array)
    values = leaf.values
    if values[0] is None:
        return None
    if isinstance(values[0], SparseTensor):
        return _stack_sparse(values)
    if isinstance(values[0], RaggedTensor):
        return _stack_ragged(values)
    first = values[0]
    for number, value in enumerate(values):
        if not isinstance(value, Tensor) or value.shape != first.shape:
            raise InvalidArgumentError(
                f"Cannot batch tensors with different shapes in component {component}. First element had shape "
                f"{first.shape.as_list()} and element {number} had shape {value.shape.as_list()}."
            )
        if value.dtype != first.dtype:
            raise InvalidArgumentError(
                f"Cannot batch tensors with different dtypes in component {component}: "
                f"{first.dtype.name} and {value.dtype.name}."
            )
    return Tensor(np.stack([value._array for value in values]))


def _stack_sparse(values: list[SparseTensor]) -> SparseTensor:
    """Stack sparse tensors; each dimension has the size of the largest."""
    indices = [
        np.concatenate([np.full((len(value.values), 1), row), value.indices._array], axis=1)
        for row, value in enumerate(values)
    ]
    sizes = np.max([value.dense_shape._array for value in values], axis=0)
    return SparseTensor(
        Tensor(np.concatenate(indices).astype(np.int64)),
        Tensor(np.concatenate([value.values._array for value in values])),
        Tensor(np.concatenate([[len(values)], sizes]).astype(np.int64)),
    )


def _stack_ragged(values: list[Any]) -> RaggedTensor:
    """Stack tensors, ragged or dense, whose first dimensions may differ."""
    dtype = next((value.row_splits.dtype.numpy for value in values if isinstance(value, RaggedTensor)), np.int64)
    lengths = np.array([len(value) for value in values], dtype)
    return RaggedTensor.from_row_lengths(_concatenate(values), Tensor(lengths))


def _concatenate(values: list[Any]) -> Any:
    if not isinstance(values[0], RaggedTensor):
        return Tensor(np.concatenate([value._array for value in values]))
    lengths = np.concatenate([value.row_lengths()._array for value in values])
    return RaggedTensor.from_row_lengths(_concatenate([value.values for value in values]), Tensor(lengths))


def pad_elements(shapes: Any, values: Any) -> Collate:
    """Return a Collate that pads and stacks elements. None pads to the largest sizes, with zeros or empty strings."""

    def collate(found: Any) -> Any:
        leaf_shapes = iter(_for_leaves(shapes, found))
        leaf_values = iter(_for_leaves(values, found))
        return map_structure(lambda leaf: _pad(leaf, next(leaf_shapes), next(leaf_values)), found)

    def spec(known: Any, size: int | None) -> Any:
        leaf_shapes = iter(_for_leaves(shapes, known))
        return map_structure(lambda leaf: _padded_spec(leaf, next(leaf_shapes), size), known)

    return Collate(collate, spec, Dependencies("pad", (shapes, values)))


def _for_leaves(given: Any, found: Any) -> list[Any]:
    """Return the value for each leaf, of values given for a structure or for all of it."""
    if given is None or not isinstance(found, Mapping | tuple):
        return [given] * sum(1 for _ in leaves(found))
    if isinstance(found, Mapping):
        items = found.items()
        if isinstance(given, Mapping):
            return [part for key, item in items for part in _for_leaves(given[key], item)]
        return [part for _, item in items for part in _for_leaves(given, item)]
    if isinstance(given, tuple) and len(given) == len(found):
        return [part for one, item in zip(given, found, strict=True) for part in _for_leaves(one, item)]
    if isinstance(given, tuple):
        raise ValueError(f"expected {len(found)} shapes or padding values, one for each component, found {len(given)}")
    return [part for item in found for part in _for_leaves(given, item)]


def check_padding(known: Any, shapes: Any, values: Any) -> None:
    """Raise unless elements with these specs can be padded to the shapes, as TensorFlow does before the first batch."""
    for spec, shape in zip(leaves(known), _for_leaves(shapes, known), strict=True):
        if isinstance(spec, DatasetSpec):
            raise TypeError("`padded_batch` is not supported for datasets of datasets")
        if isinstance(spec, RaggedTensorSpec | SparseTensorSpec | NoneTensorSpec):
            raise TypeError(f"`padded_batch` is only supported for datasets that produce tensor elements, found {spec}")
        if not isinstance(spec, TensorSpec) or shape is None:
            continue
        given: Any = shape.as_list() if isinstance(shape, TensorShape) else np.asarray(shape)
        array = np.array([-1 if size is None else size for size in given] if np.ndim(given) == 1 else given)
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            kind = ValueError if array.dtype.kind in "iu" else TypeError
            raise kind(f"Padded shape {shape} must be a `tf.int64` vector tensor, but its shape was {array.shape}.")
        sizes = tuple(None if size < 0 else int(size) for size in array)
        fits = spec.shape.rank in (None, len(sizes)) and not any(
            size is not None and have is not None and have > size
            for size, have in zip(sizes, spec.shape.dims or [], strict=False)
        )
        if not fits:
            raise ValueError(
                f"The padded shape {sizes} is not compatible with the shape {spec.shape} of the corresponding input "
                "component."
            )


def _padded_spec(spec: Any, shape: Any, size: int | None) -> Any:
    if not isinstance(spec, TensorSpec):
        return UNKNOWN_SPEC
    return with_first(spec if shape is None else TensorSpec(sizes_of(shape), spec.dtype), size)


def _pad(leaf: Stacked | RowValues, shape: Any, value: Any) -> Tensor | None:
    if isinstance(leaf, RowValues) and leaf.values[0] is None:
        return None
    arrays = [_dense_array(item) for item in leaf.each()]
    rank = arrays[0].ndim
    requested = [None] * rank if shape is None else sizes_of(shape)
    if len(requested) != rank:
        raise ValueError(f"the padded shape has {len(requested)} dimensions, and the component {rank}")
    largest = np.max([array.shape for array in arrays], axis=0).astype(int).tolist() if rank else []
    sizes = [most if size is None else size for size, most in zip(requested, largest, strict=True)]
    if any(most > size for size, most in zip(sizes, largest, strict=True)):
        raise DataLossError(f"Attempted to pad to a smaller size than the input element: {largest} to {sizes}.")
    dtype = arrays[0].dtype
    padded = np.empty((len(arrays), *sizes), dtype)
    padded[...] = _padding_value(value, dtype)
    for row, array in enumerate(arrays):
        place: Any = (row, *map(slice, array.shape), ...)  # the ellipsis: else a scalar string is set as an array
        padded[place] = array
    return Tensor(padded)


def _dense_array(value: Any) -> NDArray[Any]:
    if not isinstance(value, Tensor):
        raise TypeError(f"Padded batching of {type(value).__name__} is not supported.")
    return value._array


def sizes_of(shape: Any) -> list[int | None]:
    """Return the sizes of a shape in any form; None for unknown ones."""
    if isinstance(shape, TensorShape):
        return shape.as_list()
    given = np.asarray(shape).tolist() if isinstance(shape, Tensor | np.ndarray) else list(shape)
    return [None if size is None or size == -1 else int(size) for size in given]


def _padding_value(value: Any, dtype: np.dtype[Any]) -> Any:
    if value is None:
        return b"" if dtype.kind == "O" else 0
    expected = of_numpy(dtype)
    array = as_array(value) if isinstance(value, Tensor | np.ndarray | np.generic) else as_array(value, expected)
    if of_numpy(array.dtype) != expected or array.ndim:
        raise TypeError(f"expected a scalar of {expected.name} as a padding value, found {value!r}")
    return array[()]


def stack_as_sparse(row_shape: Any) -> Collate:
    """Return a Collate that combines dense elements to a SparseTensor; None in the shape fits the largest."""
    wanted = TensorShape(row_shape)

    def collate(found: Any) -> SparseTensor:
        if isinstance(found, dict | tuple):
            raise TypeError("sparse_batch takes datasets of one component")
        arrays = [_dense_array(value) for value in found.each()]
        for array in arrays:
            if array.ndim != wanted.rank:
                raise InvalidArgumentError(
                    f"an element of shape {array.shape} is incompatible with the row shape {wanted}"
                )
            if any(size is not None and have > size for have, size in zip(array.shape, wanted, strict=True)):
                raise DataLossError(f"an element of shape {array.shape} is larger than the row shape {wanted}")
        largest = np.max([array.shape for array in arrays], axis=0).astype(int).tolist()
        sizes = [most if size is None else size for size, most in zip(wanted, largest, strict=True)]
        places = [np.array(list(np.ndindex(array.shape)), np.int64).reshape(-1, array.ndim) for array in arrays]
        rows = np.repeat(np.arange(len(arrays)), [len(each) for each in places])
        indices = np.column_stack([rows, np.concatenate(places)])
        return SparseTensor(indices, np.concatenate([array.ravel() for array in arrays]), [len(arrays), *sizes])

    def spec(known: Any, size: int | None) -> Any:
        return SparseTensorSpec([size, *wanted], known.dtype)

    return Collate(collate, spec, Dependencies("sparse", (wanted.as_list(),)))


def stack_as_ragged(known: Any, row_splits_dtype: Any) -> Collate:
    """Return a Collate that stacks elements with these specs, which decide what becomes ragged."""
    if known is None or UNKNOWN_SPEC in leaves(known):
        raise UnimplementedError(
            "ragged_batch() needs the shapes of elements before they are computed, and they are not known: the "
            "functions before it have to be traced completely (see explain()). padded_batch() needs no shapes"
        )
    dtype = as_dtype(row_splits_dtype)
    if dtype not in (int32, int64):
        raise ValueError(f"Argument `row_splits_dtype` must be int32 or int64. Received: {dtype}")
    specs = map_structure(lambda spec: _ragged_spec(spec, dtype), known)

    def collate(values: Any) -> Any:
        numbered = enumerate(leaves(specs))
        return map_structure(lambda leaf: _stack_to_spec(leaf, *next(numbered)), values)

    return Collate(collate, lambda _, size: STACK.spec(specs, size), Dependencies("ragged", (specs,)))


def _ragged_spec(spec: Any, row_splits_dtype: DType) -> Any:
    if not isinstance(spec, TensorSpec) or spec.shape.rank is None or spec.shape.is_fully_defined():
        return spec
    last = max(axis for axis, size in enumerate(spec.shape) if size is None)
    return RaggedTensorSpec(spec.shape, spec.dtype, last, row_splits_dtype)


def _stack_to_spec(leaf: Stacked | RowValues, component: int, spec: Any) -> Any:
    values = leaf.each()
    if isinstance(spec, RaggedTensorSpec) and all(isinstance(value, Tensor) for value in values):
        return _ragged_tensor([value._array for value in values], spec)
    return _stack(leaf, component)


def _ragged_tensor(arrays: list[NDArray[Any]], spec: RaggedTensorSpec) -> RaggedTensor:
    """Concatenate arrays, ragged down to the last dimension that differs."""
    levels = spec.ragged_rank + 1
    flat = [array.reshape(math.prod(array.shape[:levels]), *array.shape[levels:]) for array in arrays]
    values: Any = Tensor(np.concatenate(flat))
    for level in reversed(range(levels)):
        lengths = [np.full(math.prod(array.shape[:level]), array.shape[level]) for array in arrays]
        splits = np.cumsum(np.concatenate([[0], *lengths])).astype(spec.row_splits_dtype.numpy)
        values = RaggedTensor(values, splits, uniform_row_length=spec.shape[level])
    result: RaggedTensor = values
    return result
