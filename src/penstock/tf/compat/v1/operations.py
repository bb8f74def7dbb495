"""Operations of TensorFlow 1 whose arguments or meaning TensorFlow 2 changed."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from penstock.tf.errors import InvalidArgumentError
from penstock.tf.io.records import TFRecordCompressionType, tf_record_iterator
from penstock.tf.ops import random
from penstock.tf.ops.batch_and_spec_rules import sizes_of_argument
from penstock.tf.ops.elementwise import pair
from penstock.tf.ops.functions import numpy_function
from penstock.tf.ops.images import batch_images, check_size, fit_size, image_of, resize_with_crop_or_pad
from penstock.tf.ops.images import resize as resize_v2
from penstock.tf.ops.indexing import where as where_v2
from penstock.tf.ops.indexing import where_spec
from penstock.tf.ops.resize import resample_by_corners
from penstock.tf.ops.sparse import to_dense
from penstock.tf.ops.strings import split_rows, split_rows_sparse, splitter_at, strings_of
from penstock.tf.registry import operation
from penstock.tf.tensors.convert import as_array, as_shape, as_tensor
from penstock.tf.tensors.dtypes import bool as tf_bool
from penstock.tf.tensors.dtypes import float32, of_numpy
from penstock.tf.tensors.sparse_tensor import SparseTensor
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tensors.tensor import Tensor
from penstock.tf.tracing.recording import Symbol

_REDUCTION = "input_tensor axis keepdims name reduction_indices=axis keep_dims=keepdims"
_INDEX_REDUCTION = "input axis name dimension=axis output_type"

# The positional arguments in TensorFlow 1; ``old=new`` where TensorFlow 2 renamed one.
_ARGUMENTS = {
    "argmax": _INDEX_REDUCTION,
    "argmin": _INDEX_REDUCTION,
    "boolean_mask": "tensor mask name axis",
    "convert_to_tensor": "value dtype name preferred_dtype=dtype_hint dtype_hint",
    "expand_dims": "input axis name dim=axis",
    "gather": "params indices validate_indices name axis batch_dims",
    "ones_like": "tensor=input dtype name optimize=name",
    "pad": "tensor paddings mode name constant_values",
    **{f"reduce_{kind}": _REDUCTION for kind in ("all", "any", "max", "mean", "min", "prod", "sum")},
    "shape": "input name out_type",
    "size": "input name out_type",
    "squeeze": "input axis name squeeze_dims=axis",
    "transpose": "a perm name conjugate",
    "zeros_like": "tensor=input dtype name optimize=name",
    "io.decode_raw": "input_bytes out_type little_endian name bytes=input_bytes",
    "io.parse_example": "serialized features name example_names",
    "io.parse_single_example": "serialized features name example_names",
    "strings.length": "input name unit",
    "strings.reduce_join": "inputs axis keep_dims=keepdims separator name reduction_indices=axis keepdims",
    "strings.substr": "input pos len name unit",
    "strings.to_number": "string_tensor=input out_type name input",
}


def find(namespace: str, name: str) -> Any:
    """Return what TensorFlow 1 has under a name of a namespace, ``""`` for ``tf`` itself; or raise AttributeError."""
    dotted = f"{namespace}.{name}".removeprefix(".")
    if dotted in CHANGED:
        return CHANGED[dotted]
    tf: Any = importlib.import_module("penstock.tf")
    found = getattr(getattr(tf, namespace) if namespace else tf, name)
    # The operations of tf.math are in tf, too.
    arguments = _ARGUMENTS.get(name if namespace == "math" else dotted)
    return found if arguments is None else _with_arguments(found, arguments.split())


class Namespace(ModuleType):
    """A namespace of ``tf`` as it is in TensorFlow 1."""

    def __getattr__(self, name: str) -> Any:
        return find(self.__name__, name)


def _with_arguments(function: Callable[..., Any], given: list[str]) -> Callable[..., Any]:
    names = {old: new or old for old, _, new in (argument.partition("=") for argument in given)}

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(names):
            raise TypeError(f"{function.__name__}() takes {len(names)} arguments, but {len(args)} were given")
        found: dict[str, Any] = {}
        for old, value in (*zip(names, args, strict=False), *kwargs.items()):
            if old not in names:
                raise TypeError(f"{function.__name__}() has no argument {old!r} in TensorFlow 1")
            new = names[old]
            if new == "name" or value is None:
                continue
            if new in found:
                raise ValueError(f"Cannot specify both '{old}' and '{new}'.")
            found[new] = value
        first = next(iter(names.values())) if "input" not in found else "input"
        return function(*((found.pop(first),) if first in found else ()), **found)

    call.__name__ = function.__name__
    return call


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Select from ``x`` or ``y``, which have one shape; a vector selects whole rows. Without them, return indices."""
    return where_v2(condition) if x is None and y is None else _select(condition, x, y)


@operation("compat.v1.where", spec=where_spec)
def _select(condition: Any, x: Any, y: Any) -> Tensor:
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    mask = as_array(condition, tf_bool)
    a, b = pair(x, y)
    if a.shape != b.shape or (mask.shape not in ((), a.shape) and mask.shape != a.shape[:1]):
        raise InvalidArgumentError(f"a condition of shape {mask.shape} does not select from {a.shape} and {b.shape}")
    if mask.ndim:
        mask = mask.reshape(*mask.shape, *[1] * (a.ndim - mask.ndim))
    return Tensor(np.asarray(np.where(mask, a, b)))


class ResizeMethod:
    """Numbers of the resize methods."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS = ("bilinear", "nearest", "bicubic", "area")


def resize(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Any:
    """Resize to float32, with coordinates from the corners; an image known to have the size is returned unchanged."""
    if isinstance(images, Symbol):
        spec = None if preserve_aspect_ratio else images._recording.spec(images)
        known: list[Any] = [None] if spec is None or spec.shape.rank is None else spec.shape.as_list()[-3:-1]
    else:
        images = Tensor(image_of(images))
        known = images.shape.as_list()[-3:-1]
    if None not in known and not isinstance(size, Symbol) and not any(isinstance(part, Symbol) for part in size):
        height, width = as_shape(size)
        wanted = fit_size((known[0], known[1]), height, width) if preserve_aspect_ratio else (height, width)
        if list(wanted) == known:
            return images
    return _resize(images, size, method, align_corners, preserve_aspect_ratio)


def _resize_spec(operation: Any, images: Any, size: Any, method: Any, align: bool, preserve_aspect_ratio: bool) -> Any:
    sizes = [None, None] if preserve_aspect_ratio else sizes_of_argument(size) or [None, None]
    dtype = images.dtype if method in (1, "nearest") else float32
    return TensorSpec([*images.shape[:-3], *sizes, *images.shape[-1:]], dtype)


@operation("compat.v1.image.resize", batch=batch_images, spec=_resize_spec)
def _resize(images: Any, size: Any, method: Any, align_corners: bool, preserve_aspect_ratio: bool) -> Tensor:
    array = image_of(images)
    if array.ndim > 4:
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    named = _METHODS[method] if isinstance(method, int) and 0 <= method < len(_METHODS) else method
    if named not in _METHODS:
        raise ValueError(f"Resize method is not implemented: {method}")
    height, width = as_shape(size)
    if preserve_aspect_ratio:
        height, width = fit_size(array.shape[-3:-1], height, width)
    check_size(array, height, width)
    return Tensor(resample_by_corners(array, height, width, named, align=align_corners))


def _resizer(method: str) -> Callable[..., Any]:
    def call(
        images: Any, size: Any, align_corners: bool = False, half_pixel_centers: bool = False, name: str | None = None
    ) -> Tensor:
        array = as_array(images)
        if array.ndim != 4:
            raise InvalidArgumentError(f"input must be 4-dimensional, found shape {array.shape}")
        if half_pixel_centers:
            if align_corners:
                raise InvalidArgumentError("If half_pixel_centers is True, align_corners must be False.")
            return resize_v2(as_tensor(images), size, method)
        return _resize(Tensor(array), size, method, align_corners, False)

    call.__name__ = f"resize_{method}"
    return operation(f"compat.v1.image.resize_{'nearest_neighbor' if method == 'nearest' else method}")(call)


@operation("compat.v1.strings.split")
def split(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> Any:
    """Split each string at a separator, or at white space; the parts of a string are a row."""
    array = np.atleast_1d(strings_of(source if input is None else input))
    return _of_type(result_type)(array, splitter_at(sep, maxsplit))


@operation("compat.v1.string_split")
def string_split(
    source: Any,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """Split each string at any of the bytes of ``sep``; into single bytes if it is empty."""
    given = b" " if sep is None and delimiter is None else delimiter if sep is None else sep
    between = given.encode() if isinstance(given, str) else bytes(given)
    array = strings_of(source)
    if array.ndim != 1:
        raise InvalidArgumentError(f"input must be a vector, got shape: {list(array.shape)}")
    bounds = re.compile(b"[" + re.escape(between) + b"]") if between else None

    def split_one(text: bytes) -> list[bytes]:
        if bounds is None:
            return [text[place : place + 1] for place in range(len(text))]
        return [part for part in bounds.split(text) if part or not skip_empty] if text else []

    return _of_type(result_type)(array, split_one)


def _of_type(result_type: str) -> Callable[..., Any]:
    if result_type not in ("SparseTensor", "RaggedTensor"):
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")
    return split_rows_sparse if result_type == "SparseTensor" else split_rows


class SparseTensorValue(NamedTuple):
    """The parts of a SparseTensor; where elements of a dataset are expected, it becomes one."""

    indices: Any
    values: Any
    dense_shape: Any


def py_func(func: Callable[..., Any], inp: Any, Tout: Any, stateful: bool = True, name: str | None = None) -> Any:
    """Call a Python function on arrays."""
    return numpy_function(func, inp, Tout)


def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Any:
    """Set values of a dense tensor by their indices."""
    indices = as_array(sparse_indices)
    matrix = indices.reshape(indices.size, 1) if indices.ndim < 2 else indices
    values = as_array(sparse_values)
    every = values if values.ndim else np.full(len(matrix), values[()], values.dtype)
    sparse = SparseTensor(matrix, every, np.array(as_shape(output_shape), np.int64))
    default = as_array(default_value, of_numpy(values.dtype)) if default_value != 0 else None
    return to_dense(sparse, default, validate_indices)


CHANGED: dict[str, Any] = {
    "SparseTensorValue": SparseTensorValue,
    "py_func": py_func,
    "random_normal": random.normal,
    "random_uniform": random.uniform,
    "set_random_seed": random.set_seed,
    "sparse_tensor_to_dense": to_dense,
    "sparse_to_dense": sparse_to_dense,
    "io.TFRecordCompressionType": TFRecordCompressionType,
    "io.tf_record_iterator": tf_record_iterator,
    "where": where,
    "string_split": string_split,
    "strings.split": split,
    "image.ResizeMethod": ResizeMethod,
    "image.resize": resize,
    "image.resize_images": resize,
    "image.resize_area": _resizer("area"),
    "image.resize_bicubic": _resizer("bicubic"),
    "image.resize_bilinear": _resizer("bilinear"),
    "image.resize_nearest_neighbor": _resizer("nearest"),
    "image.resize_image_with_crop_or_pad": resize_with_crop_or_pad,
}
"""Names with another meaning in TensorFlow 1, and names that TensorFlow 2 dropped, by their dotted name."""
