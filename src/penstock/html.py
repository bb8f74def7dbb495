"""HTML for notebooks: tables with thumbnails, of bounded size and without scripts. Every value is escaped."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock import _core

ROWS, COLUMNS = 8, 24
"""The most rows and columns that are shown."""

_TEXT = 80
_VALUES = 6
_THUMBNAIL = 96
_SIGNATURES = {b"\xff\xd8\xff": "JPEG", b"\x89PNG\r\n\x1a\n": "PNG", b"GIF8": "GIF"}
_EMBEDDED = 16 << 10
"""Encoded pictures up to this size are embedded as they are; others as thumbnails."""
_MAX_PIXELS = 1 << 26
_CELL = "text-align: left; vertical-align: top; padding: 0.2em 0.6em; white-space: nowrap"


def table(names: Sequence[str], rows: Iterable[Sequence[Any]], *, caption: str = "", note: str = "") -> str:
    """Return a table of values; arrays of pixels and encoded pictures are thumbnails.

    Args:
        names: The columns. Those after the first :data:`COLUMNS` are left out, and counted below the table.
        rows: The values of each row, for all columns.
        caption: A line above the table.
        note: A line below it.
    """
    shown = names[:COLUMNS]
    head = "".join(f'<th style="{_CELL}">{escape(_cut(name))}</th>' for name in shown)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{_cell(value)}</td>' for value in row[:COLUMNS]) + "</tr>"
        for row in rows
    )
    more = len(names) - len(shown)
    notes = [note, f"and {more:,} more columns" if more > 0 else ""]
    below = "; ".join(filter(None, notes))
    return (
        (f"<div>{escape(caption)}</div>" if caption else "")
        + f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        + (f"<div>{escape(below)}</div>" if below else "")
    )


def document(values: Mapping[str, Any], text: str) -> str:
    """Return a report: its text, and a table for each list or mapping of entries in its JSON values."""
    parts = [f"<pre>{escape(text)}</pre>"]
    for name, value in values.items():
        entries = (
            list(value.items())
            if isinstance(value, Mapping)
            else list(enumerate(value, 1) if isinstance(value, list) else ())
        )
        rows = [(key, entry) for key, entry in entries if isinstance(entry, Mapping)]
        if not rows:
            continue
        fields = list(dict.fromkeys(field for _, entry in rows for field in entry if _is_shown(entry[field])))
        cells = ([str(key), *(_scalar(entry.get(field)) for field in fields)] for key, entry in rows[: 4 * ROWS])
        left = len(rows) - 4 * ROWS
        parts.append(table([name, *fields], cells, note=f"and {left:,} more" if left > 0 else ""))
    return "".join(parts)


def _is_shown(value: object) -> bool:
    return value is None or isinstance(value, str | int | float) or _is_range(value)


def _is_range(value: object) -> bool:
    return isinstance(value, Mapping) and {"min", "max"} <= value.keys()


def _scalar(value: Any) -> Any:
    if _is_range(value):
        return None if value["min"] is None else f"{_number(value['min'])} to {_number(value['max'])}"
    return value


def _cell(value: Any) -> str:
    if isinstance(value, bytes):
        return _bytes_cell(value)
    if isinstance(value, np.ndarray) and _is_picture(value):
        return _thumbnail(value)
    return '<span style="opacity: 0.5">absent</span>' if value is None else escape(_cut(_text(value)))


def _bytes_cell(value: bytes) -> str:
    form = next((name for start, name in _SIGNATURES.items() if value.startswith(start)), "")
    size = f"{form}{', ' if form else ''}{len(value):,} bytes"
    if form and len(value) <= _EMBEDDED:
        return _picture(f"image/{form.lower()}", value, size)
    if form in ("JPEG", "PNG"):
        decoder = _core.ImageDecoder(channels=3, bits=8, height=None, width=None, max_pixels=_MAX_PIXELS, threads=1)
        pixels = decoder.decode_list([value], None)[1][0]
        return _thumbnail(pixels) if isinstance(pixels, np.ndarray) else size
    try:
        return escape(_cut(value.decode())) if value.isascii() or len(value) <= 4 * _TEXT else size
    except UnicodeDecodeError:
        return size


def _is_picture(value: NDArray[Any]) -> bool:
    shape = value.shape
    return (
        value.dtype == np.uint8 and len(shape) in (2, 3) and min(shape[:2]) > 7 and shape[2:] in ((), (1,), (3,), (4,))
    )


def _thumbnail(pixels: NDArray[Any]) -> str:
    step = max(1, -(-max(pixels.shape[:2]) // _THUMBNAIL))
    small = pixels[::step, ::step]
    planes = small.reshape(*small.shape[:2], -1)
    title = " x ".join(map(str, pixels.shape))
    return _picture("image/png", _png(np.ascontiguousarray(planes)), title)


def _png(pixels: NDArray[Any]) -> bytes:
    height, width, channels = pixels.shape
    lines = np.zeros((height, 1 + width * channels), np.uint8)  # each begins with its filter: none
    lines[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 6)), (b"IEND", b"")]
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _picture(media_type: str, data: bytes, title: str) -> str:
    source = f"data:{media_type};base64,{base64.b64encode(data).decode('ascii')}"
    return f'<img src="{source}" title="{escape(title)}" style="max-width: {_THUMBNAIL}px; max-height: {_THUMBNAIL}px">'


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.ndim:
        flat = value.reshape(-1)
        shown = ", ".join(map(_number, flat[:_VALUES].tolist()))
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]  {shown}" + (", …" if flat.size > _VALUES else "")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value[:_VALUES]))}" + (
            f", … {len(value):,} values]" if len(value) > _VALUES else "]"
        )
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_cut(_text(inner))}" for name, inner in list(value.items())[:_VALUES])
    return _number(value)


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


def _cut(text: str) -> str:
    """Leave out the middle of a long text: paths differ at their ends."""
    return text if len(text) <= _TEXT else f"{text[: _TEXT // 2]}…{text[1 - _TEXT // 2 :]}"
