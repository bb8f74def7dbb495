"""``tf.io``: decode images, and encode JPEG and PNG. The JPEG and PNG files of a batch are decoded in one call."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from penstock import _core
from penstock.codec import images as codec
from penstock.errors import import_extra
from penstock.parallel import available_cpus
from penstock.tf.errors import InvalidArgumentError, tensorflow_errors
from penstock.tf.io.image_formats import MAX_PIXELS, ImageRequest, check_request, decode_file, format_of, pixels_of
from penstock.tf.ops.images import convert_image_dtype
from penstock.tf.registry import operation
from penstock.tf.tensors.batch_values import RowValues, Stacked, stack_rows
from penstock.tf.tensors.convert import as_array, as_bytes, new_shape, object_array
from penstock.tf.tensors.dtypes import as_dtype, float32, int32, of_numpy, string, uint16
from penstock.tf.tensors.dtypes import bool as tf_bool
from penstock.tf.tensors.dtypes import uint8 as tf_uint8
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tensors.tensor import Tensor


def _decode(contents: Any, request: ImageRequest) -> Tensor:
    return Tensor(decode_file(as_bytes(contents), request))


def _batch_of(request_of: Callable[..., tuple[Any, ImageRequest]]) -> Callable[..., Any]:
    """Return the batch rule of an operation: all JPEG and PNG files of a batch are decoded in one call."""

    def rule(operation: Any, *args: Any, **options: Any) -> Any:
        contents, request = request_of(*args, **options)
        if not isinstance(contents, Stacked) or contents.array.dtype != object or contents.array.ndim != 1:
            return NotImplemented
        files = contents.array.tolist()
        kinds = set(map(format_of, files))
        if not kinds <= {"JPEG", "PNG"} or ("JPEG" in kinds and (not _core.DECODES_JPEG or request.dtype != tf_uint8)):
            return NotImplemented
        if request.dtype == float32 or request.operation == "decode_gif":
            return NotImplemented
        for kind in kinds:
            check_request(b"file", kind, request)
        native, windows = request.native(available_cpus()), request.windows
        if windows is not None:
            windows = np.ascontiguousarray(np.broadcast_to(windows, (len(files), 4)))
        shape = native.shape_of(files[0])
        if shape is not None and windows is not None:
            height, width = windows[0, 2:].tolist()
            shape = (height, width, shape[2]) if min(height, width) > 0 else None
        if shape is not None:
            dtype = np.dtype(np.uint8 if request.dtype == tf_uint8 else np.uint16)
            new_shape((len(files), *shape), dtype)
        pixels, others = native.decode_list(files, shape, windows)
        if pixels is not None and not others:
            return Stacked(pixels)
        rows = [pixels_of(others[row], files[row]) if row in others else pixels[row] for row in range(len(files))]
        tensors = [Tensor(row) for row in rows]
        return stack_rows(tensors) if pixels is None else RowValues(tensors)

    return rule


def _image_spec(contents: Any, channels: Any = 0, dtype: Any = tf_uint8) -> Any:
    return TensorSpec([None, None, channels or None], dtype)


def _decode_png_spec(
    operation: Any, contents: Any, channels: int = 0, dtype: Any = tf_uint8, name: str | None = None
) -> Any:
    return _image_spec(contents, channels, dtype)


def _decode_jpeg_spec(operation: Any, contents: Any, channels: int = 0, *rest: Any, **options: Any) -> Any:
    return _image_spec(contents, channels)


def _decode_crop_spec(
    operation: Any, contents: Any, crop_window: Any, channels: int = 0, *rest: Any, **options: Any
) -> Any:
    return _image_spec(contents, channels)


def _decode_gif_spec(operation: Any, contents: Any, name: str | None = None) -> Any:
    return TensorSpec([None, None, None, 3], tf_uint8)


def _decode_image_spec(
    operation: Any,
    contents: Any,
    channels: int = 0,
    dtype: Any = tf_uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Any:
    return TensorSpec(None, dtype) if expand_animations else _image_spec(contents, channels, dtype)


def _image_request(
    contents: Any,
    channels: int | None = None,
    dtype: Any = tf_uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> tuple[Any, ImageRequest]:
    return contents, ImageRequest("decode_image", int(channels or 0), as_dtype(dtype), bool(expand_animations))


def _batch_images(operation: Any, *args: Any, **options: Any) -> Any:
    if _image_request(*args, **options)[1].dtype not in (tf_uint8, uint16, float32):
        return NotImplemented
    return _batch_of(_image_request)(operation, *args, **options)


@operation("io.decode_image", spec=_decode_image_spec, batch=_batch_images)
def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = tf_uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """Decode an image of any format; an animation has all frames, or the first without ``expand_animations``."""
    wanted = as_dtype(dtype)
    direct = wanted in (tf_uint8, uint16, float32)
    _, request = _image_request(contents, channels, wanted if direct else uint16, None, expand_animations)
    image = _decode(contents, request)
    return image if direct else convert_image_dtype(image, wanted)


def _png_request(
    contents: Any, channels: int = 0, dtype: Any = tf_uint8, name: str | None = None
) -> tuple[Any, ImageRequest]:
    wanted = as_dtype(dtype)
    if wanted not in (tf_uint8, uint16):
        raise InvalidArgumentError(f"dtype must be uint8 or uint16, found {wanted.name}")
    return contents, ImageRequest("decode_png", int(channels), wanted)


@operation("io.decode_png", spec=_decode_png_spec, batch=_batch_of(_png_request))
def decode_png(contents: Any, channels: int = 0, dtype: Any = tf_uint8, name: str | None = None) -> Tensor:
    """Decode an image of any format but BMP."""
    return _decode(*_png_request(contents, channels, dtype))


def _jpeg_request(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> tuple[Any, ImageRequest]:
    return contents, ImageRequest(
        "decode_jpeg",
        int(channels),
        ratio=int(ratio),
        fancy_upscaling=fancy_upscaling,
        recover_truncated=try_recover_truncated,
        acceptable_fraction=float(acceptable_fraction),
        dct_method=dct_method,
    )


@operation("io.decode_jpeg", spec=_decode_jpeg_spec, batch=_batch_of(_jpeg_request))
def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Decode an image of any format but BMP; the options are for JPEG."""
    options = (channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method)
    return _decode(*_jpeg_request(contents, *options))


def _crop_request(contents: Any, crop_window: Any, *args: Any, **options: Any) -> tuple[Any, ImageRequest]:
    if isinstance(crop_window, list | tuple) and any(isinstance(side, Stacked) for side in crop_window):
        sides = [side.array if isinstance(side, Stacked) else as_array(side) for side in crop_window]
        crop_window = Stacked(np.stack(np.broadcast_arrays(*sides), axis=-1))
    window = crop_window.array if isinstance(crop_window, Stacked) else as_array(crop_window)
    if window.shape[-1:] != (4,) or window.ndim > 2:
        raise InvalidArgumentError(f"crop_window must have four elements, found shape {list(window.shape)}")
    windows = np.ascontiguousarray(window.reshape(-1, 4), np.int64)
    _, request = _jpeg_request(contents, *args, **options)
    return contents, replace(request, operation="decode_and_crop_jpeg", windows=windows)


@operation("io.decode_and_crop_jpeg", spec=_decode_crop_spec, batch=_batch_of(_crop_request))
def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Decode the window ``[top, left, height, width]`` of a JPEG image, and little else of it."""
    options = (channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method)
    return _decode(*_crop_request(contents, crop_window, *options))


@operation("io.decode_bmp", spec=_decode_jpeg_spec)
def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """Decode a BMP image."""
    return _decode(contents, ImageRequest("decode_bmp", int(channels)))


@operation("io.decode_gif", spec=_decode_gif_spec)
def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """Decode all frames of a GIF image, or an image of another format as one frame."""
    image = _decode(contents, ImageRequest("decode_gif", 3))
    return image if image._array.ndim == 4 else Tensor(image._array[None])


def _jpeg_shape_spec(operation: Any, contents: Any, output_type: Any = int32, name: str | None = None) -> Any:
    return TensorSpec([3], output_type)


@operation("io.extract_jpeg_shape", spec=_jpeg_shape_spec)
def extract_jpeg_shape(contents: Any, output_type: Any = int32, name: str | None = None) -> Tensor:
    """Return height, width and channels of a JPEG image by its header."""
    data = as_bytes(contents)
    shape = _core.jpeg_shape(data, MAX_PIXELS) if _core.DECODES_JPEG else _shape_by_pillow(data)
    if shape is None:
        raise InvalidArgumentError("Invalid JPEG data, size " + str(len(data)))
    return Tensor(np.array(shape, as_dtype(output_type).numpy))


def _shape_by_pillow(data: bytes) -> tuple[int, int, int] | None:
    pillow = import_extra("PIL.Image", "image", "reading JPEG images")
    try:
        with pillow.open(io.BytesIO(data), formats=("JPEG",)) as image:
            return image.height, image.width, len(image.getbands())
    except (OSError, SyntaxError, ValueError):
        return None


@operation("io.encode_png", spec=lambda operation, *args, **options: TensorSpec([], string))
def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """Encode an image as PNG."""
    return _encoded(image, "png", 95)


@operation("io.encode_jpeg", spec=lambda operation, *args, **options: TensorSpec([], string))
def encode_jpeg(image: Any, format: str = "", quality: int = 95, **options: Any) -> Tensor:
    """Encode an image as JPEG; options other than the quality are ignored."""
    return _encoded(image, "jpeg", quality)


def _encoded(image: Any, encoding: str, quality: int) -> Tensor:
    array = as_array(image)
    if of_numpy(array.dtype).name not in ("uint8", "uint16"):
        raise InvalidArgumentError(f"expected an image of uint8 or uint16, found {of_numpy(array.dtype).name}")
    with tensorflow_errors():
        return Tensor(object_array([codec.encode_image(array, encoding, quality=quality)], ()))


@operation("io.is_jpeg", spec=lambda operation, *args, **options: TensorSpec([], tf_bool))
def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Return whether bytes begin like a JPEG image."""
    return Tensor(np.array(as_bytes(contents)[:3] == b"\xff\xd8\xff"))
