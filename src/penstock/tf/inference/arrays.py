"""The specs of what operations on arrays answer: making, reshaping, joining and picking."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.tf.inference.sizes import Sizes, given_sizes, number_of, sizes_of, spec_given
from penstock.tf.inference.trials import broadcast, scalar
from penstock.tf.registry import OPERATIONS
from penstock.tf.tensors.convert import as_array
from penstock.tf.tensors.dtypes import bool as tf_bool
from penstock.tf.tensors.dtypes import int32, int64
from penstock.tf.tensors.shape import TensorShape
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tensors.structure import leaves, map_structure

RULES: dict[str, Callable[..., Any]] = {
    "shape": lambda input, out_type=int32, name=None: sizes_of(input.shape.dims, out_type),
    "size": lambda input, out_type=int32, name=None: number_of(input.shape.num_elements(), out_type),
    "length": lambda input: number_of(input.shape[0], int32),
    "rank": lambda input, name=None: number_of(input.shape.rank, int32),
    "fill": lambda dims, value, name=None: TensorSpec(given_sizes(dims), spec_given(value).dtype),
    "zeros": lambda shape, dtype=np.float32, name=None: TensorSpec(given_sizes(shape), dtype),
    "ones": lambda shape, dtype=np.float32, name=None: TensorSpec(given_sizes(shape), dtype),
    "broadcast_to": lambda input, shape, name=None: TensorSpec(given_sizes(shape), spec_given(input).dtype),
}


def _rule(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(rule: Callable[..., Any]) -> Callable[..., Any]:
        RULES.update(dict.fromkeys(names, rule))
        return rule

    return register


@_rule("where")
def _where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    if x is None and y is None:
        return TensorSpec([None, condition.shape.rank], int64)
    dtype = next((value.dtype for value in (x, y) if hasattr(value, "dtype")), None) or spec_given(x).dtype
    return TensorSpec(broadcast([spec_given(value).shape for value in (condition, x, y)]), dtype)


@_rule("reshape")
def _reshape(tensor: Any, shape: Any, name: str | None = None) -> Any:
    spec, wanted = spec_given(tensor), given_sizes(shape)
    if wanted is None:
        return TensorSpec(None, spec.dtype)
    given = [size for size in wanted if size is not None and size != -1]
    count, rest = spec.shape.num_elements(), math.prod(given)
    # One size that is not given follows from the others.
    open_size = count // rest if count is not None and rest and len(given) == len(wanted) - 1 else None
    return TensorSpec([open_size if size is None or size == -1 else size for size in wanted], spec.dtype)


@_rule("ensure_shape", "set_shape")
def _ensure_shape(x: Any, shape: Any, name: str | None = None) -> Any:
    return TensorSpec(x.shape.merge_with(shape), x.dtype)


@_rule("squeeze")
def _squeeze(input: Any, axis: Any = None, name: str | None = None) -> Any:
    sizes = input.shape.as_list()
    axes = [] if axis is None else [place % len(sizes) for place in np.atleast_1d(axis).tolist()]
    if not axes and None in sizes:
        return TensorSpec(None, input.dtype)
    kept = [size for place, size in enumerate(sizes) if (place not in axes if axes else size != 1)]
    return TensorSpec(kept, input.dtype)


@_rule("cast")
def _cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    return sizes_of(x.sizes, dtype) if isinstance(x, Sizes) else TensorSpec(x.shape, dtype)


@_rule("stack")
def _stack(values: Any, axis: int = 0, name: str = "stack") -> Any:
    if isinstance(values, TensorSpec):
        return values
    dtype = next(value.dtype for value in values if isinstance(value, TensorSpec))
    if dtype.is_integer and all(spec_given(value).shape.rank == 0 for value in values):
        return sizes_of([None if isinstance(value, TensorSpec) else int(value) for value in values], dtype)
    shape = TensorShape(None)
    for value in values:
        shape = shape.merge_with(spec_given(value).shape)
    if shape.rank is None:
        return TensorSpec(None, dtype)
    sizes = shape.as_list()
    sizes.insert(axis if axis >= 0 else len(sizes) + 1 + axis, len(values))
    return TensorSpec(sizes, dtype)


@_rule("concat")
def _concat(values: Any, axis: Any, name: str = "concat") -> Any:
    specs = [spec_given(value) for value in values]
    dtype = next(value.dtype for value in values if isinstance(value, TensorSpec))
    shapes = [spec.shape for spec in specs if spec.shape.rank is not None]
    if not shapes:
        return TensorSpec(None, dtype)
    place = int(axis) % len(shapes[0])
    if any(isinstance(value, Sizes) for value in values):
        return sizes_of([size for value in values for size in given_sizes(value) or [None]], dtype)
    merged = TensorShape(None)
    for shape in shapes:
        merged = merged.merge_with([None if at == place else size for at, size in enumerate(shape)])
    parts = [shape[place] for shape in shapes]
    total = None if len(shapes) < len(specs) or None in parts else sum(parts)
    return TensorSpec([total if at == place else size for at, size in enumerate(merged)], dtype)


@_rule("getitem")
def _getitem(tensor: Any, index: Any) -> Any:
    if isinstance(tensor, Sizes) and isinstance(index, int | slice):
        part = tensor.sizes[index]
        return sizes_of(part, tensor.dtype) if isinstance(part, list) else number_of(part, tensor.dtype)
    if tensor.shape.rank is None:
        return tensor
    parts = list(index) if isinstance(index, tuple) else [index]
    sizes = tensor.shape.as_list()
    taken = sum(part is not None and part is not Ellipsis for part in parts)
    if Ellipsis not in [part for part in parts if part is None or part is Ellipsis]:
        parts.append(Ellipsis)
    found: list[int | None] = []
    following = iter(sizes)
    for part in parts:
        if part is None:
            found.append(1)
        elif part is Ellipsis:
            found.extend(next(following) for _ in range(len(sizes) - taken))
        elif isinstance(part, slice):
            found.append(_sliced(next(following), part))
        elif spec_given(part).shape.rank == 0:
            next(following)
        else:
            return None
    return TensorSpec(found, tensor.dtype)


def _sliced(size: int | None, part: slice) -> int | None:
    if size is None or any(isinstance(bound, TensorSpec) for bound in leaves(part)):
        return size if part == slice(None) else None
    return len(range(size)[part])


@_rule("matmul")
def _matmul(a: Any, b: Any, **options: Any) -> Any:
    left, right = spec_given(a), spec_given(b)
    if options or left.shape.rank != 2 or right.shape.rank != 2:
        return None
    return TensorSpec([left.shape[0], right.shape[1]], left.dtype)


@_rule("gather")
def _gather(params: Any, indices: Any, validate_indices: Any = None, axis: Any = None, **options: Any) -> Any:
    if options.get("batch_dims"):
        return None
    spec = spec_given(params)
    if spec.shape.rank is None:
        return spec
    place = int(axis or 0) % len(spec.shape)
    return TensorSpec(spec.shape[:place] + spec_given(indices).shape + spec.shape[place + 1 :], spec.dtype)


@_rule("range")
def _range(*args: Any, **options: Any) -> Any:
    return TensorSpec([None], OPERATIONS["range"](*map_structure(scalar, args), **options).dtype)


@_rule("repeat")
def _repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Any:
    if axis is not None:
        return None
    spec = spec_given(input)
    count, times = spec.shape.num_elements(), spec_given(repeats)
    known = count is not None and times.shape.rank == 0 and times is not repeats
    return TensorSpec([count * int(repeats) if known and count is not None else None], spec.dtype)


@_rule("boolean_mask")
def _boolean_mask(tensor: Any, mask: Any, axis: int | None = None, name: str | None = None) -> Any:
    spec, rank, place = spec_given(tensor), len(spec_given(mask).shape), axis or 0
    return TensorSpec([*spec.shape[:place], None, *spec.shape[place + rank :]], spec.dtype)


@_rule("unique")
def _unique(x: Any, out_idx: Any = int32, name: str | None = None) -> Any:
    return TensorSpec([None], x.dtype), TensorSpec(x.shape, out_idx)


@_rule("sequence_mask")
def _sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = tf_bool, name: str | None = None) -> Any:
    size = None if maxlen is None or isinstance(maxlen, TensorSpec) else int(maxlen)
    return TensorSpec(spec_given(lengths).shape.concatenate([size]), dtype)


@_rule("split")
def _split(value: Any, num_or_size_splits: Any, axis: int = 0, num: int | None = None, name: str = "split") -> Any:
    size = value.shape[axis]
    if isinstance(num_or_size_splits, int):
        parts = [None if size is None else size // num_or_size_splits] * num_or_size_splits
    else:
        given = np.asarray(as_array(num_or_size_splits)).tolist()
        rest = None if size is None else size - sum(part for part in given if part >= 0)
        parts = [rest if part < 0 else part for part in given]
    place = axis % len(value.shape)
    return [TensorSpec([*value.shape[:place], part, *value.shape[place + 1 :]], value.dtype) for part in parts]


@_rule("unstack")
def _unstack(value: Any, num: int, axis: int = 0, name: str = "unstack") -> Any:
    place = axis % len(value.shape)
    return [TensorSpec(value.shape[:place] + value.shape[place + 1 :], value.dtype)] * num
