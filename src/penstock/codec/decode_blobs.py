"""Decode images and tensors, which are one bytes value in the record and an array in the column."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.columns import AnyColumn, BytesColumn
from penstock.columns.stored_column import Stored, StoredColumn, content_of
from penstock.errors import MissingExtraError, PenstockError, RowFault
from penstock.parallel import available_cpus
from penstock.schema import Feature
from penstock.schema.dtype import TEXT
from penstock.schema.feature import fits_shape
from penstock.schema.schema import TracedFeature

if TYPE_CHECKING:
    from penstock.codec.images import ImageDecoder


def is_blob(feature: Feature) -> bool:
    """Whether a feature is stored as an encoded image or a serialized tensor."""
    return feature.encoding not in ("list", "raw")


class BlobDecoder:
    """Decodes the rows of a feature to an array ``[n, *shape]``, or to an object array if the shape is not known.

    Args:
        feature: A feature that is stored as blobs.
        threads: The number of threads that decode images; None: as many as there are CPUs.
    """

    def __init__(self, feature: Feature, threads: int | None = None) -> None:
        self._feature, self._dtype = feature, _array_dtype(feature)
        self._threads = threads or available_cpus()
        self._images: ImageDecoder | None = None

    def __call__(self, column: BytesColumn, valid: NDArray[np.bool_] | None) -> NDArray[Any]:
        """Decode the rows that ``valid`` does not exclude, and fill the others."""
        decode = _decode_tensors if self._feature.encoding == "tensor" else self._decode_images
        out = decode(self._feature, column, valid)
        if valid is not None:
            for row in np.flatnonzero(~valid).tolist():
                out[row] = self._filling(out)
        return out

    def _decode_images(self, feature: Feature, column: BytesColumn, valid: NDArray[np.bool_] | None) -> NDArray[Any]:
        if self._images is None:
            from penstock.codec.images import ImageDecoder

            self._images = ImageDecoder(feature.dtype, feature.shape, threads=self._threads)
        pixels, others = self._images.decode_column(column, valid)
        out = np.empty(len(column), object) if pixels is None else pixels
        for row, image in others.items():
            if isinstance(image, MissingExtraError):
                raise image
            try:
                if isinstance(image, Exception):
                    raise image
                out[row] = _check_shape(feature, image)
            except (PenstockError, ValueError) as error:
                raise RowFault(row, str(error)) from None
        return self._stacked(out) if out.dtype == object and feature.is_dense and len(out) else out

    def _stacked(self, images: NDArray[Any]) -> NDArray[Any]:
        """Return images that were decoded one by one as one array, zeros where there is none."""
        stacked = np.zeros((len(images), *(size or 0 for size in self._feature.shape)), self._dtype)
        for row, image in enumerate(images):
            if image is not None:
                stacked[row] = image
        return stacked

    def _filling(self, out: NDArray[Any]) -> Any:
        if self._feature.has_default:
            return np.asarray(self._feature.default, self._dtype)
        return None if out.dtype.hasobject else 0


def with_stored_bytes(
    feature: TracedFeature, column: AnyColumn, data: list[Any] | None, valid: NDArray[np.bool_] | None
) -> StoredColumn:
    """Return a column with the stored bytes of each row; ``data`` is None for raw arrays, which need none."""
    plain_feature = feature.plain()
    present = [True] * len(column) if valid is None else valid.tolist()
    rows: list[Stored | None] = []
    for number, (array, is_present) in enumerate(zip(column, present, strict=True)):
        if isinstance(array, np.ndarray | np.generic) and (is_present or feature.has_default):
            row_data = data[number] if is_present and data is not None else None
            rows.append(Stored(array, row_data, feature.name, plain_feature, content_of(array)))
        else:
            rows.append(None)
    return StoredColumn(column, rows)


def _decode_tensors(feature: Feature, column: BytesColumn, valid: NDArray[np.bool_] | None) -> NDArray[Any]:
    shape = tuple(size for size in feature.shape if size is not None)
    dense = len(shape) == len(feature.shape)
    out: NDArray[Any] | None = None
    for row, data in enumerate(column.to_list()):
        if valid is None or valid[row]:
            try:
                array = _decode_tensor(feature, data)
                if out is None:  # a declared shape that no record fills takes no memory
                    out = np.empty((len(column), *shape), array.dtype) if dense else np.empty(len(column), object)
                out[row] = array
            except (PenstockError, ValueError) as error:
                raise RowFault(row, str(error)) from None
    if out is None:
        out = np.zeros((len(column), *shape), _array_dtype(feature)) if dense else np.empty(len(column), object)
    return out


def _decode_tensor(feature: Feature, data: bytes) -> NDArray[Any]:
    from penstock.codec.tensor_proto import MAX_FILLED_BYTES, parse_tensor

    # A few bytes can declare any number of equal values: allow no more than the schema has room for.
    sizes = [size for size in feature.shape if size is not None]
    known = len(sizes) == len(feature.shape)
    array = parse_tensor(data, max_bytes=16 * math.prod(sizes) if known else MAX_FILLED_BYTES)
    if array.dtype != _array_dtype(feature):
        raise ValueError(
            f"expected a {feature.dtype} tensor, found {'bytes' if array.dtype == object else array.dtype}"
        )
    if feature.dtype == "str":
        array = np.array([value.decode() for value in array.flat], object).reshape(array.shape)
    return _check_shape(feature, array)


def _array_dtype(feature: Feature) -> np.dtype[Any]:
    """Return the dtype of one row; strings in a tensor are Python objects."""
    return np.dtype(object) if feature.dtype in TEXT else feature.numpy_dtype


def _check_shape(feature: Feature, array: NDArray[Any]) -> NDArray[Any]:
    if not fits_shape(array.shape, feature.shape):
        raise ValueError(f"expected shape {feature.shape}, found {array.shape}")
    return array
