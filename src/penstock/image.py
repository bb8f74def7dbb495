"""Operations on arrays of pixels that agree with ``tf.image``."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["resize"]


def resize(
    images: ArrayLike, size: tuple[int, int], *, method: Literal["bilinear"] = "bilinear"
) -> NDArray[np.float32]:
    """Resize one image or a batch of images, as ``tf.image.resize`` does without antialiasing.

    Args:
        images: An array ``[height, width, channels]`` or ``[n, height, width, channels]`` of any real dtype.
        size: The new height and width.
        method: ``"bilinear"`` interpolates between the four nearest pixels, whose centers are at half coordinates.

    Returns:
        A float32 array with the new height and width.

    Raises:
        ValueError: ``images`` or ``size`` has no pixels or another number of dimensions, or ``method`` is unknown.

    Example:
        >>> ps.image.resize([[[0], [8]]], (1, 4))[..., 0]
        array([[0., 2., 6., 8.]], dtype=float32)
    """
    pixels = np.asarray(images)
    if method != "bilinear":
        raise ValueError(f'method must be "bilinear", found {method!r}')
    if pixels.ndim not in (3, 4):
        raise ValueError(f"expected [height, width, channels] or [n, height, width, channels], found {pixels.shape}")
    old_height, old_width = pixels.shape[-3:-1]
    height, width = size
    if min(old_height, old_width, height, width) < 1:
        raise ValueError(f"cannot resize {old_height} x {old_width} to {height} x {width}: sizes must be at least 1")

    y, x = _neighbors(old_height, height), _neighbors(old_width, width)
    rows, inverse = np.unique(np.concatenate([y.lower, y.upper]), return_inverse=True)
    with np.errstate(invalid="ignore", over="ignore"):  # infinities become NaN, as in TensorFlow
        # Columns first, then rows: the order affects the last bit.
        across = _interpolate(pixels.take(rows, axis=-3), x._replace(weight=x.weight[:, None]), axis=-2)
        down = _Neighbors(inverse[:height], inverse[height:], y.weight[:, None, None])
        return _interpolate(across, down, axis=-3)


class _Neighbors(NamedTuple):
    """For each new position, the two old positions around it, and its distance from the lower one."""

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    weight: NDArray[np.float32]


def _neighbors(old: int, new: int) -> _Neighbors:
    # Compute in float32, as TensorFlow does.
    half = np.float32(0.5)
    position = (np.arange(new, dtype=np.float32) + half) * (np.float32(old) / np.float32(new)) - half
    below = np.floor(position)
    upper = np.minimum(np.ceil(position).astype(np.int64), old - 1)
    lower = np.minimum(np.maximum(below.astype(np.int64), 0), upper)
    return _Neighbors(lower, upper, position - below)


def _interpolate(pixels: NDArray[Any], between: _Neighbors, axis: int) -> NDArray[np.float32]:
    lower = pixels.take(between.lower, axis).astype(np.float32, copy=False)
    step = pixels.take(between.upper, axis).astype(np.float32, copy=False) - lower
    step *= between.weight
    step += lower
    return step
