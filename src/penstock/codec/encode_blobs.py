"""Images and tensors: an array in the column, one bytes value in the record."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from penstock.codec.encode_rows import gather
from penstock.codec.encode_values import Float64, as_array, convert_array, shape_text
from penstock.codec.row_fault import RowFault
from penstock.codec.tensor_proto import serialize_tensor
from penstock.columns import AnyColumn, BytesColumn, Column, Ragged
from penstock.columns.stored import Stored
from penstock.cpus import available_cpus
from penstock.errors import SchemaError
from penstock.schema import Feature
from penstock.schema.dtype import TEXT
from penstock.schema.feature import IMAGES, fits_shape

# How the bytes of an encoded image begin, where the encoding names one format.
_SIGNATURES = {"jpeg": b"\xff\xd8\xff", "png": b"\x89PNG\r\n\x1a\n"}


class Encoded(bytes):
    """An image or a tensor as it is stored somewhere else: it is written as it is."""


# Below this many images starting threads costs more than it saves.
_WORTH_THREADS = 8


def encode_blobs(values: Iterable[Any], feature: Feature, *, sequence: bool, float64: Float64 | None) -> AnyColumn:
    """Encode every row, or every step of every row; images that are bytes already are stored as they are."""
    rows = list(values)
    if sequence:
        steps = [None if row is None else list(row) for row in rows]
        flat = [(number, step) for number, row in enumerate(steps) for step in row or ()]
    else:
        flat = [(number, value) for number, value in enumerate(rows) if value is not None]
    encoded = iter(_encode_all(flat, feature, float64))
    if sequence:
        stored: list[Any] = [None if row is None else [next(encoded) for _ in row] for row in steps]
    else:
        stored = [None if value is None else next(encoded) for value in rows]
    return gather(stored, Feature("bytes"), sequence=sequence, float64=None)


def _encode_all(flat: list[tuple[int, Any]], feature: Feature, float64: Float64 | None) -> list[bytes]:
    def encode(numbered: tuple[int, Any]) -> bytes:
        row, value = numbered
        try:
            return _encode(value, feature, float64)
        except (RowFault, SchemaError, TypeError) as error:
            raise RowFault(row, error.message if isinstance(error, RowFault) else str(error)) from None

    if feature.encoding == "tensor" or len(flat) < _WORTH_THREADS:
        return [encode(item) for item in flat]
    # Pillow compresses without holding the interpreter.
    with ThreadPoolExecutor(min(8, available_cpus()), thread_name_prefix="penstock-image") as pool:
        return list(pool.map(encode, flat))


def as_stored(value: Stored, feature: Feature) -> Encoded | list[Encoded] | None:
    """Return the bytes of a value, or of each of its steps, where a feature stores it just so; else None."""
    stored, data = value.feature, value.data
    if data is None or stored.dtype != feature.dtype:
        return None
    steps, arrays = (data, value.array) if isinstance(data, tuple) else ((data,), (value.array,))
    if not all(fits_shape(array.shape, feature.shape) for array in arrays):
        return None
    if stored.encoding != feature.encoding:
        start = _SIGNATURES.get(feature.encoding, b"")
        if not {stored.encoding, feature.encoding} <= IMAGES or not all(step.startswith(start) for step in steps):
            return None
    return list(map(Encoded, steps)) if isinstance(data, tuple) else Encoded(data)


def _encode(value: Any, feature: Feature, float64: Float64 | None) -> bytes:
    if isinstance(value, Encoded):
        return bytes(value)
    if feature.encoding != "tensor" and isinstance(value, bytes | bytearray | memoryview):
        data = bytes(value)
        if not data.startswith(_SIGNATURES.get(feature.encoding, b"")):
            raise RowFault(0, f"expected the bytes of a {feature.encoding} file, found others")
        return data
    if isinstance(value, str | os.PathLike) and feature.encoding != "tensor":
        found = f"found {type(value).__name__}; the bytes of a file are Path(name).read_bytes()"
        raise RowFault(0, f"expected an image, as an array or as the bytes of a {feature.encoding} file, {found}")
    text = feature.dtype in TEXT
    if isinstance(value, Column):
        value = _of_nested_lists(value, feature.shape)
    array = np.asarray(value, object) if text else as_array(value)
    if type(value) is float or isinstance(value, list | tuple):
        array = array.astype(np.float32) if array.dtype == np.float64 and feature.dtype == "float32" else array
    if not fits_shape(array.shape, feature.shape):
        raise RowFault(0, f"expected shape {shape_text(feature.shape)}, found {shape_text(array.shape)}")
    if not text:
        array = convert_array(array, feature.dtype, float64)
    if feature.encoding == "tensor":
        return serialize_tensor(array)
    from penstock.codec.images import encode_image

    return encode_image(array, feature.encoding)


def _of_nested_lists(lists: AnyColumn, shape: tuple[int | None, ...]) -> Any:
    """Answer the array that lists of lists are, which is what Arrow makes of arrays of unequal shapes."""
    sizes, level = [len(lists)], lists
    while isinstance(level, Ragged):
        lengths = level.lengths
        if len(lengths) and (lengths != lengths[0]).any():
            raise RowFault(0, f"expected shape {shape_text(shape)}, found lists of unequal lengths")
        sizes.append(int(lengths[0]) if len(lengths) else 0)
        level = level.values[level.offsets[0] : level.offsets[-1]]
    if 0 in sizes and len(sizes) == len(shape):
        # Lists that are empty do not tell how long those in them would be.
        sizes = [size if wanted is None else wanted for size, wanted in zip(sizes, shape, strict=True)]
    values = level.to_numpy() if isinstance(level, BytesColumn) else level
    return np.asarray(values).reshape(sizes) if math.prod(sizes) == len(values) else values
