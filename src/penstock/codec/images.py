"""Decode and encode images as arrays ``[height, width, channels]``, through Pillow.

Channels and depth follow ``tf.io.decode_image(data, channels, dtype)``. Gray is repeated to get color. Color is
weighted to get gray; a JPEG image uses its own luma. Alpha is dropped, or added opaque. A palette is applied. uint8
takes the upper 8 of 16 bits; uint16 is 8 bits times 257. Only the first frame of an animation is read. The EXIF
orientation is not applied.

PNG pixels are equal to TensorFlow's, with two exceptions. Of 16-bit color or alpha, Pillow reads the upper 8 bits
only. Alpha added to an image of fewer than 8 bits is opaque here and almost transparent in TensorFlow. JPEG pixels are
equal to those of TensorFlow's ``dct_method="INTEGER_ACCURATE"``; its default is faster and differs by a few units.
"""

from __future__ import annotations

import functools
import io
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.errors import MalformedExampleError, SchemaError, import_extra
from penstock.schema.feature import fits_shape

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

Buffer: TypeAlias = bytes | bytearray | memoryview
ImageShape: TypeAlias = tuple[int | None, ...]

_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
_CHANNELS = {mode: channels for channels, mode in _MODES.items()} | {"1": 1, "PA": 4, "La": 2, "RGBa": 4}

# libpng's weights of red, green and blue, in parts of 32768.
_LUMA = np.array([9798, 19235, 3735], np.uint32)


def decode_image(data: Buffer, *, dtype: str, shape: ImageShape) -> NDArray[Any]:
    """Decode an image of any format that Pillow reads.

    Args:
        data: The bytes of the image file.
        dtype: ``"uint8"``, or ``"uint16"`` for PNG and TIFF; 16-bit images must be gray.
        shape: Height, width and channels (1 to 4); None accepts any.

    Raises:
        MalformedExampleError: ``data`` is not an image, is damaged, has more pixels than Pillow's
            ``MAX_IMAGE_PIXELS``, or has another shape or depth.
    """
    pillow = _pillow("decoding")
    try:
        with pillow.open(io.BytesIO(data), formats=_formats()) as image:
            limit = pillow.MAX_IMAGE_PIXELS
            if limit is not None and image.width * image.height > limit:
                raise MalformedExampleError(f"an image has {image.width} x {image.height} pixels, more than {limit}")
            _check_size((image.height, image.width), shape)  # before decoding
            pixels = _decode(image, shape[2], np.dtype(dtype))
    except MalformedExampleError:
        raise
    except Exception as error:  # Pillow raises almost anything for damaged images
        unknown = isinstance(error, pillow.UnidentifiedImageError)
        reason = "its format is unknown" if unknown else f"{type(error).__name__}: {error}"
        raise MalformedExampleError(f"an image of {len(data)} bytes cannot be decoded: {reason}") from error
    _check_size(pixels.shape[:2], shape)
    return pixels


def encode_image(array: ArrayLike, encoding: str, *, quality: int = 95) -> bytes:
    """Encode an array ``[height, width, channels]`` as ``"png"``, ``"jpeg"`` or ``"image"``, which is PNG.

    PNG is lossless and takes uint8 with 1 to 4 channels and uint16 with 1 channel. JPEG takes uint8 with 1 or 3
    channels.

    Raises:
        SchemaError: The encoding does not take such an array.
    """
    pixels = np.asarray(array)
    allowed = {"jpeg": {"uint8": (1, 3)}}.get(encoding, {"uint8": (1, 2, 3, 4), "uint16": (1,)})
    channels = allowed.get(pixels.dtype.name, ())
    if pixels.ndim != 3 or pixels.shape[2] not in channels or 0 in pixels.shape:
        takes = " or ".join(f"{name} with {' or '.join(map(str, counts))} channels" for name, counts in allowed.items())
        raise SchemaError(
            f'encoding="{encoding}" takes an array [height, width, channels] of {takes};'
            f" found {pixels.dtype} of shape {pixels.shape}"
        )
    flat = pixels[:, :, 0] if pixels.shape[2] == 1 else pixels
    image = _pillow("encoding").fromarray(np.ascontiguousarray(flat, flat.dtype.newbyteorder("<")))
    file = io.BytesIO()
    if encoding == "jpeg":
        image.save(file, "JPEG", quality=quality)
    else:
        image.save(file, "PNG")
    return file.getvalue()


def _pillow(purpose: str) -> Any:
    return import_extra("PIL.Image", "image", f"{purpose} images")


@functools.cache
def _formats() -> tuple[str, ...]:
    """Return all formats that Pillow reads, except EPS, which would run Ghostscript."""
    pillow = _pillow("decoding")
    pillow.init()
    return tuple(name for name in pillow.OPEN if name != "EPS")


def _check_size(found: tuple[int, ...], shape: ImageShape) -> None:
    if not fits_shape(found, shape[:2]):
        raise MalformedExampleError(f"expected an image of shape {shape}, found height and width {found}")


def _decode(image: ImageFile, channels: int | None, dtype: np.dtype[Any]) -> NDArray[Any]:
    if dtype == np.uint16 and image.format not in ("PNG", "TIFF"):
        raise MalformedExampleError(f"uint16 can be decoded from PNG and TIFF, found {image.format}")
    if image.mode.startswith("I"):
        return _convert_gray16(np.asarray(image), channels, dtype)
    if dtype == np.uint16 and ";16" in str(image.tile):
        raise MalformedExampleError(
            "an image has 16-bit color or alpha, of which only 8 bits can be decoded: use dtype uint8"
        )
    if image.mode == "F":
        raise MalformedExampleError("an image has floating-point pixels, which are not supported")
    pixels = _convert(image, channels)
    return pixels if dtype == np.uint8 else pixels.astype(np.uint16) * np.uint16(257)


def _convert(image: Image, channels: int | None) -> NDArray[np.uint8]:
    if channels == 1 and image.format == "JPEG":
        image.draft("L", image.size)
    if image.mode == "P":
        # Apply the transparency of a palette before dropping channels; otherwise Pillow warns.
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    stored = _CHANNELS.get(image.mode, 3)  # other color spaces become RGB
    wanted = channels or stored
    if stored > 2 >= wanted:
        return _to_gray(np.asarray(image.convert("RGBA")), wanted)
    pixels = np.array(image.convert(_MODES[wanted]))  # copy, because Pillow's pixels are read-only
    return pixels.reshape(*pixels.shape[:2], wanted)


def _to_gray(rgba: NDArray[np.uint8], channels: int) -> NDArray[np.uint8]:
    gray = (rgba[:, :, :3] @ _LUMA >> 15).astype(np.uint8)
    return np.stack([gray, rgba[:, :, 3]][:channels], axis=-1)


def _convert_gray16(gray: NDArray[Any], channels: int | None, dtype: np.dtype[Any]) -> NDArray[Any]:
    if gray.min() < 0 or gray.max() > 0xFFFF:  # Pillow uses 32 bits for some images
        raise MalformedExampleError("an image has more than 16 bits per pixel")
    gray = (gray >> 8 if dtype == np.uint8 else gray).astype(dtype)
    opaque = np.full_like(gray, np.iinfo(dtype).max)
    planes = {1: [gray], 2: [gray, opaque], 3: [gray] * 3, 4: [gray, gray, gray, opaque]}
    return np.stack(planes[channels or 1], axis=-1)
