"""How ``tf.io`` decodes a file of each image format: JPEG and PNG natively, BMP by NumPy, GIF and WebP by Pillow.

Every operation reads every format, as in TensorFlow, except for BMP and for what has no meaning there.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.codec import images as codec
from penstock.errors import import_extra
from penstock.tf.errors import InvalidArgumentError, tensorflow_errors
from penstock.tf.tensors.convert import new_shape
from penstock.tf.tensors.dtypes import float32, uint16
from penstock.tf.tensors.dtypes import uint8 as tf_uint8

MAX_PIXELS = 1 << 29  # of TensorFlow
_CHANNELS = (0, 1, 3, 4)
_NOT_BMP = ("JPEG", "PNG", "GIF", "WebP")
_DCT_METHODS = ("", "INTEGER_FAST", "INTEGER_ACCURATE")


@dataclass(frozen=True)
class ImageRequest:
    """What a call asks for, whichever the format is."""

    operation: str
    channels: int = 0
    dtype: Any = tf_uint8
    expand_animations: bool = True
    ratio: int = 1
    fancy_upscaling: bool = True
    recover_truncated: bool = False
    acceptable_fraction: float = 1.0
    dct_method: str = ""
    windows: NDArray[np.int64] | None = None
    """The part of each image to decode, ``[n, 4]``."""

    def __post_init__(self) -> None:
        if self.channels not in _CHANNELS:
            raise InvalidArgumentError(f"channels must be 0, 1, 3 or 4, found {self.channels}")
        if self.ratio not in (1, 2, 4, 8):
            raise InvalidArgumentError(f"ratio must be 1, 2, 4, or 8, found {self.ratio}")
        if self.dct_method not in _DCT_METHODS:
            raise InvalidArgumentError(f"dct_method must be one of {set(_DCT_METHODS)}, found {self.dct_method!r}")

    def native(self, threads: int) -> _core.ImageDecoder:
        """Return a decoder of JPEG and PNG files."""
        return _core.ImageDecoder(
            channels=self.channels,
            bits=8 if self.dtype == tf_uint8 else 16,
            max_pixels=MAX_PIXELS,
            accurate_dct=self.dct_method == "INTEGER_ACCURATE",
            fancy_upscaling=bool(self.fancy_upscaling),
            ratio=self.ratio,
            recover_truncated=bool(self.recover_truncated),
            acceptable_fraction=self.acceptable_fraction,
            threads=threads,
        )


def decode_file(data: bytes, request: ImageRequest) -> NDArray[Any]:
    """Decode a file of any format."""
    kind = format_of(data)
    check_request(data, kind, request)
    return _DECODERS[kind](data, request, request.windows)


def check_request(data: bytes, kind: str, request: ImageRequest) -> None:
    """Raise where TensorFlow does not decode the format by the operation, or to so many channels."""
    name, channels = request.operation, request.channels
    if not data:
        raise InvalidArgumentError("Input is empty.")
    if kind not in _DECODERS:
        raise InvalidArgumentError("Unknown image file format. One of JPEG, PNG, GIF, BMP, WebP required.")
    if name == "decode_and_crop_jpeg" and kind != "JPEG":
        raise InvalidArgumentError(f"{name} decodes JPEG only, found {kind}")
    if kind not in {"decode_bmp": ("BMP", "WebP"), "decode_image": tuple(_DECODERS)}.get(name, _NOT_BMP):
        raise InvalidArgumentError(f"{name} does not decode {kind}: use decode_image")
    if channels not in {"JPEG": (0, 1, 3), "GIF": (0, 3), "BMP": (0, 3, 4), "WebP": (0, 3, 4)}.get(kind, _CHANNELS):
        raise InvalidArgumentError(f"{kind} cannot be decoded to {channels} channels")
    if kind == "WebP" and request.dtype != tf_uint8:
        raise InvalidArgumentError("WebP can be decoded to uint8 only")


def format_of(data: bytes) -> str:
    """Return the name of a format by the first bytes of a file, or nothing."""
    for start, kind in ((b"\xff\xd8\xff", "JPEG"), (b"\x89PNG\r\n\x1a\n", "PNG"), (b"GIF8", "GIF"), (b"BM", "BMP")):
        if data.startswith(start):
            return kind
    return "WebP" if data.startswith(b"RIFF") and data[8:12] == b"WEBP" else ""


def _decode_jpeg_file(data: bytes, request: ImageRequest, window: NDArray[np.int64] | None) -> NDArray[Any]:
    wanted = replace(request, dtype=tf_uint8)
    found = wanted.native(1).decode_list([data], None, window)[1][0]
    if found is None:
        found = _by_pillow(data, request.channels, request.ratio, window)
    return _with_dtype(pixels_of(found, data), request.dtype)


def _by_pillow(data: bytes, channels: int, ratio: int, window: NDArray[np.int64] | None) -> NDArray[Any]:
    """Decode in a build without libjpeg-turbo."""
    if ratio != 1:
        raise InvalidArgumentError(f"ratio={ratio} needs a build of penstock with libjpeg-turbo")
    with tensorflow_errors():
        pixels = codec.decode_image(data, dtype="uint8", shape=(None, None, channels or None))
    if window is None:
        return pixels
    top, left, height, width = window[0].tolist()
    part = pixels[top : top + height, left : left + width] if min(top, left) >= 0 < min(height, width) else pixels[:0]
    if part.shape[:2] != (height, width):
        raise InvalidArgumentError("the crop window is not inside the image")
    return part


def _decode_png_file(data: bytes, request: ImageRequest, window: Any) -> NDArray[Any]:
    found = pixels_of(request.native(1).decode_list([data], None)[1][0], data)
    if request.dtype == float32:
        return found.astype(np.float32) * np.float32(1 / 65535)
    return found[None] if request.operation == "decode_gif" else found


def pixels_of(found: Any, data: bytes) -> NDArray[Any]:
    """Return the pixels that a native decoder found; raise what it found instead."""
    if isinstance(found, str):
        raise InvalidArgumentError(f"an image of {len(data)} bytes cannot be decoded: {found}")
    pixels: NDArray[Any] = found
    return pixels


def _with_dtype(pixels: NDArray[np.uint8], dtype: Any) -> NDArray[Any]:
    if dtype == tf_uint8:
        return pixels
    if dtype == uint16:
        return pixels.astype(np.uint16) * np.uint16(256)
    return pixels.astype(np.float32) * np.float32(1 / 255)


def _decode_bmp_file(data: bytes, request: ImageRequest, window: Any) -> NDArray[Any]:
    if len(data) < 32:
        raise InvalidArgumentError(f"Incomplete bmp content, requires at least 32 bytes, got {len(data)} bytes")
    start, width, height = struct.unpack_from("<i4xii", data, 10)
    stored = int(struct.unpack_from("<h", data, 28)[0] / 8)
    rows, row_bytes = abs(height), (stored * width + 3) // 4 * 4
    if stored not in (1, 3, 4) or width <= 0 or not rows or start < 0 or width * rows >= (1 << 31) // 8:
        raise InvalidArgumentError(f"a BMP image of {width} x {height} with {stored} channels is not supported")
    if len(data) != start + row_bytes * rows:
        raise InvalidArgumentError(f"expected a BMP image of {start + row_bytes * rows} bytes, found {len(data)}")
    lines = np.frombuffer(data, np.uint8, row_bytes * rows, start).reshape(rows, row_bytes)[:, : width * stored]
    pixels = (lines if height < 0 else lines[::-1]).reshape(rows, width, stored)
    channels = request.channels or stored
    out = np.full(new_shape((rows, width, channels), pixels.dtype), 255, np.uint8)
    out[..., :3] = pixels if stored == 1 else pixels[..., 2::-1]
    if channels == stored == 4:
        out[..., 3] = pixels[..., 3]
    return _with_dtype(out, request.dtype)


def _decode_gif_file(data: bytes, request: ImageRequest, window: Any) -> NDArray[Any]:
    frames = _frames(data, "GIF", "RGBA", first_only=not request.expand_animations)
    # A transparent pixel of the first frame is black.
    pixels = _with_dtype(frames[..., :3] * (frames[..., 3:] > 0), request.dtype)
    if request.operation in ("decode_jpeg", "decode_png") and len(pixels) > 1:
        raise InvalidArgumentError(
            f"Got {len(pixels)} frames, but animated gifs can only be decoded by tf.io.decode_gif or tf.io.decode_image"
        )
    expanded = request.operation == "decode_gif" or (request.operation == "decode_image" and request.expand_animations)
    return pixels if expanded else pixels[0]


def _decode_webp_file(data: bytes, request: ImageRequest, window: Any) -> NDArray[Any]:
    first_only = not request.expand_animations
    frames = _frames(data, "WEBP", None, first_only=first_only)
    if request.channels not in (0, frames.shape[-1]):
        raise InvalidArgumentError("Number of channels requested does not match input")
    return frames[0] if first_only else frames


def _frames(data: bytes, kind: str, mode: str | None, *, first_only: bool) -> NDArray[np.uint8]:
    """Return the frames of an animation; mode None is RGB or RGBA, as stored."""
    pillow = import_extra("PIL.Image", "image", f"decoding {kind} images")
    try:
        with pillow.open(io.BytesIO(data), formats=(kind,)) as image:
            count = 1 if first_only else getattr(image, "n_frames", 1)
            wanted = mode or ("RGBA" if image.mode == "RGBA" else "RGB")
            shape = new_shape((count, image.height, image.width, len(wanted)), np.dtype(np.uint8))
            if image.height * image.width > codec.max_pixels():
                raise InvalidArgumentError(f"a {kind} image has {image.width} x {image.height} pixels")
            frames = np.empty(shape, np.uint8)
            for number in range(count):
                image.seek(number)
                frames[number] = np.asarray(image.convert(wanted))
    except InvalidArgumentError:
        raise
    except Exception as error:  # Pillow raises almost anything for damaged images
        raise InvalidArgumentError(f"Invalid {kind} data (size {len(data)}): {error}") from error
    return frames


_DECODERS: dict[str, Callable[[bytes, ImageRequest, NDArray[np.int64] | None], NDArray[Any]]] = {
    "JPEG": _decode_jpeg_file,
    "PNG": _decode_png_file,
    "GIF": _decode_gif_file,
    "BMP": _decode_bmp_file,
    "WebP": _decode_webp_file,
}
