"""ImageTransform: decode, crop, resize, flip and normalize pictures in one step, on native threads.

A JPEG picture is decoded as far as the transform needs it: only the rows and columns of the part that is used, and at
1/2, 1/4 or 1/8 of the size where that is still larger than the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.arguments import int_at_least, one_of
from penstock.codec.images import decode_by_pillow, invalid_image, max_pixels
from penstock.columns import AnyColumn, BytesColumn, Nullable, Ragged
from penstock.columns.ragged import unchecked_ragged
from penstock.errors import MalformedExampleError, SchemaError

Size: TypeAlias = int | tuple[int, int]
Faults: TypeAlias = dict[int, str]
"""What is wrong with each row that has a bad picture."""
_TOO_SMALL = "it is smaller than the part to crop"
_UINT64 = 1 << 64


@dataclass(frozen=True, kw_only=True)
class ImageTransform:
    """What to make of each picture. Sizes are ``(height, width)``, or one number for a square.

    Exactly one of the first three arguments is needed, or ``resize`` and ``center_crop`` together.

    Args:
        random_resized_crop: Crop a random part and resize it to this size, as torchvision's ``RandomResizedCrop`` does.
        resize: Resize to this size; with ``center_crop``, one number is the size of the shorter side.
        center_crop: Crop the center, of this size.
        scale: The least and the largest share of the area that a random part has.
        ratio: The least and the largest ratio of its width to its height.
        flip: The probability of a horizontal flip; True is 0.5.
        normalize: Mean and standard deviation of each channel, of pixels between 0 and 1.
        layout: ``"HWC"`` or ``"CHW"``.
        dtype: ``"float32"``, ``"float16"``, or ``"uint8"``. Floats are between 0 and 1 before ``normalize``.
        channels: 3 for RGB, 1 for gray.
        antialias: Average all pixels that become one, as Pillow and torchvision do; False takes the nearest four,
            as ``tf.image.resize`` does.
        exact: Decode pictures in full before resizing them. By default, pixels differ a little where less is decoded.
        per: Draw one part and flip for each ``"picture"``, or for each ``"record"``: all frames of a video alike.

    Raises:
        ValueError: The arguments contradict each other.

    Example:
        >>> training = ps.ImageTransform(random_resized_crop=224, flip=True, layout="CHW")
        >>> evaluation = ps.ImageTransform(resize=256, center_crop=224, layout="CHW")
        >>> training.shape, evaluation.shape
        ((3, 224, 224), (3, 224, 224))
    """

    random_resized_crop: Size | None = None
    resize: Size | None = None
    center_crop: Size | None = None
    scale: tuple[float, float] = (0.08, 1.0)
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    flip: bool | float = False
    normalize: tuple[Sequence[float], Sequence[float]] | None = None
    layout: Literal["HWC", "CHW"] = "HWC"
    dtype: Literal["uint8", "float16", "float32"] = "float32"
    channels: Literal[1, 3] = 3
    antialias: bool = True
    exact: bool = False
    per: Literal["picture", "record"] = "picture"

    def __post_init__(self) -> None:
        one_of("layout", self.layout, ("HWC", "CHW"))
        one_of("dtype", self.dtype, ("uint8", "float16", "float32"))
        one_of("per", self.per, ("picture", "record"))
        if self.channels not in (1, 3):
            raise ValueError(f"channels is 1 or 3, not {self.channels!r}")
        given = [name for name in ("random_resized_crop", "resize", "center_crop") if getattr(self, name) is not None]
        if len(given) != 1 and given != ["resize", "center_crop"]:
            raise ValueError(
                "an ImageTransform takes random_resized_crop, resize or center_crop, or resize and center_crop "
                f"together; found {' and '.join(given) or 'none of them'}"
            )
        for name in given:
            _sides(name, getattr(self, name))
        if given == ["resize"] and isinstance(self.resize, int):
            raise ValueError(
                "resize=N is the shorter side, so pictures would differ in size: add center_crop=, or write (N, N)"
            )
        if given == ["resize", "center_crop"]:
            if not isinstance(self.resize, int):
                raise ValueError("with center_crop, resize is one number: the size of the shorter side")
            if max(self._output) > self.resize:
                raise ValueError(f"center_crop={self.center_crop} is larger than resize={self.resize}")
        for name in ("scale", "ratio"):
            low, high = getattr(self, name)
            if not 0 < low <= high or (name == "scale" and high > 1):
                raise ValueError(f"{name} is a pair of numbers above 0, in order, not {getattr(self, name)!r}")
        if not 0 <= self._flip <= 1:
            raise ValueError(f"flip is a probability, True or False, not {self.flip!r}")
        if self.normalize is not None:
            mean, deviation = (np.asarray(values, np.float64) for values in self.normalize)
            if mean.shape != (self.channels,) or deviation.shape != (self.channels,) or not (deviation > 0).all():
                raise ValueError(
                    f"normalize is a mean and a standard deviation for each of {self.channels} channels, "
                    f"not {self.normalize!r}"
                )
            if self.dtype == "uint8":
                raise ValueError('normalize needs dtype="float32" or "float16"')
            # Hashable, and the same in a saved state.
            object.__setattr__(self, "normalize", (tuple(mean.tolist()), tuple(deviation.tolist())))

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of the result.

        Example:
            >>> ps.ImageTransform(resize=(120, 160)).shape
            (120, 160, 3)
        """
        height, width = self._output
        return (self.channels, height, width) if self.layout == "CHW" else (height, width, self.channels)

    @property
    def _output(self) -> tuple[int, int]:
        for name in ("random_resized_crop", "center_crop", "resize"):
            if getattr(self, name) is not None:
                return _sides(name, getattr(self, name))
        raise AssertionError

    @property
    def _flip(self) -> float:
        return 0.5 if self.flip is True else float(self.flip)

    def _scaling(self) -> tuple[list[float], list[float]]:
        """Return factor and offset of each channel, for pixels from 0 to 255."""
        if self.dtype == "uint8":
            return [1.0] * self.channels, [0.0] * self.channels
        mean, deviation = self.normalize or ((0.0,) * self.channels, (1.0,) * self.channels)
        return (
            [1 / 255 / float(one) for one in deviation],
            [-float(a) / float(b) for a, b in zip(mean, deviation, strict=True)],
        )

    def _native(self, seed: int, threads: int) -> _core.PictureTransformer:
        parts = {"random_resized_crop": "random", "center_crop": "center", "resize": "whole"}
        part = next(parts[name] for name in parts if getattr(self, name) is not None)
        both = self.resize is not None and self.center_crop is not None
        height, width = self._output
        factor, offset = self._scaling()
        return _core.PictureTransformer(
            part="resized center" if both else part,
            height=height,
            width=width,
            channels=self.channels,
            shorter_side=self.resize if both and isinstance(self.resize, int) else 0,
            area=list(self.scale),
            ratio=list(self.ratio),
            flip=self._flip,
            antialias=self.antialias,
            exact=self.exact,
            dtype=self.dtype,
            channels_first=self.layout == "CHW",
            factor=factor,
            offset=offset,
            seed=seed % _UINT64,
            max_pixels=max_pixels(),
            threads=threads,
        )


def _sides(name: str, size: Any) -> tuple[int, int]:
    if isinstance(size, tuple):
        if len(size) != 2:
            raise ValueError(f"{name} is a number or (height, width), not {size!r}")
        return int_at_least(name, size[0], 1), int_at_least(name, size[1], 1)
    side = int_at_least(name, size, 1)
    return side, side


def _not_encoded(column: AnyColumn) -> SchemaError:
    return SchemaError(
        f"pictures are transformed from their encoded bytes, found a column of type {type(column).__name__}: "
        "call map_images() before functions that change them"
    )


class PictureTransformer:
    """Transforms columns of encoded pictures, on native threads that end with the object.

    Random numbers depend on the seed, and on the epoch and the row of each picture.
    """

    def __init__(self, transform: ImageTransform, *, seed: int, threads: int) -> None:
        self._transform, self._seed, self._threads = transform, seed, threads

    @cached_property
    def _native(self) -> _core.PictureTransformer:
        return self._transform._native(self._seed, self._threads)

    def __call__(
        self, column: AnyColumn, rows: NDArray[np.int64], epochs: NDArray[np.int64]
    ) -> tuple[AnyColumn, Faults]:
        """Return a column of transformed pictures, and its faults: the values of these rows mean nothing."""
        if isinstance(column, Nullable):
            done: AnyColumn
            if isinstance(column.values, BytesColumn):
                done, faults = self._flat(column.values, column.valid, rows, epochs, np.zeros_like(rows))
            else:
                done, faults = self(column.values, rows, epochs)
            return Nullable(done, column.valid), faults
        if isinstance(column, Ragged):
            return self._nested(column, rows, epochs)
        if not isinstance(column, BytesColumn):
            raise _not_encoded(column)
        return self._flat(column, None, rows, epochs, np.zeros_like(rows))

    def parts(
        self, column: AnyColumn, rows: NDArray[np.int64], epochs: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], Faults]:
        """Return top, left, height, width and flip of the part of each JPEG picture, by their headers, and faults."""
        if not isinstance(column, BytesColumn):
            raise _not_encoded(column)
        parts = np.zeros((len(column), 5))
        faults: Faults = {}
        for number, data in enumerate(column.to_list()):
            shape = _core.jpeg_shape(data, max_pixels())
            if shape is None:
                faults[number] = "only JPEG pictures can be decoded later, and this is none"
                continue
            part = self.choose(shape[0], shape[1], int(rows[number]), int(epochs[number]))
            if part is None:
                faults[number] = str(invalid_image(data, _TOO_SMALL))
            else:
                parts[number] = part
        return parts, faults

    def choose(self, height: int, width: int, row: int, epoch: int) -> tuple[float, float, float, float, bool] | None:
        """Return top, left, height and width of the part of a picture, and whether it is flipped."""
        return self._native.choose(height, width, epoch, row, 0)

    def _nested(self, column: Ragged, rows: NDArray[np.int64], epochs: NDArray[np.int64]) -> tuple[AnyColumn, Faults]:
        """Transform each picture of lists; inner levels of lists count their pictures through the record."""
        offsets, values, levels = column.offsets, column.values, [column.offsets]
        while isinstance(values, Ragged):
            levels.append(values.offsets)
            offsets, values = values.offsets[offsets], values.values
        if not isinstance(values, BytesColumn):
            raise _not_encoded(values)
        counts = np.diff(offsets)
        items = np.arange(len(values)) - np.repeat(offsets[:-1], counts)
        if self._transform.per == "record":
            items = np.zeros_like(items)
        owner = np.repeat(np.arange(len(counts)), counts)
        built: AnyColumn
        built, found = self._flat(values, None, rows[owner], epochs[owner], items)
        faults: Faults = {}
        for number, message in found.items():
            faults.setdefault(int(owner[number]), message)
        for level in reversed(levels):
            built = unchecked_ragged(built, level)
        return built, faults

    def _flat(
        self,
        column: BytesColumn,
        valid: NDArray[np.bool_] | None,
        rows: NDArray[np.int64],
        epochs: NDArray[np.int64],
        items: NDArray[np.int64],
    ) -> tuple[NDArray[Any], Faults]:
        keys = (np.ascontiguousarray(part, np.int64) for part in (epochs, rows, items))
        out, others = self._native.transform(column.views, column.buffers, valid, *keys)
        faults: Faults = {}
        for number, problem in sorted(others.items()):
            data = column[number]
            try:
                if problem is not None:
                    raise invalid_image(data, problem)
                pixels = decode_by_pillow(data, "uint8", (None, None, self._transform.channels))
                done = self._native.transform_pixels(pixels, int(epochs[number]), int(rows[number]), int(items[number]))
                if done is None:
                    raise invalid_image(data, _TOO_SMALL)
            except MalformedExampleError as error:
                faults[number] = str(error)
            else:
                out[number] = done
        if valid is not None:
            out[~valid] = 0
        return out, faults
