"""Finds the pictures among an example's values, draws them in the terminal and saves them as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.color import Color
from rich.style import Style
from rich.text import Text

from penstock.codec.images import decode_image, encode_image
from penstock.schema.feature import IMAGES
from penstock.schema.inference.recognise import recognise

_SUFFIXES = {"jpeg": ".jpg", "png": ".png", "gif": ".gif"}

# Images whose encoding nobody recognises from here, such as WebP, are saved under this name.
_OTHER = ".image"


def is_picture(value: Any, encoding: str) -> bool:
    """Whether a value is an image: an encoded one, or uint8 ``[height, width]`` with one channel, three, or none."""
    if isinstance(value, bytes):
        return encoding in IMAGES or recognise(value).form in _SUFFIXES
    if not isinstance(value, np.ndarray) or value.dtype != np.uint8 or value.ndim not in (2, 3):
        return False
    return min(value.shape[:2]) > 1 and (value.ndim == 2 or value.shape[2] in (1, 3))


def draw(value: bytes | NDArray[np.uint8], width: int) -> list[Text]:
    """Lines of half blocks, two pixels each, at most ``width`` characters wide."""
    pixels = _shrink(_colours(value), width)
    if len(pixels) % 2:
        pixels = np.concatenate([pixels, pixels[-1:]])
    return [_line(upper, lower) for upper, lower in zip(pixels[::2], pixels[1::2], strict=True)]


def save(value: bytes | NDArray[np.uint8], path: Path) -> Path:
    """Write an encoded image as it is, and pixels as PNG; answer the path with its suffix."""
    if isinstance(value, bytes):
        data, suffix = value, _SUFFIXES.get(recognise(value).form, _OTHER)
    else:
        data, suffix = encode_image(value if value.ndim == 3 else value[:, :, None], "png"), ".png"
    path = path.with_name(path.name + suffix)
    path.write_bytes(data)
    return path


def _colours(value: bytes | NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Pixels as [height, width, 3]."""
    if isinstance(value, bytes):
        return decode_image(value, dtype="uint8", shape=(None, None, 3))
    planes = value if value.ndim == 3 else value[:, :, None]
    return np.broadcast_to(planes, (*planes.shape[:2], 3))


def _shrink(pixels: NDArray[np.uint8], width: int) -> NDArray[np.uint8]:
    """Average blocks of pixels until the picture fits; a small one stays as it is."""
    factor = max(1, -(-pixels.shape[1] // width), -(-pixels.shape[0] // (2 * width)))
    for axis in (0, 1):
        edges = np.arange(0, pixels.shape[axis], factor)
        sizes = np.diff(np.append(edges, pixels.shape[axis]))
        sums = np.add.reduceat(pixels, edges, axis=axis, dtype=np.int64)
        pixels = (sums // sizes.reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))).astype(np.uint8)
    return pixels


def _line(upper: NDArray[np.uint8], lower: NDArray[np.uint8]) -> Text:
    line = Text()
    for top, bottom in zip(upper.tolist(), lower.tolist(), strict=True):
        line.append("▀", Style(color=Color.from_rgb(*top), bgcolor=Color.from_rgb(*bottom)))
    return line
