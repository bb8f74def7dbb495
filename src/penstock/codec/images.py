"""Images in bytes to arrays ``[height, width, channels]`` and back, through Pillow.

Channels and depth follow ``tf.io.decode_image(data, channels, dtype)``: gray is repeated to make colour; colour is
weighed to make gray (a JPEG image keeps its own luma); alpha is dropped, or added opaque; a palette is looked up; of
16 bits uint8 keeps the upper 8, and 8 bits become uint16 times 257. Of an animation the first frame is read. The
orientation that a camera noted is not applied.

PNG pixels are the same as TensorFlow's, with two exceptions: of 16 bits in colour or with alpha Pillow knows the upper
8; and alpha added to fewer than 8 bits is opaque here, almost transparent there. JPEG pixels are those of TensorFlow's
``dct_method="INTEGER_ACCURATE"``; its default is faster and a few units off.
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

# What libpng weighs red, green and blue with, in parts of 32768.
_LUMA = np.array([9798, 19235, 3735], np.uint32)


def decode_image(data: Buffer, *, dtype: str, shape: ImageShape) -> NDArray[Any]:
    """Decode an image of any format that Pillow reads.

    Args:
        data: The bytes of the image file.
        dtype: ``"uint8"``; or ``"uint16"``, from PNG and TIFF alone, and of 16 bits from gray alone.
        shape: Height, width and channels (1 to 4); None takes what the image has.

    Raises:
        MalformedExampleError: ``data`` is no image, is damaged, is larger than Pillow's ``MAX_IMAGE_PIXELS``, or does
            not have the shape or depth.
    """
    pillow = _pillow("decoding")
    try:
        with pillow.open(io.BytesIO(data), formats=_formats()) as image:
            limit = pillow.MAX_IMAGE_PIXELS
            if limit is not None and image.width * image.height > limit:
                raise MalformedExampleError(f"an image has {image.width} x {image.height} pixels, more than {limit}")
            _check_size((image.height, image.width), shape)  # before anything is decoded
            pixels = _decode(image, shape[2], np.dtype(dtype))
    except MalformedExampleError:
        raise
    except Exception as error:  # of damaged images Pillow raises almost anything
        unknown = isinstance(error, pillow.UnidentifiedImageError)
        reason = "its format is unknown" if unknown else f"{type(error).__name__}: {error}"
        raise MalformedExampleError(f"an image of {len(data)} bytes cannot be decoded: {reason}") from error
    _check_size(pixels.shape[:2], shape)
    return pixels


def encode_image(array: ArrayLike, encoding: str, *, quality: int = 95) -> bytes:
    """Encode an array ``[height, width, channels]`` as ``"png"``, as ``"jpeg"``, or as ``"image"``, which is PNG.

    PNG takes uint8 of 1 to 4 channels and uint16 of 1 channel, and loses nothing. JPEG takes uint8 of 1 or 3 channels.

    Raises:
        SchemaError: The array is none that the encoding takes.
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
    """All that Pillow reads by itself: EPS is a program, and would be run by another one."""
    pillow = _pillow("decoding")
    pillow.init()
    return tuple(name for name in pillow.OPEN if name != "EPS")


def _check_size(found: tuple[int, ...], shape: ImageShape) -> None:
    if not fits_shape(found, shape[:2]):
        raise MalformedExampleError(f"expected an image of shape {shape}, found height and width {found}")


def _decode(image: ImageFile, channels: int | None, dtype: np.dtype[Any]) -> NDArray[Any]:
    if dtype == np.uint16 and image.format not in ("PNG", "TIFF"):
        raise MalformedExampleError(f"uint16 is decoded from PNG and TIFF, found {image.format}")
    if image.mode.startswith("I"):
        return _convert_gray16(np.asarray(image), channels, dtype)
    if dtype == np.uint16 and ";16" in str(image.tile):
        raise MalformedExampleError("an image of 16 bits has colour or alpha, of which only 8 bits can be decoded")
    if image.mode == "F":
        raise MalformedExampleError("an image has floating-point pixels")
    pixels = _convert(image, channels)
    return pixels if dtype == np.uint8 else pixels.astype(np.uint16) * np.uint16(257)


def _convert(image: Image, channels: int | None) -> NDArray[np.uint8]:
    if channels == 1 and image.format == "JPEG":
        image.draft("L", image.size)
    if image.mode == "P":
        # Transparency that a palette has is applied before anything is dropped; otherwise Pillow warns.
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    stored = _CHANNELS.get(image.mode, 3)  # other colour spaces become RGB
    wanted = channels or stored
    if stored > 2 >= wanted:
        return _gray_of(np.asarray(image.convert("RGBA")), wanted)
    pixels = np.array(image.convert(_MODES[wanted]))  # a copy: Pillow's own pixels are read-only
    return pixels.reshape(*pixels.shape[:2], wanted)


def _gray_of(rgba: NDArray[np.uint8], channels: int) -> NDArray[np.uint8]:
    gray = (rgba[:, :, :3] @ _LUMA >> 15).astype(np.uint8)
    return np.stack([gray, rgba[:, :, 3]][:channels], axis=-1)


def _convert_gray16(gray: NDArray[Any], channels: int | None, dtype: np.dtype[Any]) -> NDArray[Any]:
    if gray.min() < 0 or gray.max() > 0xFFFF:  # Pillow has 32 bits for some of them
        raise MalformedExampleError("an image has pixels beyond 16 bits")
    gray = (gray >> 8 if dtype == np.uint8 else gray).astype(dtype)
    opaque = np.full_like(gray, np.iinfo(dtype).max)
    planes = {1: [gray], 2: [gray, opaque], 3: [gray] * 3, 4: [gray, gray, gray, opaque]}
    return np.stack(planes[channels or 1], axis=-1)
