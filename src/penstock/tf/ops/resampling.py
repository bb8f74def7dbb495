"""The ways of ``tf.image.resize``: for each side of an image, how much every old pixel adds to every new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]

# Steps between two pixels for which TensorFlow knows the weights of its bicubic method.
_CUBIC_STEPS = 1 << 10


class _Kernel(NamedTuple):
    """How much a pixel adds, by its distance; nothing beyond the radius."""

    radius: float
    weight: Callable[[NDArray[np.float64]], NDArray[np.float64]]


def _keys_cubic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, far)


def _mitchell_cubic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    near, far = (7 / 6 * x - 2) * x * x + 8 / 9, ((-7 / 18 * x + 2) * x - 10 / 3) * x + 16 / 9
    return np.where(x < 1, near, far)


def _lanczos(radius: float) -> _Kernel:
    return _Kernel(radius, lambda x: np.sinc(x) * np.sinc(x / radius))


_KERNELS = {
    "bilinear": _Kernel(1.0, lambda x: 1 - x),
    "bicubic": _Kernel(2.0, _keys_cubic),
    "lanczos3": _lanczos(3.0),
    "lanczos5": _lanczos(5.0),
    "gaussian": _Kernel(1.5, lambda x: np.exp(-2 * x * x)),
    "mitchellcubic": _Kernel(2.0, _mitchell_cubic),
}

METHODS = frozenset({*_KERNELS, "area"})
"""The names of the ways."""


def resample(images: NDArray[Any], height: int, width: int, method: str, *, antialias: bool) -> Floats:
    """Resize images ``[..., height, width, channels]`` to float32, one side after the other."""
    rows = _weights(images.shape[-3], height, method, antialias=antialias)
    columns = _weights(images.shape[-2], width, method, antialias=antialias)
    pixels = images.astype(np.float32, copy=False)
    narrowed = np.matmul(columns, pixels)
    return np.ascontiguousarray(np.moveaxis(np.matmul(rows, np.moveaxis(narrowed, -3, -2)), -2, -3))


def _weights(old: int, new: int, method: str, *, antialias: bool) -> Floats:
    """Answer what each of ``old`` pixels, a column, adds to each of ``new`` ones, a row."""
    if method == "area":
        return _area(old, new)
    if method == "bicubic" and not antialias:
        return _stepped_cubic(old, new)
    kernel = _KERNELS[method]
    scale = np.float32(1 / (np.float32(new) / np.float32(old)))
    stretch = max(scale, np.float32(1)) if antialias else np.float32(1)
    centers = (np.arange(new, dtype=np.float32) + np.float32(0.5)) * scale
    distances = np.abs((np.arange(old, dtype=np.float32) + np.float32(0.5) - centers[:, None]) / stretch)
    return _normalised(np.where(distances < kernel.radius, kernel.weight(distances.astype(np.float64)), 0))


def _stepped_cubic(old: int, new: int) -> Floats:
    """Answer the weights of bicubic interpolation, which TensorFlow takes from a table."""
    places = (np.arange(new, dtype=np.float32) + np.float32(0.5)) * (np.float32(old) / np.float32(new))
    places -= np.float32(0.5)
    first = np.floor(places)
    steps = np.rint((places - first) * np.float32(_CUBIC_STEPS)) / _CUBIC_STEPS
    distances = np.abs(np.arange(old) - (first + steps)[:, None])
    return _normalised(np.where(distances < 2, _keys_cubic(distances), 0))


def _area(old: int, new: int) -> Floats:
    """Answer how much of each old pixel lies in each new one."""
    scale = np.float32(old) / np.float32(new)
    edges = np.arange(new + 1, dtype=np.float32) * scale
    pixels = np.arange(old)
    inside = np.minimum(pixels + 1, edges[1:, None]) - np.maximum(pixels, edges[:-1, None])
    return np.asarray(np.clip(inside, 0, 1) / scale, np.float32)


def _normalised(found: NDArray[np.float64]) -> Floats:
    return np.asarray(found / found.sum(1, keepdims=True), np.float32)
