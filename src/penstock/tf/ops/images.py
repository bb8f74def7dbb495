"""``tf.image``: operations on images ``[height, width, channels]`` and batches of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock import image as pixels
from penstock.tf.errors import InvalidArgumentError
from penstock.tf.ops.batch_and_spec_rules import (
    batch_whole,
    only_first_is_stacked,
    sizes_of_argument,
    spec_by_trial,
    spec_of_first,
    stacked,
)
from penstock.tf.ops.creation import saturate_cast
from penstock.tf.ops.random import draw_uniform
from penstock.tf.ops.resize import METHODS, resample
from penstock.tf.registry import operation
from penstock.tf.tensors.convert import as_array, as_shape, as_tensor, cast_array, new_shape
from penstock.tf.tensors.dtypes import as_dtype, float32, int32, of_numpy
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tensors.tensor import Tensor


class ResizeMethod:
    """Names of the resize methods."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


def batch_images(operation: Any, *args: Any, **options: Any) -> Any:
    """Call the operation on one batch of images, where each row is one image."""
    if not args or not only_first_is_stacked(*args, **options) or args[0].array.ndim != 4:
        return NotImplemented
    return stacked(operation(Tensor(args[0].array), *args[1:], **options))


def _resize_spec(operation: Any, images: Any, size: Any, *args: Any, **options: Any) -> Any:
    sizes = sizes_of_argument(size) or [None, None]
    found = spec_by_trial(operation, images, [known or 1 for known in sizes], *args, **options)
    if options.get("preserve_aspect_ratio"):
        return _unknown_size(found) if None in (*sizes, *images.shape[-3:-1]) else found
    return TensorSpec([*found.shape[:-3], *sizes, *found.shape[-1:]], found.dtype)


def _unknown_size(images: TensorSpec) -> TensorSpec:
    return TensorSpec([*images.shape[:-3], None, None, *images.shape[-1:]], images.dtype)


@operation("image.resize", batch=batch_images, spec=_resize_spec)
def resize(
    images: Any,
    size: Any,
    method: str = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resize to float32; with the nearest pixel, to the dtype of the image."""
    array = image_of(images)
    if array.ndim > 4:
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    height, width = as_shape(size)
    check_size(array, height, width)
    if preserve_aspect_ratio:
        height, width = fit_size(array.shape[-3:-1], height, width)
        check_size(array, height, width)
    if method == ResizeMethod.NEAREST_NEIGHBOR:
        rows, columns = _nearest(array.shape[-3], height), _nearest(array.shape[-2], width)
        return Tensor(array.take(rows, -3).take(columns, -2))
    if method == ResizeMethod.BILINEAR and not antialias:
        return Tensor(pixels.resize(array, (height, width)))
    if method not in METHODS:
        raise ValueError(f"Resize method is not implemented: {method}")
    return Tensor(resample(array, height, width, method, antialias=antialias))


def check_size(array: NDArray[Any], height: int, width: int) -> None:
    """Raise unless images can be resized to this size."""
    if min(height, width) < 1 or 0 in array.shape[-3:-1]:
        raise InvalidArgumentError(f"cannot resize an image of shape {array.shape} to {height} x {width}")
    # Twice the memory of the result: height and width are resized one after the other.
    new_shape((*array.shape[:-3], height, width, array.shape[-1]), np.dtype(np.float64))


def fit_size(old: tuple[int, ...], height: int, width: int) -> tuple[int, int]:
    """Return the largest size with the same aspect ratio that fits."""
    scale = min(np.float32(height) / np.float32(old[0]), np.float32(width) / np.float32(old[1]))
    return int(np.round(scale * np.float32(old[0]))), int(np.round(scale * np.float32(old[1])))


def _nearest(old: int, new: int) -> NDArray[np.int64]:
    scale = np.float32(old) / np.float32(new)
    return np.minimum(((np.arange(new, dtype=np.float32) + np.float32(0.5)) * scale).astype(np.int64), old - 1)


@operation("image.convert_image_dtype", batch=batch_whole, spec=spec_by_trial)
def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False, name: str | None = None) -> Tensor:
    """Convert and scale: floats are between 0 and 1, integers between 0 and their largest value."""
    tensor, wanted = as_tensor(image), as_dtype(dtype)
    array, found = tensor._array, tensor.dtype
    if not all(one.is_floating or one.is_integer for one in (found, wanted)):
        raise AttributeError("expected images of a floating point or integer dtype")
    if found == wanted:
        return tensor
    if found.is_floating:
        if wanted.is_floating:
            return Tensor(cast_array(array, wanted))
        return _as(array * array.dtype.type(wanted.max + 0.5), wanted, saturate)
    if wanted.is_floating:
        return Tensor(cast_array(array, wanted) * wanted.numpy.type(1.0 / found.max))
    if found.max > wanted.max:
        return _as(array // array.dtype.type((found.max + 1) // (wanted.max + 1)), wanted, saturate)
    return Tensor(_as(array, wanted, saturate)._array * wanted.numpy.type((wanted.max + 1) // (found.max + 1)))


def _as(array: NDArray[Any], dtype: Any, saturate: bool) -> Tensor:
    return saturate_cast(Tensor(array), dtype) if saturate else Tensor(cast_array(array, dtype))


@operation("image.per_image_standardization", spec=spec_by_trial)
def per_image_standardization(image: Any) -> Tensor:
    """Scale each image to mean 0 and variance 1."""
    array = image_of(image).astype(np.float32)
    mean = array.mean((-3, -2, -1), keepdims=True, dtype=np.float32)
    deviation = array.std((-3, -2, -1), keepdims=True, dtype=np.float32)
    least = np.float32(1 / np.sqrt(np.prod(array.shape[-3:])))
    return Tensor((array - mean) / np.maximum(deviation, least))


@operation("image.flip_left_right", batch=batch_images, spec=spec_by_trial)
def flip_left_right(image: Any) -> Tensor:
    """Flip horizontally."""
    return Tensor(image_of(image)[..., ::-1, :])


@operation("image.flip_up_down", batch=batch_images, spec=spec_by_trial)
def flip_up_down(image: Any) -> Tensor:
    """Flip vertically."""
    return Tensor(image_of(image)[..., ::-1, :, :])


def _rot90_spec(operation: Any, image: Any, *rest: Any, **options: Any) -> Any:
    return _unknown_size(image)


@operation("image.rot90", batch=batch_images, spec=_rot90_spec)
def rot90(image: Any, k: int = 1, name: str | None = None) -> Tensor:
    """Rotate counter-clockwise by ``k`` times 90 degrees."""
    return Tensor(np.rot90(image_of(image), k, (-3, -2)))


@operation("image.random_flip_left_right", spec=spec_of_first, effects="random")
def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """Flip horizontally with probability 1/2, independently for each image of a batch."""
    return _random_flip(image_of(image), -2, seed)


@operation("image.random_flip_up_down", spec=spec_of_first, effects="random")
def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """Flip vertically with probability 1/2, independently for each image of a batch."""
    return _random_flip(image_of(image), -3, seed)


def _random_flip(array: NDArray[Any], axis: int, seed: int | None) -> Tensor:
    if array.ndim > 4:
        raise ValueError(f"'image' (shape {array.shape}) must have either 3 or 4 dimensions.")
    drawn = draw_uniform(array.shape[:-3], 0, 1, float32, seed)
    # TensorFlow flips a single image for draws below 1/2, and images of a batch for draws above it.
    flips = (drawn > 0.5 if drawn.ndim else drawn < 0.5)[..., None, None, None]
    return Tensor(np.where(flips, np.flip(array, axis), array))


@operation("image.random_brightness", spec=spec_of_first, effects="random")
def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """Add a random value to all pixels."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, draw_uniform((), -max_delta, max_delta, float32, seed))


@operation("image.random_contrast", spec=spec_of_first, effects="random")
def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """Scale the contrast by a random factor."""
    if not 0 <= lower < upper:
        raise ValueError(f"lower and upper must be 0 <= lower < upper, got {lower} and {upper}")
    return adjust_contrast(image, draw_uniform((), lower, upper, float32, seed))


def _random_crop_spec(operation: Any, value: Any, size: Any, *rest: Any, **options: Any) -> Any:
    return TensorSpec(sizes_of_argument(size), value.dtype)


@operation("image.random_crop", spec=_random_crop_spec, effects="random")
def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """Crop to a size, at a random position."""
    array, wanted = as_array(value), as_shape(size)
    room = np.array(array.shape) - np.array(wanted)
    if len(wanted) != array.ndim or (room < 0).any():
        raise InvalidArgumentError(f"Need value.shape >= size, got {array.shape} and {wanted}")
    # Drawn in the dtype of the size: int64 and int32 have different draws.
    kind = size.dtype if isinstance(size, Tensor) else int32
    starts = draw_uniform((array.ndim,), 0, kind.max, kind, seed) % (room + 1)
    return Tensor(array[tuple(slice(start, start + length) for start, length in zip(starts, wanted, strict=True))])


@operation("image.adjust_brightness", batch=batch_images, spec=spec_by_trial)
def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """Add ``delta`` to all pixels; for integers, ``delta`` is a fraction of their range."""
    tensor = as_tensor(image)
    return _via_float32(tensor, lambda array: array + array.dtype.type(delta))


@operation("image.adjust_contrast", spec=spec_by_trial)
def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Scale the distance of all pixels from the mean of their channel."""

    def adjust(array: NDArray[Any]) -> NDArray[Any]:
        mean = array.mean((-3, -2), keepdims=True, dtype=np.float32).astype(array.dtype)
        adjusted: NDArray[Any] = (array - mean) * array.dtype.type(contrast_factor) + mean
        return adjusted

    return _via_float32(as_tensor(images), adjust)


def _via_float32(tensor: Tensor, function: Any) -> Tensor:
    if tensor.dtype.is_floating and tensor.dtype.name in ("float16", "float32"):
        return Tensor(function(tensor._array))
    changed = Tensor(function(convert_image_dtype(tensor, float32)._array))
    return convert_image_dtype(changed, tensor.dtype, saturate=True)


@operation("image.rgb_to_grayscale", spec=spec_by_trial)
def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """Convert red, green and blue to gray."""
    tensor = as_tensor(images)
    color = convert_image_dtype(tensor, float32)._array
    gray = (color @ np.array([0.2989, 0.5870, 0.1140], np.float32))[..., None]
    return convert_image_dtype(Tensor(gray), tensor.dtype)


@operation("image.grayscale_to_rgb", batch=batch_images, spec=spec_by_trial)
def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Repeat the gray channel three times."""
    array = as_array(images)
    if array.shape[-1] != 1:
        raise ValueError(f"expected one channel, found shape {array.shape}")
    return Tensor(np.repeat(array, 3, -1))


@operation("image.central_crop", batch=batch_images, spec=spec_by_trial)
def central_crop(image: Any, central_fraction: float) -> Tensor:
    """Crop to the central part."""
    array = image_of(image)
    if not 0 < central_fraction <= 1:
        raise ValueError("central_fraction must be within (0, 1]")
    height, width = array.shape[-3:-1]
    top = int((height - height * central_fraction) / 2)
    left = int((width - width * central_fraction) / 2)
    return Tensor(array[..., top : height - top, left : width - left, :])


def _bounding_box_spec(
    operation: Any, image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    sizes = [None if isinstance(size, TensorSpec) else int(size) for size in (target_height, target_width)]
    return TensorSpec(image.shape[:-3] + sizes + image.shape[-1:], image.dtype)


@operation("image.crop_to_bounding_box", batch=batch_images, spec=_bounding_box_spec)
def crop_to_bounding_box(
    image: Any, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Tensor:
    """Crop to a rectangle."""
    array = image_of(image)
    top, left, height, width = map(int, (offset_height, offset_width, target_height, target_width))
    if min(top, left) < 0 or min(height, width) < 1 or top + height > array.shape[-3] or left + width > array.shape[-2]:
        raise ValueError(f"a rectangle {height} x {width} at ({top}, {left}) is not inside {array.shape}")
    return Tensor(array[..., top : top + height, left : left + width, :])


@operation("image.pad_to_bounding_box", batch=batch_images, spec=_bounding_box_spec)
def pad_to_bounding_box(
    image: Any, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Tensor:
    """Pad with zeros to a size, with the image at an offset."""
    array = image_of(image)
    top, left, height, width = map(int, (offset_height, offset_width, target_height, target_width))
    rows, columns = array.shape[-3:-1]
    if min(top, left) < 0 or top + rows > height or left + columns > width:
        raise ValueError(f"an image of shape {array.shape} at ({top}, {left}) is not inside {height} x {width}")
    padded = np.zeros(new_shape((*array.shape[:-3], height, width, array.shape[-1]), array.dtype), array.dtype)
    padded[..., top : top + rows, left : left + columns, :] = array
    return Tensor(padded)


@operation("image.resize_with_crop_or_pad", batch=batch_images, spec=spec_by_trial)
def resize_with_crop_or_pad(image: Any, target_height: int, target_width: int) -> Tensor:
    """Crop or pad to a size, around the center."""
    array = image_of(image)
    height, width = int(target_height), int(target_width)
    if min(height, width) < 1:
        raise ValueError("target_height and target_width must be > 0.")
    more_rows, more_columns = height - array.shape[-3], width - array.shape[-2]
    top, left = max(-more_rows // 2, 0), max(-more_columns // 2, 0)
    cropped = array[..., top : top + height, left : left + width, :]
    return pad_to_bounding_box(Tensor(cropped), max(more_rows // 2, 0), max(more_columns // 2, 0), height, width)


def image_of(value: Any) -> NDArray[Any]:
    """Return an image, or a batch of them, as an array."""
    array = as_array(value)
    if array.ndim < 3 or not of_numpy(array.dtype).is_numeric:
        raise ValueError(
            f"expected an image [..., height, width, channels], found {array.dtype} of shape {array.shape}"
        )
    return array
