"""Decode images and tensors, which are one bytes value in the record and an array in the column."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

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

# With fewer rows, starting threads costs more than it saves.
_MIN_ROWS_FOR_THREADS = 8


def is_blob(feature: Feature) -> bool:
    """Whether a feature is stored as an encoded image or a serialized tensor."""
    return feature.encoding not in ("list", "raw")


def decode_blobs(feature: Feature, column: BytesColumn, valid: NDArray[np.bool_] | None) -> AnyColumn:
    """Decode every row to an array ``[n, *shape]``, or to an object array if the shape is not known."""
    shape = tuple(size for size in feature.shape if size is not None)
    dense = len(shape) == len(feature.shape)
    decode = _decode_tensor if feature.encoding == "tensor" else _decode_image
    rows = column.to_list()
    dtype = _array_dtype(feature)
    out: NDArray[Any] = np.empty((len(rows), *shape), dtype) if dense else np.empty(len(rows), object)

    def fill(i: int) -> None:
        if valid is not None and not valid[i]:
            if feature.has_default:
                out[i] = np.asarray(feature.default, dtype)
            else:
                out[i] = 0 if dense and not dtype.hasobject else None
            return
        try:
            out[i] = decode(feature, rows[i])
        except MissingExtraError:
            raise
        except (PenstockError, ValueError) as error:
            raise RowFault(i, str(error)) from None

    if feature.encoding == "tensor" or len(rows) < _MIN_ROWS_FOR_THREADS:
        for i in range(len(rows)):
            fill(i)
    else:
        with ThreadPoolExecutor(min(8, available_cpus()), thread_name_prefix="penstock-image") as pool:
            for done in pool.map(fill, range(len(rows))):
                assert done is None
    return out


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


def _decode_image(feature: Feature, data: bytes) -> NDArray[Any]:
    from penstock.codec.images import decode_image

    return _check_shape(feature, decode_image(data, dtype=feature.dtype, shape=feature.shape))


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
