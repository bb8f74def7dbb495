"""Decode and encode images as arrays ``[height, width, channels]``: JPEG and PNG natively, other formats by Pillow.

Pixels, and what is rejected, are those of ``tf.io.decode_image(data, channels, dtype)``; JPEG has TensorFlow's default
``dct_method``, the fast one. Gray is repeated to get color. Color is weighted to get gray; a JPEG image uses its own
luma. Alpha is dropped, or added opaque: of a PNG image of fewer than 8 bits, TensorFlow's is almost transparent, and
so is ours. A palette is applied. uint8 takes the upper 8 of 16 bits; uint16 is 8 bits times 257. Only the first frame
of an animation is read. The EXIF orientation is not applied.

In a build without libjpeg-turbo, Pillow decodes JPEG, with ``dct_method="INTEGER_ACCURATE"``: a few units off.
"""

from __future__ import annotations

import functools
import io
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock import _core
from penstock.columns import BytesColumn
from penstock.errors import MalformedExampleError, MissingExtraError, SchemaError, import_extra
from penstock.schema.feature import fits_shape

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

Buffer: TypeAlias = bytes | bytearray | memoryview
ImageShape: TypeAlias = tuple[int | None, ...]
Decoded: TypeAlias = tuple[NDArray[Any] | None, dict[int, Any]]

_MAX_PIXELS = 89_478_485  # of Pillow by default: 256 MiB of RGB
_NO_LIMIT = 1 << 29

# Images that are declared to be larger are decoded one by one: a schema may declare what no file holds.
_MOST_KNOWN_VALUES = 64 << 20
# With fewer images, starting threads costs more than it saves.
_MIN_IMAGES_FOR_THREADS = 8

_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
_CHANNELS = {mode: channels for channels, mode in _MODES.items()} | {"1": 1, "PA": 4, "La": 2, "RGBa": 4}

# libpng's weights of red, green and blue, in parts of 32768.
_LUMA = np.array([9797, 19234, 3737], np.uint32)


def decode_image(data: Buffer, *, dtype: str, shape: ImageShape) -> NDArray[Any]:
    """Decode an image of any format.

    Args:
        data: The bytes of the image file.
        dtype: ``"uint8"``, or ``"uint16"`` for PNG and TIFF.
        shape: Height, width and channels (1 to 4); None accepts any.

    Raises:
        MalformedExampleError: ``data`` is not an image, is damaged, has more pixels than :func:`max_pixels`, or has
            another shape or depth.
    """
    _, (pixels,) = ImageDecoder(dtype, shape, threads=1).decode_list([data])
    if isinstance(pixels, Exception):
        raise pixels
    decoded: NDArray[Any] = pixels
    return decoded


class ImageDecoder:
    """Decodes many images in one call, on native threads that start with the first call and end with the object.

    Args:
        dtype: ``"uint8"``, or ``"uint16"`` for PNG and TIFF.
        shape: Height, width and channels (1 to 4); None accepts any.
        threads: The number of threads.
    """

    def __init__(self, dtype: str, shape: ImageShape, *, threads: int) -> None:
        self._dtype, self._shape, self._threads = dtype, shape, threads
        self._native: tuple[int, _core.ImageDecoder] | None = None

    def decode_column(self, column: BytesColumn, valid: NDArray[np.bool_] | None) -> Decoded:
        """Decode the rows of a column that ``valid`` does not exclude.

        Returns:
            The pixels of all images as one array if ``shape`` is known and not huge, else None; and the rows whose
            pixels are not in it: their own array, or an exception.
        """
        pixels, others = self._opened().decode_views(column.views, column.buffers, valid, self._known_shape())
        return pixels, self._with_other_formats(others, lambda row: column[row])

    def decode_list(self, files: list[Buffer]) -> tuple[None, list[Any]]:
        """Decode files; return the array or the exception of each."""
        _, others = self._opened().decode_list(files, None)
        return None, list(self._with_other_formats(others, lambda row: files[row]).values())

    def _known_shape(self) -> tuple[int, int, int] | None:
        height, width, channels = self._shape
        if height is None or width is None or channels is None or height * width * channels > _MOST_KNOWN_VALUES:
            return None
        return height, width, channels

    def _opened(self) -> _core.ImageDecoder:
        limit = max_pixels()
        if self._native is None or self._native[0] != limit:
            height, width, channels = self._shape
            bits = 16 if self._dtype == "uint16" else 8
            native = _core.ImageDecoder(
                channels=channels or 0, bits=bits, height=height, width=width, max_pixels=limit, threads=self._threads
            )
            self._native = (limit, native)
        return self._native[1]

    def _with_other_formats(self, others: dict[int, Any], file_of: Callable[[int], Buffer]) -> dict[int, Any]:
        """Decode images of other formats by Pillow, and turn what is wrong with others into exceptions."""

        def settle(row: int) -> Any:
            found = others[row]
            if isinstance(found, np.ndarray):
                return found
            if isinstance(found, tuple):
                return _wrong_size(found, self._shape)
            try:
                file = file_of(row)
                return decode_by_pillow(file, self._dtype, self._shape) if found is None else invalid_image(file, found)
            except (MalformedExampleError, MissingExtraError) as error:
                return error

        rows = list(others)
        slow = sum(found is None for found in others.values())
        if slow < _MIN_IMAGES_FOR_THREADS or self._threads == 1:
            return {row: settle(row) for row in rows}
        with ThreadPoolExecutor(min(8, self._threads), thread_name_prefix="penstock-image") as pool:
            return dict(zip(rows, pool.map(settle, rows), strict=True))


def max_pixels() -> int:
    """Return the most pixels that an image may have: Pillow's ``MAX_IMAGE_PIXELS``, which a program may change."""
    pillow = sys.modules.get("PIL.Image")
    limit = _MAX_PIXELS if pillow is None else pillow.MAX_IMAGE_PIXELS
    return _NO_LIMIT if limit is None else limit


def invalid_image(data: Buffer, reason: str) -> MalformedExampleError:
    """Return the error for an image that cannot be decoded."""
    limit = f" (PIL.Image.MAX_IMAGE_PIXELS is {max_pixels()})" if "too many pixels" in reason else ""
    return MalformedExampleError(f"an image of {len(data)} bytes cannot be decoded: {reason}{limit}")


def _wrong_size(found: tuple[int, ...], shape: ImageShape) -> MalformedExampleError:
    return MalformedExampleError(f"expected an image of shape {shape}, found height and width {found}")


def decode_by_pillow(data: Buffer, dtype: str, shape: ImageShape) -> NDArray[Any]:
    """Decode an image of any format by Pillow."""
    pillow = _pillow("decoding")
    try:
        with pillow.open(io.BytesIO(data), formats=_formats()) as image:
            if image.width * image.height > max_pixels():
                raise invalid_image(data, "it has too many pixels")
            _check_size((image.height, image.width), shape)  # before decoding
            pixels = _decode(image, shape[2], np.dtype(dtype))
    except MalformedExampleError:
        raise
    except Exception as error:  # Pillow raises almost anything for damaged images
        unknown = isinstance(error, pillow.UnidentifiedImageError)
        raise invalid_image(data, "its format is unknown" if unknown else f"{type(error).__name__}: {error}") from error
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
        raise _wrong_size(found, shape)


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
