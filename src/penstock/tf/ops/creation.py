"""Operations that create and convert tensors, and that return their shape."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.tf.errors import InvalidArgumentError, UnimplementedError
from penstock.tf.ops import ragged_rules
from penstock.tf.ops.batch_and_spec_rules import (
    Sizes,
    batch_whole,
    only_first_is_stacked,
    scalar_trial,
    sizes_of_argument,
    spec_by_trial,
    spec_of_argument,
    spec_of_integer,
    spec_of_sizes,
    stacked,
)
from penstock.tf.ops.ragged_rules import on_flat_values
from penstock.tf.registry import operation
from penstock.tf.tensors.batch_values import Stacked
from penstock.tf.tensors.convert import as_array, as_shape, as_tensor, cast_array, new_shape
from penstock.tf.tensors.dtypes import as_dtype, float32, int32, of_numpy
from penstock.tf.tensors.shape import ShapeLike, TensorShape
from penstock.tf.tensors.sparse_tensor import SparseTensor
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tensors.structure import map_structure
from penstock.tf.tensors.tensor import Tensor


@operation("convert_to_tensor", batch=batch_whole, spec=spec_by_trial)
def convert_to_tensor(value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None) -> Tensor:
    """Return a value as a tensor."""
    if dtype is None and dtype_hint is not None and not isinstance(value, Tensor):
        try:
            return as_tensor(value, dtype_hint)
        except (TypeError, ValueError):
            pass  # it is only a hint
    return as_tensor(value, dtype)


@operation("constant")
def constant(value: Any, dtype: Any = None, shape: ShapeLike = None, name: str = "Const") -> Tensor:
    """Create a tensor; a single value fills ``shape``."""
    array = as_array(value, dtype)
    if shape is not None:
        wanted = new_shape(as_shape(shape), array.dtype)
        size = math.prod(wanted)
        if array.size == 1:
            array = np.full(wanted, array.reshape(())[()], array.dtype)
        elif array.size != size:
            raise TypeError(f"a value of {array.size} elements does not fit a tensor of shape {wanted}")
        array = array.reshape(wanted)
    return Tensor(array.copy() if isinstance(value, np.ndarray) else array)


def _spec_of_shape_and_dtype(operation: Any, shape: Any, dtype: Any = float32, name: str | None = None) -> Any:
    return TensorSpec(sizes_of_argument(shape), dtype)


@operation("zeros", spec=_spec_of_shape_and_dtype)
def zeros(shape: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Create a tensor of zeros, or of empty strings."""
    return fill(shape, zero_of(as_dtype(dtype).numpy))


@operation("ones", spec=_spec_of_shape_and_dtype)
def ones(shape: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Create a tensor of ones."""
    wanted = as_dtype(dtype).numpy
    return Tensor(np.ones(new_shape(as_shape(shape), wanted), wanted))


@operation("zeros_like", batch=batch_whole, spec=spec_by_trial)
def zeros_like(input: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Create a tensor of zeros of the same shape."""
    array = as_array(input)
    return zeros(array.shape, of_numpy(array.dtype) if dtype is None else dtype)


@operation("ones_like", batch=batch_whole, spec=spec_by_trial)
def ones_like(input: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Create a tensor of ones of the same shape."""
    array = as_array(input)
    return ones(array.shape, of_numpy(array.dtype) if dtype is None else dtype)


def _fill_spec(operation: Any, dims: Any, value: Any, name: str | None = None) -> Any:
    return TensorSpec(sizes_of_argument(dims), spec_of_argument(value).dtype)


@operation("fill", spec=_fill_spec)
def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """Create a tensor that repeats one value."""
    one = as_array(value)
    return Tensor(np.full(new_shape(as_shape(dims), one.dtype), one[()], one.dtype))


def zero_of(dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return zero, or an empty string."""
    zero = np.zeros((), dtype)
    if dtype.hasobject:
        zero[()] = b""
    return zero


# From narrow to wide: the widest dtype among the bounds is the dtype of a range.
_WIDTHS = [np.dtype(kind) for kind in (np.int32, np.int64, np.float16, np.float32, np.float64)]


def _range_spec(operation: Any, *args: Any, **options: Any) -> Any:
    return TensorSpec([None], operation(*map_structure(scalar_trial, args), **options).dtype)


@operation("range", spec=_range_spec)
def range(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range") -> Tensor:
    """Return the numbers from ``start`` up to, but not including, ``limit``."""
    if limit is None:
        start, limit = 0, start
    parts = [as_array(part, dtype) if not isinstance(part, Tensor) else part._array for part in (start, limit, delta)]
    found = parts[0].dtype if dtype is not None else max((part.dtype for part in parts), key=_WIDTHS.index)
    bounds: list[Any] = [part.astype(found)[()] for part in parts]
    first, last, step = bounds
    if step == 0:
        raise InvalidArgumentError("Requires delta != 0")
    if (step > 0 and first > last) or (step < 0 and first < last):
        raise InvalidArgumentError(f"Requires start <= limit when delta > 0, and >= when delta < 0: {first}, {last}")
    length = (last.item() - first.item()) / step.item()
    if not math.isfinite(length):
        raise InvalidArgumentError(f"tf.range from {first} to {last} by {step} is infinite")
    new_shape([math.ceil(length)], found)
    return Tensor(np.arange(first, last, step, dtype=found))


def _shape_batch(operation: Any, input: Any, *args: Any, **options: Any) -> Any:
    if not only_first_is_stacked(input, *args, **options):
        return NotImplemented
    sizes = operation(Tensor(input.array), *args, **options)._array[1:]
    return Stacked(np.broadcast_to(sizes, (len(input.array), len(sizes))))


def _shape_spec(operation: Any, input: Any, out_type: Any = int32, name: str | None = None) -> Any:
    return spec_of_sizes(input.shape.dims, out_type)


@operation("shape", batch=_shape_batch, spec=_shape_spec, composite=True)
def shape(input: Any, out_type: Any = int32, name: str | None = None) -> Tensor:
    """Return the sizes as a tensor."""
    if isinstance(input, SparseTensor):
        return cast(input.dense_shape, out_type)
    return Tensor(np.array(as_array(input).shape, as_dtype(out_type).numpy))


def _size_spec(operation: Any, input: Any, out_type: Any = int32, name: str | None = None) -> Any:
    return spec_of_integer(input.shape.num_elements(), out_type)


@operation("size", spec=_size_spec, ragged=ragged_rules.size)
def size(input: Any, out_type: Any = int32, name: str | None = None) -> Tensor:
    """Return the number of elements."""
    if isinstance(input, SparseTensor):
        return cast(np.prod(input.dense_shape._array), out_type)
    return Tensor(np.array(as_array(input).size, as_dtype(out_type).numpy))


def _length_batch(operation: Any, input: Any) -> Any:
    if input.array.ndim < 2:
        return NotImplemented
    return Stacked(np.full(len(input.array), input.array.shape[1], np.int32))


def _length_spec(operation: Any, input: Any) -> Any:
    return spec_of_integer(input.shape[0], int32)


@operation("length", batch=_length_batch, spec=_length_spec)
def length(input: Any) -> Tensor:
    """Return the size of the first dimension, for loops over a tensor; TensorFlow has no such operation."""
    if isinstance(input, Tensor) and not input.ndim:
        raise TypeError("Cannot iterate over a scalar tensor.")
    return Tensor(np.array(len(input), np.int32))


def _rank_spec(operation: Any, input: Any, name: str | None = None) -> Any:
    return spec_of_integer(input.shape.rank, int32)


@operation("rank", spec=_rank_spec, ragged=ragged_rules.rank)
def rank(input: Any, name: str | None = None) -> Tensor:
    """Return the number of dimensions."""
    return Tensor(np.array(as_array(input).ndim, np.int32))


@operation("identity", batch=batch_whole, spec=spec_by_trial)
def identity(input: Any, name: str | None = None) -> Tensor:
    """Return the tensor itself."""
    return as_tensor(input)


def _check_shape_batch(operation: Any, *args: Any, **options: Any) -> Any:
    if len(args) < 2 or not only_first_is_stacked(*args, **options):
        return NotImplemented
    return stacked(operation(Tensor(args[0].array), TensorShape([None]).concatenate(args[1])))


def _check_shape_spec(operation: Any, x: Any, shape: Any, name: str | None = None) -> Any:
    return TensorSpec(x.shape.merge_with(shape), x.dtype)


@operation("ensure_shape", batch=_check_shape_batch, spec=_check_shape_spec)
def ensure_shape(x: Any, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Raise unless the tensor has the shape."""
    found = as_tensor(x)
    if not TensorShape(shape).is_compatible_with(found.shape):
        raise InvalidArgumentError(f"a tensor of shape {found.shape} is not compatible with {TensorShape(shape)}")
    return found


@operation("set_shape", batch=_check_shape_batch, spec=_check_shape_spec)
def set_shape(tensor: Tensor, shape: ShapeLike) -> Tensor:
    """Implement ``Tensor.set_shape``: raise unless the tensor has the shape."""
    tensor.shape.assert_is_compatible_with(shape)
    return tensor


def _one_hot_batch(operation: Any, *args: Any, **options: Any) -> Any:
    if len(args) > 4 or options.get("axis", -1) not in (None, -1):
        return NotImplemented
    return batch_whole(operation, *args, **options)


@operation("one_hot", batch=_one_hot_batch, spec=spec_by_trial, ragged=on_flat_values)
def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return ``depth`` values for each index, with ``on_value`` at that index."""
    given = next((of_numpy(as_array(value).dtype) for value in (on_value, off_value) if value is not None), float32)
    wanted = given if dtype is None else as_dtype(dtype)
    on, off = (
        as_array(1 if on_value is None else on_value, wanted),
        as_array(0 if off_value is None else off_value, wanted),
    )
    places = as_array(indices)
    marked = np.full(new_shape((*places.shape, int(depth)), wanted.numpy), off[()], wanted.numpy)
    flat = places.ravel()
    inside = np.flatnonzero((flat >= 0) & (flat < int(depth)))
    marked.reshape(flat.size, int(depth))[inside, flat[inside]] = on
    return Tensor(np.moveaxis(marked, -1, -1 if axis is None else axis))


def _cast_spec(operation: Any, x: Any, dtype: Any, name: str | None = None) -> Any:
    return spec_of_sizes(x.sizes, dtype) if isinstance(x, Sizes) else TensorSpec(x.shape, dtype)


@operation("cast", batch=batch_whole, spec=_cast_spec)
def cast(x: Any, dtype: Any, name: str | None = None) -> Tensor:
    """Convert to another dtype."""
    wanted = as_dtype(dtype)
    array = as_array(x)
    if of_numpy(array.dtype) == wanted:
        return as_tensor(x)
    if array.dtype == object or wanted.name == "string":
        raise UnimplementedError(f"Cast {of_numpy(array.dtype).name} to {wanted.name} is not supported")
    if array.dtype.kind == "c" and not wanted.is_complex:
        array = array.real
    return Tensor(cast_array(array, wanted))


@operation("saturate_cast", batch=batch_whole, spec=spec_by_trial)
def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """Convert to another dtype; values out of its range become its smallest or largest value."""
    wanted = as_dtype(dtype)
    array = as_array(value)
    found = of_numpy(array.dtype)
    if found.is_numeric and not found.is_complex and (wanted.is_integer or wanted.is_floating):
        number = array.dtype.type
        low, high = number(max(found.min, wanted.min)), number(min(found.max, wanted.max))
        if (
            found.is_floating and wanted.is_integer and int(high) > wanted.max
        ):  # it was rounded up: the next smaller number is the largest that fits
            high = np.nextafter(high, number(0))
        array = np.clip(array, low, high)
    return Tensor(np.asarray(cast_array(array, wanted)))
