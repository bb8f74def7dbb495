"""The methods of ``tf.image.resize``, as weights of the old pixels for each new pixel, one axis at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
# TensorFlow tabulates the weights of its bicubic method at this many steps between two pixels.
_CUBIC_STEPS = 1 << 10


class _Kernel(NamedTuple):
    """The weight of a pixel by its distance; zero beyond the radius."""

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
"""The names of the methods."""


def resample(images: NDArray[Any], height: int, width: int, method: str, *, antialias: bool) -> Floats:
    """Resize images ``[..., height, width, channels]`` to float32, one axis after the other."""
    rows = _weights(images.shape[-3], height, method, antialias=antialias)
    columns = _weights(images.shape[-2], width, method, antialias=antialias)
    return _apply_weights(images, rows, columns)


def _apply_weights(images: NDArray[Any], rows: Floats, columns: Floats) -> Floats:
    pixels = images.astype(np.float32, copy=False)
    narrowed = np.matmul(columns, pixels)
    return np.ascontiguousarray(np.moveaxis(np.matmul(rows, np.moveaxis(narrowed, -3, -2)), -2, -3))


def _weights(old: int, new: int, method: str, *, antialias: bool) -> Floats:
    """Return the weights ``[new, old]`` of the old pixels for each new pixel."""
    if method == "area":
        return _area(old, new)
    if method == "bicubic" and not antialias:
        return _stepped_cubic(old, new)
    kernel = _KERNELS[method]
    scale = np.float32(1 / (np.float32(new) / np.float32(old)))
    stretch = max(scale, np.float32(1)) if antialias else np.float32(1)
    centers = (np.arange(new, dtype=np.float32) + np.float32(0.5)) * scale
    distances = np.abs((np.arange(old, dtype=np.float32) + np.float32(0.5) - centers[:, None]) / stretch)
    return _normalized(np.where(distances < kernel.radius, kernel.weight(distances.astype(np.float64)), 0))


def _stepped_cubic(old: int, new: int) -> Floats:
    """Return the weights of bicubic interpolation, in the steps of TensorFlow's table."""
    positions = (np.arange(new, dtype=np.float32) + np.float32(0.5)) * (np.float32(old) / np.float32(new))
    positions -= np.float32(0.5)
    first = np.floor(positions)
    steps = np.rint((positions - first) * np.float32(_CUBIC_STEPS)) / _CUBIC_STEPS
    distances = np.abs(np.arange(old) - (first + steps)[:, None])
    return _normalized(np.where(distances < 2, _keys_cubic(distances), 0))


def _area(old: int, new: int) -> Floats:
    """Return the fraction of each new pixel that each old pixel covers."""
    scale = np.float32(old) / np.float32(new)
    edges = np.arange(new + 1, dtype=np.float32) * scale
    pixels = np.arange(old)
    inside = np.minimum(pixels + 1, edges[1:, None]) - np.maximum(pixels, edges[:-1, None])
    return np.asarray(np.clip(inside, 0, 1) / scale, np.float32)


def _normalized(found: NDArray[np.float64]) -> Floats:
    return np.asarray(found / found.sum(1, keepdims=True), np.float32)


def resample_by_corners(images: NDArray[Any], height: int, width: int, method: str, *, align: bool) -> NDArray[Any]:
    """Resize as TensorFlow 1: coordinates start at the first corner; ``align`` makes the last corners coincide."""
    sides = ((images.shape[-3], height), (images.shape[-2], width))
    (rows, row_scale), (columns, column_scale) = (_places(*side, align=align) for side in sides)
    if method == "nearest":
        down, across = (
            np.minimum(np.floor(positions + np.float64(0.5 if align else 0)).astype(np.int64), old - 1)
            for positions, (old, _) in zip((rows, columns), sides, strict=True)
        )
        return np.asarray(images.take(down, -3).take(across, -2))
    if method == "bilinear":
        mixed = _interpolate(images.astype(np.float32, copy=False), columns, -2)
        return _interpolate(mixed, rows, -3)
    if method == "bicubic":
        return _apply_weights(images, _cubic_by_corners(sides[0][0], rows), _cubic_by_corners(sides[1][0], columns))
    return _apply_weights(
        images, _area_by_corners(sides[0][0], rows, row_scale), _area_by_corners(sides[1][0], columns, column_scale)
    )


def _places(old: int, new: int, *, align: bool) -> tuple[Floats, np.float32]:
    """Return the coordinates of the new pixels among the old ones, and the distance between them."""
    scale = np.float32(old - 1) / np.float32(new - 1) if align and new > 1 else np.float32(old) / np.float32(new)
    return np.arange(new, dtype=np.float32) * scale, scale


def _interpolate(pixels: Floats, positions: Floats, axis: int) -> Floats:
    """Interpolate between the two pixels around each coordinate."""
    lower = np.floor(positions)
    upper = np.minimum(np.ceil(positions).astype(np.int64), pixels.shape[axis] - 1)
    weights = (positions - lower).reshape(-1, *[1] * (-1 - axis))
    first = pixels.take(np.minimum(lower.astype(np.int64), pixels.shape[axis] - 1), axis)
    return np.asarray(first + (pixels.take(upper, axis) - first) * weights, np.float32)


def _cubic_by_corners(old: int, positions: Floats) -> Floats:
    """Return the weights of bicubic interpolation; coordinates outside are clamped to the edge."""
    first = np.floor(positions).astype(np.int64)
    steps = np.rint((positions - first.astype(np.float32)) * np.float32(_CUBIC_STEPS)) / _CUBIC_STEPS
    weights = np.zeros((len(positions), old))
    for offset in range(-1, 3):
        x = np.abs(offset - steps)
        near, far = (1.25 * x - 2.25) * x * x + 1, ((-0.75 * x + 3.75) * x - 6) * x + 3
        np.add.at(weights, (np.arange(len(positions)), np.clip(first + offset, 0, old - 1)), np.where(x < 1, near, far))
    return weights.astype(np.float32)


def _area_by_corners(old: int, positions: Floats, scale: np.float32) -> Floats:
    """Return the fraction of each new pixel that each old pixel covers, clamped to the edge."""
    if not scale:  # there is only one
        return np.ones((len(positions), old), np.float32)
    weights = np.zeros((len(positions), old), np.float32)
    ends = np.arange(1, len(positions) + 1, dtype=np.float32) * scale
    for row, (start, end) in enumerate(zip(positions, ends, strict=True)):
        pixels = np.arange(int(np.floor(start)), int(np.ceil(end)))
        inside = np.minimum(pixels + 1, end) - np.maximum(pixels, start)
        np.add.at(weights[row], np.clip(pixels, 0, old - 1), inside / scale)
    return weights
