"""``batch``: many elements as one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.tf.data.compute import Computation
from penstock.tf.data.error_recovery import lasting
from penstock.tf.data.node import ELEMENTS, Node
from penstock.tf.errors import DataLossError, InvalidArgumentError, UnimplementedError
from penstock.tf.tensors.batch_values import RowValues, Stacked
from penstock.tf.tensors.convert import as_array
from penstock.tf.tensors.dtypes import DType, as_dtype, int32, int64, of_numpy
from penstock.tf.tensors.ragged_tensor import RaggedTensor
from penstock.tf.tensors.shape import TensorShape
from penstock.tf.tensors.sparse_tensor import SparseTensor
from penstock.tf.tensors.specs import UNKNOWN_SPEC, RaggedTensorSpec, TensorSpec, with_first
from penstock.tf.tensors.structure import leaves, map_structure
from penstock.tf.tensors.tensor import Tensor


class Join(NamedTuple):
    """How the elements of a batch become one."""

    values: Callable[[Any], Any]
    """Makes one structure of tensors of a structure with the values of all rows at each leaf."""
    spec: Callable[[Any, int | None], Any]
    """Makes the specs of batches of those of elements; and of the number of elements, where it is always the same."""


class BatchNode(Node):
    """Elements in batches of ``size``, each computed in one call."""

    origin = ELEMENTS
    coarse = True

    def __init__(self, before: Node, computation: Computation, size: int, join: Join, *, drop_remainder: bool) -> None:
        self._before = before
        self._computation = computation
        self._size = size
        self._join = join
        self._drop = drop_remainder
        self.varying_first = not drop_remainder
        known = before.cardinality
        self.cardinality = known if known < 0 else known // size if drop_remainder else -(-known // size)

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        rows = self._before.rows()

        def batches() -> Iterator[Any]:
            while some := list(islice(rows, self._size)):
                if len(some) == self._size or not self._drop:
                    yield self._join.values(self._computation.checked_batch(some))

        return lasting(batches)

    def sample(self) -> Any:
        """Make a batch of one row, or of as many as a batch that is always full has."""
        rows = [self._before.sample()] * (self._size if self._drop else 1)
        return self._join.values(self._computation.checked_batch(rows))

    def spec(self) -> Any:
        """Return what follows from the specs of elements, where they are known."""
        known = self._computation.spec(self._before.spec())
        return None if known is None else self._join.spec(known, self._size if self._drop else None)


def stacking(ragged_rows: frozenset[int]) -> Join:
    """Return what stacks the elements of a batch, of which some components are rows of RaggedTensors."""

    def join(found: Any) -> Any:
        numbers = iter(range(sum(1 for _ in leaves(found))))
        return map_structure(lambda leaf: one(leaf, next(numbers)), found)

    def one(leaf: Stacked | RowValues, component: int) -> Any:
        return stack_ragged(leaf.each()) if component in ragged_rows else stacked(leaf, component)

    return Join(join, lambda known, first: map_structure(lambda spec: with_first(spec, first), known))


STACKED = stacking(frozenset())
"""Stacks the elements of a batch."""


def stacked(leaf: Stacked | RowValues, component: int) -> Any:
    """Stack the values of one component of the elements."""
    if isinstance(leaf, Stacked):
        return Tensor(leaf.array)
    values = leaf.values
    if isinstance(values[0], SparseTensor):
        return stack_sparse(values)
    if isinstance(values[0], RaggedTensor):
        return stack_ragged(values)
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


def stack_sparse(values: list[SparseTensor]) -> SparseTensor:
    """Stack sparse tensors; the sizes are the largest of each dimension."""
    places = [
        np.concatenate([np.full((len(value.values), 1), row), value.indices._array], axis=1)
        for row, value in enumerate(values)
    ]
    sizes = np.max([value.dense_shape._array for value in values], axis=0)
    return SparseTensor(
        Tensor(np.concatenate(places).astype(np.int64)),
        Tensor(np.concatenate([value.values._array for value in values])),
        Tensor(np.concatenate([[len(values)], sizes]).astype(np.int64)),
    )


def stack_ragged(values: list[Any]) -> RaggedTensor:
    """Stack tensors, ragged ones or others, that may differ in their first size."""
    dtype = next((value.row_splits.dtype.numpy for value in values if isinstance(value, RaggedTensor)), np.int64)
    lengths = np.array([len(value) for value in values], dtype)
    return RaggedTensor.from_row_lengths(_end_to_end(values), Tensor(lengths))


def _end_to_end(values: list[Any]) -> Any:
    if not isinstance(values[0], RaggedTensor):
        return Tensor(np.concatenate([value._array for value in values]))
    lengths = np.concatenate([value.row_lengths()._array for value in values])
    return RaggedTensor.from_row_lengths(_end_to_end([value.values for value in values]), Tensor(lengths))


def padded(shapes: Any, values: Any) -> Join:
    """Return what pads the elements of a batch; None pads to the largest sizes, with zeros or empty strings."""

    def join(found: Any) -> Any:
        wanted = iter(_for_leaves(shapes, found))
        filling = iter(_for_leaves(values, found))
        return map_structure(lambda leaf: _padded(leaf, next(wanted), next(filling)), found)

    def spec(known: Any, first: int | None) -> Any:
        wanted = iter(_for_leaves(shapes, known))
        return map_structure(lambda leaf: _padded_spec(leaf, next(wanted), first), known)

    return Join(join, spec)


def _for_leaves(given: Any, found: Any) -> list[Any]:
    """Spread what was given for a structure, or for all of it, over its leaves."""
    if given is None or isinstance(found, Stacked | RowValues | TensorSpec) or found is UNKNOWN_SPEC:
        return [given] * sum(1 for _ in leaves(found))
    if isinstance(found, Mapping):
        items = found.items()
        if isinstance(given, Mapping):
            return [part for key, item in items for part in _for_leaves(given[key], item)]
        return [part for _, item in items for part in _for_leaves(given, item)]
    if isinstance(given, tuple) and len(given) == len(found):
        return [part for one, item in zip(given, found, strict=True) for part in _for_leaves(one, item)]
    if isinstance(given, tuple):
        raise ValueError(f"{len(given)} values are given for a structure of {len(found)}")
    return [part for item in found for part in _for_leaves(given, item)]


def _padded_spec(spec: Any, shape: Any, first: int | None) -> Any:
    if not isinstance(spec, TensorSpec):
        return UNKNOWN_SPEC
    return with_first(spec if shape is None else TensorSpec(sizes_of(shape), spec.dtype), first)


def _padded(leaf: Stacked | RowValues, shape: Any, value: Any) -> Tensor:
    arrays = [_array(item) for item in leaf.each()]
    rank = arrays[0].ndim
    wanted = [None] * rank if shape is None else sizes_of(shape)
    if len(wanted) != rank:
        raise ValueError(f"a shape of {len(wanted)} dimensions is given for a component of {rank}")
    largest = np.max([array.shape for array in arrays], axis=0).astype(int).tolist() if rank else []
    sizes = [most if size is None else size for size, most in zip(wanted, largest, strict=True)]
    if any(most > size for size, most in zip(sizes, largest, strict=True)):
        raise DataLossError(f"Attempted to pad to a smaller size than the input element: {largest} to {sizes}.")
    dtype = arrays[0].dtype
    joined = np.empty((len(arrays), *sizes), dtype)
    joined[...] = _filling(value, dtype)
    for row, array in enumerate(arrays):
        place: Any = (row, *map(slice, array.shape), ...)  # a string alone would else be set as an array
        joined[place] = array
    return Tensor(joined)


def _array(value: Any) -> NDArray[Any]:
    if not isinstance(value, Tensor):
        raise TypeError(f"Padded batching of {type(value).__name__} is not supported.")
    return value._array


def sizes_of(shape: Any) -> list[int | None]:
    """Return the sizes of a shape, in any of the forms that it is given in; None for one that is open."""
    if isinstance(shape, TensorShape):
        return shape.as_list()
    given = np.asarray(shape).tolist() if isinstance(shape, Tensor | np.ndarray) else list(shape)
    return [None if size is None or size == -1 else int(size) for size in given]


def _filling(value: Any, dtype: np.dtype[Any]) -> Any:
    if value is None:
        return b"" if dtype.kind == "O" else 0
    wanted = of_numpy(dtype)
    array = as_array(value) if isinstance(value, Tensor | np.ndarray | np.generic) else as_array(value, wanted)
    if of_numpy(array.dtype) != wanted or array.ndim:
        raise TypeError(f"a padding value is a scalar of {wanted.name}, found {value!r}")
    return array[()]


def ragged(known: Any, row_splits_dtype: Any) -> Join:
    """Return what makes batches of elements with these specs, by which it is decided what becomes ragged."""
    if known is None or UNKNOWN_SPEC in leaves(known):
        raise UnimplementedError(
            "ragged_batch() needs the shapes of elements before they are made, and they are not known: functions "
            "before it have to be traced to their end (see explain()); padded_batch() needs no shapes"
        )
    dtype = as_dtype(row_splits_dtype)
    if dtype not in (int32, int64):
        raise ValueError(f"Argument `row_splits_dtype` must be int32 or int64. Received: {dtype}")
    specs = map_structure(lambda spec: _ragged_spec(spec, dtype), known)

    def join(found: Any) -> Any:
        numbered = enumerate(leaves(specs))
        return map_structure(lambda leaf: _batch(leaf, *next(numbered)), found)

    return Join(join, lambda _, first: STACKED.spec(specs, first))


def _ragged_spec(spec: Any, row_splits_dtype: DType) -> Any:
    if not isinstance(spec, TensorSpec) or spec.shape.rank is None or spec.shape.is_fully_defined():
        return spec
    last = max(axis for axis, size in enumerate(spec.shape) if size is None)
    return RaggedTensorSpec(spec.shape, spec.dtype, last, row_splits_dtype)


def _batch(leaf: Stacked | RowValues, component: int, spec: Any) -> Any:
    values = leaf.each()
    if isinstance(spec, RaggedTensorSpec) and all(isinstance(value, Tensor) for value in values):
        return _ragged([value._array for value in values], spec)
    return stacked(leaf, component)


def _ragged(arrays: list[NDArray[Any]], spec: RaggedTensorSpec) -> RaggedTensor:
    """Put arrays one behind the other, ragged down to the last dimension that differs."""
    levels = spec.ragged_rank + 1
    flat = [array.reshape(math.prod(array.shape[:levels]), *array.shape[levels:]) for array in arrays]
    values: Any = Tensor(np.concatenate(flat))
    for level in reversed(range(levels)):
        lengths = [np.full(math.prod(array.shape[:level]), array.shape[level]) for array in arrays]
        splits = np.cumsum(np.concatenate([[0], *lengths])).astype(spec.row_splits_dtype.numpy)
        values = RaggedTensor(values, splits, uniform_row_length=spec.shape[level])
    found: RaggedTensor = values
    return found
