"""Show decoded values as short text, and images as half blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.color import Color
from rich.style import Style
from rich.text import Text

from penstock.cli.output import printable
from penstock.codec.images import decode_image, encode_image
from penstock.schema.feature import IMAGES
from penstock.schema.recognize_bytes import recognize

# Numbers of an array that are shown at most.
_SHOWN = 12


def value_text(value: Any, room: int) -> str:
    """Return a value in at most ``room`` characters: scalars and strings, else shape and first values."""
    text = _text(value, room)
    return text if len(text) <= room else text[: room - 1] + "…"


def _text(value: Any, room: int) -> str:
    if value is None:
        return "absent"
    if isinstance(value, bytes):
        return _bytes_text(value, room)
    if isinstance(value, str):
        return _quoted(value, room)
    if isinstance(value, np.ndarray):
        return _array_text(value, room)
    if isinstance(value, list):
        return _list_text(value, room)
    return _number(value)


def _bytes_text(value: bytes, room: int) -> str:
    seen = recognize(value)
    if seen.form == "text":
        return _quoted(value[: 4 * room].decode("utf-8", "ignore"), room)
    shape = f" {' x '.join('?' if size is None else str(size) for size in seen.shape)}" if seen.shape else ""
    form = "" if seen.form in ("binary", "empty") else f"{seen.form.upper()}{shape}, "
    return f"{form}{len(value):,} bytes"


def _quoted(text: str, room: int) -> str:
    shown = printable(text[:room])
    return f"'{shown}'" if len(shown) + 2 <= room and len(text) <= room else f"'{shown[: room - 3]}…'"


def _array_text(array: np.ndarray[Any, Any], room: int) -> str:
    if array.ndim == 0:
        return _number(array[()])
    head = "" if array.ndim == 1 and array.size <= _SHOWN else f"({', '.join(map(str, array.shape))}) "
    shown = [_number(item) for item in array.reshape(-1)[:_SHOWN]]
    return head + _joined(shown, array.size, room - len(head))


def _list_text(values: list[Any], room: int) -> str:
    """Return the number of strings, or ragged levels, and the first of them."""
    shown = [_text(value, 24) for value in values[:_SHOWN]]
    head = "" if len(values) <= 1 else f"({len(values)}) "
    return head + _joined(shown, len(values), room - len(head))


def _joined(items: list[str], total: int, room: int) -> str:
    """Join as many items as there is room for, with a mark if some are left out."""
    for count in range(len(items), 0, -1):
        text = f"[{', '.join(items[:count])}{', …' if count < total else ''}]"
        if len(text) <= room:
            return text
    return "[…]" if total else "[]"


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)


_SUFFIXES = {"jpeg": ".jpg", "png": ".png", "gif": ".gif"}
# The extension of images whose encoding is not recognized, such as WebP.
_OTHER = ".image"


def is_picture(value: Any, encoding: str) -> bool:
    """Return whether a value is an image: encoded, or uint8 ``[height, width]`` with one, three or no channels."""
    if isinstance(value, bytes):
        return encoding in IMAGES or recognize(value).form in _SUFFIXES
    if not isinstance(value, np.ndarray) or value.dtype != np.uint8 or value.ndim not in (2, 3):
        return False
    return min(value.shape[:2]) > 1 and (value.ndim == 2 or value.shape[2] in (1, 3))


def draw(value: bytes | NDArray[np.uint8], width: int) -> list[Text]:
    """Return lines of half blocks, two pixels each, at most ``width`` characters wide."""
    pixels = _shrink(_colors(value), width)
    if len(pixels) % 2:
        pixels = np.concatenate([pixels, pixels[-1:]])
    return [_line(upper, lower) for upper, lower in zip(pixels[::2], pixels[1::2], strict=True)]


def save(value: bytes | NDArray[np.uint8], path: Path) -> Path:
    """Write an encoded image as it is, and pixels as PNG; return the path with its suffix."""
    if isinstance(value, bytes):
        data, suffix = value, _SUFFIXES.get(recognize(value).form, _OTHER)
    else:
        data, suffix = encode_image(value if value.ndim == 3 else value[:, :, None], "png"), ".png"
    path = path.with_name(path.name + suffix)
    path.write_bytes(data)
    return path


def _colors(value: bytes | NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return pixels as [height, width, 3]."""
    if isinstance(value, bytes):
        return decode_image(value, dtype="uint8", shape=(None, None, 3))
    planes = value if value.ndim == 3 else value[:, :, None]
    return np.broadcast_to(planes, (*planes.shape[:2], 3))


def _shrink(pixels: NDArray[np.uint8], width: int) -> NDArray[np.uint8]:
    """Average blocks of pixels until the image fits."""
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
