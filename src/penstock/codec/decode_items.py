"""Decode what connectors of TFDS store: images and deflated or raw tensors, also in sequences and with their shape."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.codec.decode_blobs import BlobDecoder
from penstock.columns import AnyColumn, BytesColumn, Nullable, Ragged
from penstock.columns.ragged import unchecked_ragged
from penstock.errors import RowFault
from penstock.schema import Feature
from penstock.schema.connector import ConnectorFeature, Item
from penstock.schema.dtype import numpy_dtype

_MAX_ITEM_BYTES = 1 << 30
# Deflate makes at most this many bytes of one.
_MOST_INFLATED = 1032

Items: TypeAlias = NDArray[Any]
"""Decoded items: an array, or an object array of arrays if their shape is not known."""


class ItemDecoder:
    """Decodes the stored columns of a feature that a connector of TFDS decodes.

    Args:
        feature: The feature.
        threads: The number of threads that decode images; None: as many as there are CPUs.
    """

    def __init__(self, feature: ConnectorFeature, threads: int | None = None) -> None:
        self._item, self._depth = feature.item, len(feature.levels)
        self._images = None if feature.item.coding != "image" else BlobDecoder(_image(feature.item), threads)

    def __call__(self, columns: list[AnyColumn]) -> AnyColumn:
        """Return the decoded column; raise a RowFault for a row that does not decode."""
        column, *others = columns
        valid = column.valid if isinstance(column, Nullable) else None
        values, *shapes = (part.values if isinstance(part, Nullable) else part for part in (column, *others))
        flat, bounds = _flatten(values, self._depth)
        own_shapes = _flatten(shapes[0], self._depth)[0] if shapes else None
        try:
            items = self._decode(flat, own_shapes, None if self._depth else valid)
        except RowFault as fault:
            raise RowFault(_row_of(fault.row, bounds), fault.message) from None
        decoded = _nest(items, bounds, len(values))
        return decoded if valid is None else Nullable(decoded, valid)

    def _decode(self, flat: Any, shapes: Any, valid: NDArray[np.bool_] | None) -> Items:
        if self._images is None:
            return (
                _decode_lists(self._item, flat)
                if self._item.coding == "list"
                else _decode_tensors(self._item, flat, shapes, valid)
            )
        pixels = self._images(flat, valid)
        if not self._item.is_depth:
            return pixels
        if pixels.dtype != object:
            found: Items = pixels.view(np.float32)
            return found
        return _each(len(pixels), lambda i: None if pixels[i] is None else pixels[i].view(np.float32))


def _image(item: Item) -> Feature:
    """Return the feature of the stored images; the four bytes of a float are the channels of a PNG."""
    if item.is_depth:
        return Feature("uint8", (*item.shape[:2], 4), encoding="png")
    return Feature(item.dtype, item.shape, encoding="image")


def _flatten(column: AnyColumn, depth: int) -> tuple[Any, list[NDArray[np.int64]]]:
    """Return the items of all rows, and the bounds of each level of sequences, outermost first."""
    bounds: list[NDArray[np.int64]] = []
    while len(bounds) < depth and isinstance(column, Ragged):
        offsets = column.offsets
        bounds.append(offsets - offsets[0])
        column = column.values[int(offsets[0]) : int(offsets[-1])]
    fixed = depth - len(bounds)
    if not fixed:
        return column, bounds
    shape = column.shape if isinstance(column, BytesColumn) else column.shape[1:]  # type: ignore[union-attr]
    count = len(column)
    for length in shape[:fixed]:
        bounds.append(np.arange(count + 1) * length)
        count *= length
    if isinstance(column, BytesColumn):
        return BytesColumn(column.views, column.buffers, text=column.text, rows=count), bounds
    assert isinstance(column, np.ndarray)
    return column.reshape(count, *shape[fixed:]), bounds


def _row_of(item: int, bounds: list[NDArray[np.int64]]) -> int:
    for offsets in reversed(bounds):
        item = int(np.searchsorted(offsets, item, side="right")) - 1
    return item


def _decode_lists(item: Item, flat: Any) -> Items:
    if isinstance(flat, np.ndarray):
        found: Items = flat.view(np.uint64)
        return found
    dtype, shape = numpy_dtype(item.dtype), [-1 if size is None else size for size in item.shape]
    return _each(len(flat), lambda i: flat[i].view(dtype).reshape(shape))


def _each(count: int, decode: Callable[[int], NDArray[Any] | None]) -> Items:
    items = np.empty(count, object)
    for number in range(count):
        try:
            items[number] = decode(number)
        except ValueError as error:
            raise RowFault(number, str(error)) from None
    return items


def _decode_tensors(item: Item, flat: BytesColumn, shapes: Any, valid: NDArray[np.bool_] | None) -> Items:
    known = None not in item.shape
    dtype = numpy_dtype(item.dtype)
    sizes = tuple(size or 0 for size in item.shape)
    values = flat.to_list()
    # A declared shape that the stored bytes cannot fill takes no memory: one of the items raises.
    can_fit = math.prod(sizes) * dtype.itemsize * len(values) <= _MOST_INFLATED * (sum(map(len, values)) + len(values))
    items: Items = np.zeros((len(values), *sizes), dtype) if known and can_fit else np.empty(len(values), object)
    for number, data in enumerate(values):
        if valid is not None and not valid[number]:
            continue
        try:
            shape = item.shape if shapes is None else _own_shape(item, np.asarray(shapes[number]))
            items[number] = _decode_tensor(item, dtype, data, shape)
        except ValueError as error:
            raise RowFault(number, str(error)) from None
    return items


def _own_shape(item: Item, found: NDArray[Any]) -> tuple[int, ...]:
    shape = tuple(int(size) for size in found.reshape(-1))
    fits = len(shape) == len(item.shape) and all(size >= 0 for size in shape)
    if not fits or any(size not in (None, own) for size, own in zip(item.shape, shape, strict=True)):
        raise ValueError(f"expected shape {item.shape}, found {shape}")
    return shape


def _decode_tensor(item: Item, dtype: np.dtype[Any], data: bytes, shape: tuple[int | None, ...]) -> NDArray[Any]:
    unknown = shape.count(None)
    size = math.prod(size for size in shape if size is not None) * dtype.itemsize
    if item.coding == "zlib":
        data = _inflate(data, _MAX_ITEM_BYTES if unknown else size)
    if len(data) != size if not unknown else bool(len(data) % size if size else data):
        raise ValueError(f"expected {'a multiple of ' if unknown else ''}{size} bytes, found {len(data)}")
    values: NDArray[Any] = np.frombuffer(data, np.uint8 if item.dtype == "bool" else dtype)
    # Any nonzero byte is True, as in tf.io.decode_raw, but NumPy requires 1.
    values = values != 0 if item.dtype == "bool" else values.copy()
    return values.reshape([size if size is not None else -1 if len(data) else 0 for size in shape])


def _inflate(data: bytes, most: int) -> bytes:
    """Inflate a zlib stream that must not be longer than the declared shape allows."""
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(data, most + 1)
    except zlib.error as error:
        raise ValueError(f"a damaged zlib stream ({error})") from None
    if len(found) > most:
        raise ValueError(f"a zlib stream of more than {most} bytes")
    if not stream.eof or stream.unused_data:
        raise ValueError("a zlib stream that does not end where the value ends")
    return found


def _nest(items: Items, bounds: list[NDArray[np.int64]], rows: int) -> AnyColumn:
    """Return items in their sequences: columns where the shape of an item is known, else an object array of rows."""
    if not bounds:
        return items
    if items.dtype != object:
        column: AnyColumn = items
        for offsets in reversed(bounds):
            column = unchecked_ragged(column, offsets)
        return column
    stacked: list[Any] = [_stacked(items[start:stop]) for start, stop in pairwise(bounds[-1].tolist())]
    for offsets in reversed(bounds[:-1]):
        stacked = [stacked[start:stop] for start, stop in pairwise(offsets.tolist())]
    found = np.empty(rows, object)
    for number, row in enumerate(stacked):
        found[number] = row
    return found


def _stacked(items: NDArray[Any]) -> NDArray[Any]:
    """Return arrays of one shape as one array; others stay an object array."""
    if not len(items):
        return items
    if all(item.shape == items[0].shape for item in items):
        return np.stack(items.tolist())
    return items
