"""The specs of what operations answer, where they follow from those of the arguments.

A rule is called as its operation is, with specs in the place of tensors that are not there yet. Where it raises, or
answers None, nothing is known of the result. Most results have a shape and a dtype that do not depend on values: their
rule calls the operation itself, on tensors of ones of two sizes, and keeps what is the same both times.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from penstock.tf.inference import arrays
from penstock.tf.inference.features import parsed, parsed_batch, parsed_sequence, parsed_sequences
from penstock.tf.inference.sizes import given_sizes, spec_given
from penstock.tf.inference.trials import broadcast, elementwise, tried
from penstock.tf.tensors.dtypes import as_dtype, float32, string, uint8
from penstock.tf.tensors.dtypes import bool as tf_bool
from penstock.tf.tensors.specs import RaggedTensorSpec, SparseTensorSpec, TensorSpec


def _decode_raw(
    input_bytes: Any, out_type: Any, little_endian: bool = True, fixed_length: Any = None, name: str | None = None
) -> Any:
    dtype = as_dtype(out_type)
    size = None if fixed_length is None else int(fixed_length) // np.dtype(dtype.numpy).itemsize
    return TensorSpec(input_bytes.shape.concatenate([size]), dtype)


def _box(image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any) -> Any:
    sizes = [None if isinstance(size, TensorSpec) else int(size) for size in (target_height, target_width)]
    return TensorSpec(image.shape[:-3] + sizes + image.shape[-1:], image.dtype)


def _turned(image: Any, *rest: Any, **options: Any) -> Any:
    return TensorSpec([*image.shape[:-3], None, None, *image.shape[-1:]], image.dtype)


def _resized(images: Any, size: Any, *args: Any, **options: Any) -> Any:
    sizes = given_sizes(size) or [None, None]
    found = tried("image.resize", images, [known or 1 for known in sizes], *args, **options)
    if options.get("preserve_aspect_ratio"):
        return _turned(found) if None in (*sizes, *images.shape[-3:-1]) else found
    return TensorSpec([*found.shape[:-3], *sizes, *found.shape[-1:]], found.dtype)


def _resized_by_corners(images: Any, size: Any, method: Any, align: bool, fit: bool) -> Any:
    sizes = [None, None] if fit else given_sizes(size) or [None, None]
    dtype = images.dtype if method in (1, "nearest") else float32
    return TensorSpec([*images.shape[:-3], *sizes, *images.shape[-1:]], dtype)


def _joined_strings(inputs: Any, *rest: Any, **options: Any) -> Any:
    return TensorSpec(broadcast([spec_given(one).shape for one in inputs]), string)


def _split_strings(input: Any, *rest: Any, **options: Any) -> Any:
    if input.shape.rank == 0:
        return TensorSpec([None], string)
    (count,) = input.shape
    return RaggedTensorSpec([count, None], string, 1)


def _image(contents: Any, channels: int = 0, dtype: Any = uint8, name: str | None = None) -> Any:
    return TensorSpec([None, None, channels or None], dtype)


def _any_image(
    contents: Any, channels: int = 0, dtype: Any = uint8, name: str | None = None, expand_animations: bool = True
) -> Any:
    return TensorSpec(None, dtype) if expand_animations else _image(contents, channels, dtype)


def _equal(name: str, *args: Any) -> Any:
    """Return one bool or many: shapes that do not go together are unequal, and are not refused."""
    found, shapes = elementwise(name, *args), [spec_given(arg).shape for arg in args]
    if all(shape.is_fully_defined() for shape in shapes) or [] in shapes or args[0] is args[1]:
        return found
    return TensorSpec(None, tf_bool) if any(shape.is_fully_defined() for shape in shapes) else None


def _drawn(shape: Any, *args: Any, dtype: Any = float32, **options: Any) -> Any:
    return TensorSpec(given_sizes(shape), args[2] if len(args) > 2 else dtype)


def _of_python(func: Any, inp: Any, Tout: Any, *rest: Any, **options: Any) -> Any:
    if isinstance(Tout, list | tuple):
        return [TensorSpec(None, dtype) for dtype in Tout]
    return TensorSpec(None, Tout)


def _alike(value: Any, *args: Any, **options: Any) -> Any:
    return value


def _string(*args: Any, **options: Any) -> Any:
    return TensorSpec([], string)


_ELEMENTWISE = (
    *("add", "subtract", "multiply", "truediv", "floordiv", "floormod", "maximum", "minimum", "pow"),
    *("squared_difference", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("logical_and", "logical_or", "logical_xor", "and", "or", "xor"),
    *("clip_by_value", "strings.substr"),
)

_BY_SHAPES = (
    *("abs", "argmax", "argmin", "argsort", "ceil", "convert_to_tensor", "cos", "cumsum", "exp", "expand_dims"),
    *("floor", "identity", "invert", "is_finite", "is_inf", "is_nan", "log", "log1p", "logical_not", "negative"),
    *("one_hot", "ones_like", "pad", "reduce_all", "reduce_any", "reduce_max", "reduce_mean", "reduce_min"),
    *("reduce_prod", "reduce_std", "reduce_sum", "reduce_variance", "reverse", "round", "rsqrt", "saturate_cast"),
    *("sigmoid", "sign", "sin", "sort", "sqrt", "square", "tanh", "tile", "transpose", "zeros_like"),
    *("strings.as_string", "strings.length", "strings.lower", "strings.reduce_join", "strings.regex_full_match"),
    *("strings.regex_replace", "strings.strip", "strings.to_number", "strings.upper"),
    *("image.adjust_brightness", "image.adjust_contrast", "image.central_crop", "image.convert_image_dtype"),
    *("image.flip_left_right", "image.flip_up_down", "image.grayscale_to_rgb", "image.per_image_standardization"),
    *("image.resize_with_crop_or_pad", "image.rgb_to_grayscale"),
)

RULES: dict[str, Callable[..., Any]] = {
    **arrays.RULES,
    **{name: partial(elementwise, name) for name in _ELEMENTWISE},
    **{name: partial(tried, name) for name in _BY_SHAPES},
    **{name: partial(_equal, name) for name in ("operator.equal", "operator.not_equal")},
    "io.parse_single_example": parsed,
    "io.parse_example": parsed_batch,
    "io.parse_single_sequence_example": parsed_sequence,
    "io.parse_sequence_example": parsed_sequences,
    "io.decode_raw": _decode_raw,
    "io.decode_image": _any_image,
    "io.decode_png": _image,
    "io.decode_jpeg": lambda contents, channels=0, *rest, **options: _image(contents, channels),
    "io.decode_compressed": lambda bytes, *rest, **options: bytes,
    "io.parse_tensor": lambda serialized, out_type, name=None: TensorSpec(None, out_type),
    "io.is_jpeg": lambda contents, name=None: TensorSpec([], tf_bool),
    "io.serialize_tensor": _string,
    "io.read_file": _string,
    "io.encode_png": _string,
    "io.encode_jpeg": _string,
    "image.crop_to_bounding_box": _box,
    "image.pad_to_bounding_box": _box,
    "image.rot90": _turned,
    "image.resize": _resized,
    **dict.fromkeys(("py_function", "numpy_function"), _of_python),
    "data.next_element": lambda iterator: iterator.element_spec,
    **dict.fromkeys(("random.uniform", "random.normal"), _drawn),
    **dict.fromkeys(("random.shuffle", "image.random_brightness", "image.random_contrast"), _alike),
    **dict.fromkeys(("image.random_flip_left_right", "image.random_flip_up_down"), _alike),
    "compat.v1.where": arrays.RULES["where"],
    "compat.v1.image.resize": _resized_by_corners,
    "image.random_crop": lambda value, size, *rest, **options: TensorSpec(given_sizes(size), value.dtype),
    "strings.join": _joined_strings,
    "strings.split": _split_strings,
    "strings.bytes_split": _split_strings,
    "sparse.to_dense": lambda sp_input, *rest, **options: TensorSpec(sp_input.shape, sp_input.dtype),
    "sparse.reorder": lambda sp_input, name=None: sp_input,
    "sparse.from_dense": lambda tensor, name=None: SparseTensorSpec(tensor.shape, tensor.dtype),
}
