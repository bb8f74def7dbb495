"""What ordinary operations do with RaggedTensors: the ``ragged`` rules of the registry.

An operation on each element runs on the flat values. Others change one level of rows, and recurse into the values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.tf.errors import InvalidArgumentError
from penstock.tf.registry import Rule, invoke
from penstock.tf.tensors.convert import as_array, as_tensor
from penstock.tf.tensors.dtypes import of_numpy
from penstock.tf.tensors.ragged_tensor import RaggedTensor, pick_rows
from penstock.tf.tensors.structure import leaves, map_structure
from penstock.tf.tensors.tensor import Tensor

Function = Callable[..., Any]
Identity = Callable[[np.dtype[Any]], Any]


def on_flat_values(function: Function, *args: Any, **options: Any) -> Any:
    """Run an operation on each element: on the flat values of RaggedTensors with the same rows."""
    ragged = [leaf for leaf in leaves((args, options)) if isinstance(leaf, RaggedTensor)]
    like = max(ragged, key=lambda one: one.ragged_rank)
    splits = [one._array for one in like.nested_row_splits]
    for other in ragged:
        given = [one._array for one in other.nested_row_splits]
        if len(given) != len(splits) or not all(map(np.array_equal, given, splits)):
            raise InvalidArgumentError("Incompatible shapes: the RaggedTensors have different row splits")

    def flat(leaf: Any) -> Any:
        if isinstance(leaf, RaggedTensor):
            return leaf.flat_values
        is_array = isinstance(leaf, Tensor | np.ndarray)
        return _like_flat_values(as_array(leaf), like) if is_array and leaf.ndim else leaf

    args = tuple(_nested(arg) if isinstance(arg, list) else arg for arg in args)
    args, options = map_structure(flat, (args, options))
    found = function(*args, **options)
    return like.with_flat_values(found) if isinstance(found, Tensor) and found.ndim else found


def _nested(values: list[Any]) -> Any:
    """Convert a list of numbers to a tensor, so that it broadcasts; a list of tensors stays a list."""
    return values if any(isinstance(leaf, Tensor | RaggedTensor) for leaf in leaves(values)) else as_tensor(values)


def _like_flat_values(array: NDArray[Any], like: RaggedTensor) -> Tensor:
    """Broadcast an array to rows, and return its flat values."""
    if array.ndim < like.flat_values.ndim:  # along the inner dimensions, which NumPy broadcasts
        return Tensor(array)
    levels = like.ragged_rank + 1
    if array.ndim == len(like.shape) and set(array.shape[1:levels]) == {1}:
        rows = array.reshape(len(array), *array.shape[levels:])
        if len(rows) in (1, like.nrows_count):
            numbers = np.arange(like.nrows_count)
            for splits in like.nested_row_splits:
                numbers = np.repeat(numbers, np.diff(splits._array))
            return Tensor(rows[numbers if len(rows) > 1 else np.zeros_like(numbers)])
    if array.ndim == len(like.shape):
        dense = RaggedTensor.from_tensor(array, ragged_rank=like.ragged_rank)
        if all(map(_equal, dense.nested_row_splits, like.nested_row_splits)):
            return dense.flat_values
    raise InvalidArgumentError(f"Incompatible shapes: {list(array.shape)} does not broadcast to {like.shape}")


def _equal(one: Tensor, other: Tensor) -> bool:
    return np.array_equal(one._array, other._array)


# Reductions.


def reduces_with(ufunc: Any, identity: Identity) -> Rule:
    """Return the rule of a reduction by a function of two elements, which returns its identity for no elements."""

    def rule(function: Function, input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None) -> Any:
        rank = len(input_tensor.shape)
        if axis is None:
            total = function(input_tensor.flat_values)
            return Tensor(total._array.reshape((1,) * rank)) if keepdims else total
        found = input_tensor
        for place in sorted((positive_axis(one, rank) for one in _listed(axis)), reverse=True):
            found = reduce(function, found, place, bool(keepdims))
        return found

    def reduce(function: Function, values: Any, axis: int, keepdims: bool) -> Any:
        if not isinstance(values, RaggedTensor):
            return function(values, axis, keepdims)
        if axis > 1:
            return values.with_values(reduce(function, values.values, axis - 1, keepdims))
        lengths = np.diff(values._splits)
        if axis:
            groups, count = np.repeat(np.arange(len(lengths)), lengths), len(lengths)
        else:
            groups, count = places_in_rows(values._splits), int(lengths.max(initial=0))
        grouped = _reduce_groups(ufunc, identity, values.values, groups, count)
        return invoke("expand_dims", grouped, axis) if keepdims else grouped

    return rule


def places_in_rows(splits: NDArray[Any]) -> NDArray[Any]:
    """Return the place of each value in its row."""
    places: NDArray[Any] = np.arange(splits[-1]) - np.repeat(splits[:-1], np.diff(splits))
    return places


def _reduce_groups(ufunc: Any, identity: Identity, values: Any, groups: NDArray[Any], count: int) -> Any:
    """Reduce values by the number of their group; those of ragged values, place by place."""
    if not isinstance(values, RaggedTensor):
        array = values._array
        reduced = np.full((count, *array.shape[1:]), identity(array.dtype), array.dtype)
        with np.errstate(all="ignore"):
            ufunc.at(reduced, groups, array)
        return Tensor(reduced)
    lengths = np.zeros(count, np.int64)
    np.maximum.at(lengths, groups, np.diff(values._splits))
    splits = np.concatenate([[0], np.cumsum(lengths)]).astype(values._splits.dtype)
    inner = np.repeat(splits[groups], np.diff(values._splits)) + places_in_rows(values._splits)
    return RaggedTensor(_reduce_groups(ufunc, identity, values.values, inner, int(splits[-1])), splits)


def mean(function: Function, input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None) -> Any:
    """Divide the sum by the number of elements."""
    counts = input_tensor.with_flat_values(invoke("ones_like", input_tensor.flat_values))
    total, count = (invoke("reduce_sum", values, axis, keepdims) for values in (input_tensor, counts))
    return invoke("truediv", total, count)


def variance(function: Function, input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None) -> Any:
    """Return the mean of squares minus the square of the mean, as TensorFlow does; never below zero."""
    squares = invoke("reduce_mean", invoke("square", input_tensor), axis, keepdims)
    average = invoke("reduce_mean", input_tensor, axis, keepdims)
    return invoke("maximum", invoke("subtract", squares, invoke("square", average)), 0)


def standard_deviation(function: Function, *args: Any, **options: Any) -> Any:
    """Return the root of the variance."""
    return invoke("sqrt", invoke("math.reduce_variance", *args, **options))


def positive_axis(axis: Any, rank: int) -> int:
    """Return an axis counted from the first dimension."""
    place = axis.numpy().item() if isinstance(axis, Tensor) and not axis.ndim else axis
    if not isinstance(place, int | np.integer):
        raise TypeError(f"axis must be an int; got {type(axis).__name__}")
    if not -rank <= place < rank:
        raise ValueError(f"axis={place} out of bounds: expected {-rank}<=axis<{rank}")
    return int(place) % rank


def _listed(axis: Any) -> list[Any]:
    if isinstance(axis, Tensor | np.ndarray):
        return list(np.atleast_1d(np.asarray(axis)).tolist())
    return list(axis) if isinstance(axis, list | tuple) else [axis]


# Joining, selecting and reshaping.


def concat(function: Function, values: Any, axis: Any = 0, name: str | None = None) -> Any:
    """Join tensors along a dimension; the sizes of ragged dimensions need not match."""
    return _join(list(values) if isinstance(values, list | tuple) else [values], axis, new_axis=False)


def stack(function: Function, values: Any, axis: Any = 0, name: str | None = None) -> Any:
    """Join tensors along a new dimension; the sizes of their dimensions need not match."""
    return _join(list(values) if isinstance(values, list | tuple) else [values], axis, new_axis=True)


def _join(values: list[Any], axis: Any, *, new_axis: bool) -> Any:
    parts = [value if isinstance(value, RaggedTensor) else as_tensor(value) for value in values]
    if len({of_numpy(part.dtype.numpy) for part in parts}) > 1:
        raise InvalidArgumentError(f"expected tensors of one dtype, found {[part.dtype.name for part in parts]}")
    ranks = {len(part.shape) for part in parts}
    if len(ranks) > 1:
        raise ValueError(f"expected tensors of one rank, found shapes {[part.shape for part in parts]}")
    rank = ranks.pop()
    place = positive_axis(axis, rank + new_axis)
    if len(parts) == 1 and not new_axis:
        return parts[0]
    if rank == 1 and place == 0 and new_axis:
        lengths = np.array([len(part) for part in parts], np.int64)
        return RaggedTensor.from_row_lengths(_concat_rows(parts), Tensor(lengths))
    if not any(isinstance(part, RaggedTensor) for part in parts) and place in (rank - 1, rank - 1 + new_axis):
        return invoke("stack" if new_axis else "concat", parts, place)
    depth = max(1, *(part.ragged_rank if isinstance(part, RaggedTensor) else 1 for part in parts))
    rows: list[RaggedTensor] = [_with_ragged_rank(part, depth) for part in parts]
    if len({part._splits.dtype for part in rows}) > 1:
        rows = [part.with_row_splits_dtype("int64") for part in rows]
    if place == 0:
        joined = _concat_rows(rows)
        return RaggedTensor.from_row_lengths(joined, [part.nrows_count for part in rows]) if new_axis else joined
    count, total = rows[0].nrows_count, len(rows)
    for number, part in enumerate(rows[1:], 1):
        if part.nrows_count != count:
            raise InvalidArgumentError(
                f"Input tensors at index 0 (=x) and {number} (=y) have incompatible shapes. {count} and "
                f"{part.nrows_count} rows"
            )
    if place == 1:  # first all first rows, then all second rows
        joined = pick_rows(_concat_rows(rows), np.arange(count * total).reshape(total, count).T.ravel())
        if new_axis:
            return RaggedTensor(joined, np.arange(0, count * total + 1, total, dtype=rows[0]._splits.dtype))
        return RaggedTensor(joined.values, joined._splits[::total])
    if any(not np.array_equal(part._splits, rows[0]._splits) for part in rows):
        raise InvalidArgumentError("Inputs must have identical ragged splits")
    return rows[0].with_values(_join([part.values for part in rows], place - 1, new_axis=new_axis))


def _with_ragged_rank(value: Any, depth: int) -> Any:
    if not depth:
        return value
    ragged = value if isinstance(value, RaggedTensor) else RaggedTensor.from_tensor(value)
    return ragged if depth == 1 else ragged.with_values(_with_ragged_rank(ragged.values, depth - 1))


def _concat_rows(parts: Sequence[Any]) -> Any:
    """Join tensors along their first dimension."""
    if not isinstance(parts[0], RaggedTensor):
        return invoke("concat", parts, 0)
    lengths = np.concatenate([np.diff(part._splits) for part in parts])
    return RaggedTensor.from_row_lengths(_concat_rows([part.values for part in parts]), Tensor(lengths))


def expand_dims(function: Function, input: Any, axis: Any, name: str | None = None) -> Any:
    """Insert a dimension of size 1."""
    place = positive_axis(axis, len(input.shape) + 1)
    dtype = input._splits.dtype
    if place == 0:
        return RaggedTensor(input, np.array([0, input.nrows_count], dtype), uniform_row_length=input.nrows_count)
    if place == 1:
        return RaggedTensor(input, np.arange(input.nrows_count + 1, dtype=dtype), uniform_row_length=1)
    return input.with_values(invoke("expand_dims", input.values, place - 1))


def gather(
    function: Function, params: Any, indices: Any, validate_indices: Any = None, axis: Any = None, **options: Any
) -> Any:
    """Select rows of a RaggedTensor; or, by ragged indices, elements of any tensor."""
    if options.get("batch_dims") or int(axis or 0):
        raise InvalidArgumentError("tf.gather of ragged tensors takes axis=0 only")
    if isinstance(indices, RaggedTensor):
        return indices.with_values(invoke("gather", params, indices.values))
    rows = as_array(indices)
    count = params.nrows_count
    if ((rows < 0) | (rows >= count)).any():
        raise InvalidArgumentError(f"indices are not in [0, {count})")
    if not rows.ndim:
        return params[int(rows)]
    picked = pick_rows(params, rows.ravel())
    return RaggedTensor.from_uniform_row_length(picked, rows.shape[1], nrows=len(rows)) if rows.ndim == 2 else picked


def boolean_mask(
    function: Function, tensor: Any, mask: Any, axis: int | None = None, name: str = "boolean_mask"
) -> Any:
    """Select the elements where a mask is True: rows by a vector, elements of rows by a ragged mask."""
    if axis:
        raise InvalidArgumentError("tf.boolean_mask of ragged tensors takes axis=0 only")
    if not isinstance(mask, RaggedTensor):
        marked = as_array(mask, "bool")
        if marked.ndim == 1:
            return pick_rows(tensor, np.flatnonzero(marked))
        mask = RaggedTensor.from_tensor(marked, ragged_rank=min(marked.ndim - 1, getattr(tensor, "ragged_rank", 1)))
    rows = tensor if isinstance(tensor, RaggedTensor) else RaggedTensor.from_tensor(tensor)
    if not np.array_equal(rows._splits, mask._splits):
        raise InvalidArgumentError("Inputs must have identical ragged splits")
    if isinstance(mask.values, RaggedTensor):
        return rows.with_values(invoke("boolean_mask", rows.values, mask.values))
    chosen = mask.values._array
    counts = np.concatenate([[0], np.cumsum(chosen)])[mask._splits]
    return RaggedTensor(pick_rows(rows.values, np.flatnonzero(chosen)), counts.astype(rows._splits.dtype))


def size(function: Function, input: Any, out_type: Any = "int32", name: str | None = None) -> Any:
    """Return the number of elements."""
    return invoke("size", input.flat_values, out_type)


def rank(function: Function, input: Any, name: str | None = None) -> Any:
    """Return the number of dimensions."""
    return Tensor(np.array(len(input.shape), np.int32))
