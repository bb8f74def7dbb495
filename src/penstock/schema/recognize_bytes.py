"""Recognize what a bytes value holds: text, an image, a serialized tensor, or something else.

Also recognizes some messages in payloads that are not Examples.
"""

from __future__ import annotations

import math
import re
import struct
from typing import Literal, NamedTuple, TypeAlias

from penstock import _core
from penstock.errors import MalformedExampleError
from penstock.protobuf import BYTES, FIXED64, VARINT, Field, read_fields
from penstock.schema.dtype import BY_NAME, DTYPES
from penstock.schema.feature import Shape

Form: TypeAlias = Literal["empty", "text", "jpeg", "png", "gif", "tensor", "binary"]


class Recognized(NamedTuple):
    """The form of a value; for images and tensors also its dtype and shape, with None for unknown dimensions."""

    form: Form
    dtype: str = "bytes"
    shape: Shape = ()


_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_PNG_CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}  # a palette (3) may decode to three or four
# Start-of-frame markers of all kinds of JPEG; C4, C8 and CC are other segments.
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_MARKERS_WITHOUT_SEGMENT = frozenset({0x01, *range(0xD0, 0xD8)})


def recognize(value: bytes) -> Recognized:
    """Return what ``value`` holds; ``binary`` unless its structure leaves no doubt."""
    if not value:
        return Recognized("empty")
    found = _jpeg(value) or _png(value) or _gif(value) or _tensor(value)
    if found is not None:
        return found
    return Recognized("text", "str") if is_text(value) else Recognized("binary")


_PAYLOAD_FORMS: dict[Form, str] = {
    "text": "text",
    "jpeg": "a JPEG image",
    "png": "a PNG image",
    "gif": "a GIF image",
    "tensor": "a serialized tensor (TensorProto)",
}


def recognize_payload(payload: bytes) -> str | None:
    """Return what a record that is not an Example seems to be, or None if it is not recognized."""
    form = _PAYLOAD_FORMS.get(recognize(payload).form)
    if form is not None:
        return form
    try:
        fields = list(read_fields(memoryview(payload)))
    except MalformedExampleError:
        return None
    holding = sorted({field.number for field in fields if _is_example(field)})
    if holding and holding[-1] <= 2 and all((field.number, field.wire) in ((1, BYTES), (2, BYTES)) for field in fields):
        return "ExampleListWithContext (ELWC, of TF-Ranking)"
    if holding:
        return f"a message with an Example in field {holding[0]}"
    # First the wall time, then a step, a version or a summary.
    if fields and (fields[0].number, fields[0].wire) == (1, FIXED64) and len(fields) > 1:
        return "an Event of TensorBoard"
    return None


def _is_example(field: Field) -> bool:
    """Whether a field holds an Example or SequenceExample with features."""
    if field.wire != BYTES or _core.is_other_message(field.value):
        return False
    found = _core.sketch_example(field.value, 0)
    return found is not None and any(found)


def is_text(value: bytes) -> bool:
    """Whether ``value`` is UTF-8 without control characters that do not occur in text."""
    try:
        return not _CONTROL.search(value.decode())
    except UnicodeDecodeError:
        return False


def _jpeg(value: bytes) -> Recognized | None:
    if not value.startswith(b"\xff\xd8\xff"):
        return None
    position = 2
    while position + 4 <= len(value) and value[position] == 0xFF:
        marker = value[position + 1]
        if marker == 0xFF or marker in _JPEG_MARKERS_WITHOUT_SEGMENT:  # padding, or a marker without a segment
            position += 1 if marker == 0xFF else 2
            continue
        (length,) = struct.unpack_from(">H", value, position + 2)
        if marker in _JPEG_FRAMES and position + 10 <= len(value):
            height, width, channels = struct.unpack_from(">HHB", value, position + 5)
            # Height 0 is defined later in the file; four channels can be converted in more than one way.
            return Recognized(
                "jpeg", "uint8", (height or None, width or None, channels if channels in (1, 3) else None)
            )
        if length < 2:
            return None
        position += 2 + length
    return None


def _png(value: bytes) -> Recognized | None:
    if not value.startswith(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR") or len(value) < 26:
        return None
    width, height, depth, color = struct.unpack_from(">IIBB", value, 16)
    if not width or not height:
        return None
    return Recognized("png", "uint16" if depth == 16 else "uint8", (height, width, _PNG_CHANNELS.get(color)))


def _gif(value: bytes) -> Recognized | None:
    if not value.startswith((b"GIF87a", b"GIF89a")) or len(value) < 13:
        return None
    width, height = struct.unpack_from("<HH", value, 6)
    return Recognized("gif", "uint8", (None, height, width, 3))


def _tensor(value: bytes) -> Recognized | None:
    if value[0] != 0x08:  # the first field of a TensorProto is its dtype
        return None
    try:
        return _read_tensor(value)
    except MalformedExampleError:
        return None


def _read_tensor(value: bytes) -> Recognized | None:
    dtype, shape, content, has_values = 0, None, None, False
    for field in read_fields(memoryview(value)):
        match field.number, field.wire:
            case 1, wire if wire == VARINT:
                dtype = field.value
            case 2, wire if wire == BYTES:
                shape = _tensor_shape(field.value)
            case 4, wire if wire == BYTES:
                content = len(field.value)
            case 3, wire if wire == VARINT:
                pass  # version_number
            case number, _ if number in _TENSOR_VALUES:
                has_values = True
            case _:
                return None
    type_ = _TENSOR_TYPES.get(dtype)
    if type_ is None or shape is None:
        return None
    count = math.prod(shape)
    fits = content == count * type_.size if content is not None and type_.size else has_values or count == 0
    return Recognized("tensor", type_.name, shape) if fits else None


def _tensor_shape(data: memoryview) -> tuple[int, ...] | None:
    sizes = []
    for field in read_fields(data):
        if (field.number, field.wire) != (2, BYTES):
            return None
        size = 0
        for inner in read_fields(field.value):
            if (inner.number, inner.wire) == (1, VARINT):
                size = inner.value
        sizes.append(size)
    return tuple(sizes) if all(size < 1 << 40 for size in sizes) and len(sizes) <= 16 else None


# The TensorProto dtypes that a feature may have, and the fields that list their values.
_TENSOR_TYPES = {type_.number: type_ for type_ in BY_NAME.values() if type_.name in DTYPES}
_TENSOR_VALUES = frozenset(type_.field for type_ in _TENSOR_TYPES.values())
