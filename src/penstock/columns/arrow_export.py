"""Describe columns as trees of Arrow arrays, which the native exporter turns into capsules without copying.

Memory is shared except where Arrow's layout differs: bool is packed to bits, bfloat16 (which Arrow lacks) becomes
float32, and arrays that are not contiguous, aligned and in native byte order are copied.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_FORMATS = {
    "int8": "c",
    "int16": "s",
    "int32": "i",
    "int64": "l",
    "uint8": "C",
    "uint16": "S",
    "uint32": "I",
    "uint64": "L",
    "float16": "e",
    "float32": "f",
    "float64": "g",
}


class ArrowNode(NamedTuple):
    """One array of the Arrow C data interface. The first of ``buffers`` is the validity bitmap, or None."""

    format: str
    length: int
    buffers: tuple[object, ...]
    children: tuple[ArrowNode, ...] = ()
    null_count: int = 0
    nullable: bool = False
    name: str = "item"


def dense_node(array: NDArray[Any]) -> ArrowNode:
    """Describe an array ``[rows, *shape]``: its values, in fixed-size lists if rows have a shape."""
    if array.ndim == 0:
        raise TypeError("a column needs at least one dimension: its rows")
    return fixed_size_lists(_values_node(array.reshape(-1)), len(array), array.shape[1:])


def fixed_size_lists(values: ArrowNode, rows: int, shape: tuple[int, ...]) -> ArrowNode:
    """Wrap the values of all rows in one level of fixed-size lists per dimension of ``shape``."""
    node = values
    for axis in reversed(range(len(shape))):
        node = ArrowNode(f"+w:{shape[axis]}", rows * math.prod(shape[:axis]), (None,), (node,))
    return node


def pack_bits(flags: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Pack booleans as Arrow does: eight in a byte, lowest bit first."""
    return np.packbits(flags, bitorder="little")


def _values_node(flat: NDArray[Any]) -> ArrowNode:
    name = flat.dtype.name
    if name == "bool":
        return ArrowNode("b", len(flat), (None, pack_bits(flat)))
    if name == "bfloat16":
        flat, name = flat.astype(np.float32), "float32"
    if name not in _FORMATS:
        raise TypeError(f"Arrow has no type for a column of dtype {flat.dtype}")
    return ArrowNode(_FORMATS[name], len(flat), (None, np.require(flat, np.dtype(name), ["C", "A"])))
