"""Decoded values as short text for people, or as JSON for programs."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from penstock.cli.output import printable
from penstock.schema.inference.recognise import recognise

# So many numbers of an array are shown, or fewer where there is no room.
_SHOWN = 12


def value_text(value: Any, room: int) -> str:
    """A value in at most ``room`` characters: scalars and strings, else shape and first values."""
    text = _text(value, room)
    return text if len(text) <= room else text[: room - 1] + "…"


def json_value(value: Any) -> Any:
    """A value as JSON has it: bytes as base64; of floats, NaN and the infinities as strings."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list):
        return [json_value(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


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
    seen = recognise(value)
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
    """Strings, or ragged levels: their number, and the first of them."""
    shown = [_text(value, 24) for value in values[:_SHOWN]]
    head = "" if len(values) <= 1 else f"({len(values)}) "
    return head + _joined(shown, len(values), room - len(head))


def _joined(items: list[str], total: int, room: int) -> str:
    """As many items as there is room for, and a mark where some are left out."""
    for count in range(len(items), 0, -1):
        text = f"[{', '.join(items[:count])}{', …' if count < total else ''}]"
        if len(text) <= room:
            return text
    return "[…]" if total else "[]"


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)
