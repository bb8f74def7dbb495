"""Operations on arrays of pixels that agree with ``tf.image``."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["resize"]


def resize(
    images: ArrayLike, size: tuple[int, int], *, method: Literal["bilinear"] = "bilinear"
) -> NDArray[np.float32]:
    """Resize one image or a batch of them, as ``tf.image.resize`` does without antialiasing.

    >>> resize([[[0], [8]]], (1, 4))[..., 0]
    array([[0., 2., 6., 8.]], dtype=float32)

    Args:
        images: An array of shape ``[height, width, channels]`` or ``[n, height, width, channels]``, of any real dtype.
        size: The new height and width.
        method: ``"bilinear"``: between the four nearest pixels, whose centres are at half coordinates.

    Returns:
        An array of float32 with the new height and width.
    """
    pixels = np.asarray(images)
    if method != "bilinear":
        raise ValueError(f'unknown method {method!r}: only "bilinear"')
    if pixels.ndim not in (3, 4):
        raise ValueError(f"expected [height, width, channels] or [n, height, width, channels], found {pixels.shape}")
    old_height, old_width = pixels.shape[-3:-1]
    height, width = size
    if min(old_height, old_width, height, width) < 1:
        raise ValueError(f"cannot resize {old_height} x {old_width} to {height} x {width}: an image has pixels")

    y, x = _neighbours(old_height, height), _neighbours(old_width, width)
    rows, place = np.unique(np.concatenate([y.lower, y.upper]), return_inverse=True)
    with np.errstate(invalid="ignore", over="ignore"):  # infinities become NaN, as they do in TensorFlow
        # Between columns first, then between rows: the order decides the last bit.
        across = _interpolate(pixels.take(rows, axis=-3), x._replace(weight=x.weight[:, None]), axis=-2)
        down = _Neighbours(place[:height], place[height:], y.weight[:, None, None])
        return _interpolate(across, down, axis=-3)


class _Neighbours(NamedTuple):
    """For each new position the two old ones that it lies between, and how far it is from the lower one."""

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    weight: NDArray[np.float32]


def _neighbours(old: int, new: int) -> _Neighbours:
    # All in float32, as TensorFlow computes it.
    half = np.float32(0.5)
    position = (np.arange(new, dtype=np.float32) + half) * (np.float32(old) / np.float32(new)) - half
    below = np.floor(position)
    upper = np.minimum(np.ceil(position).astype(np.int64), old - 1)
    lower = np.minimum(np.maximum(below.astype(np.int64), 0), upper)
    return _Neighbours(lower, upper, position - below)


def _interpolate(pixels: NDArray[Any], between: _Neighbours, axis: int) -> NDArray[np.float32]:
    lower = pixels.take(between.lower, axis).astype(np.float32, copy=False)
    step = pixels.take(between.upper, axis).astype(np.float32, copy=False) - lower
    step *= between.weight
    step += lower
    return step
