"""What to parse: the descriptions of features, as ``tf.io`` has them."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from penstock.tf.dtypes import DType, as_dtype, float32, int32, int64, string


class FixedLenFeature(NamedTuple):
    """A feature of a known shape, with a default where it is absent."""

    shape: Any
    dtype: Any
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature of any length, as a SparseTensor."""

    dtype: Any


class FixedLenSequenceFeature(NamedTuple):
    """A feature of any number of items of a known shape, padded in a batch."""

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class SparseFeature(NamedTuple):
    """A SparseTensor whose indices and values are features of their own."""

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False


class _RowSplits(NamedTuple):
    key: str


class _RowLengths(NamedTuple):
    key: str


class _RowStarts(NamedTuple):
    key: str


class _RowLimits(NamedTuple):
    key: str


class _ValueRowIds(NamedTuple):
    key: str


class _UniformRowLength(NamedTuple):
    length: int


# Named as TensorFlow names them, which is what describes them to penstock.Schema.
for _partition in (_RowSplits, _RowLengths, _RowStarts, _RowLimits, _ValueRowIds, _UniformRowLength):
    _partition.__name__ = _partition.__name__.removeprefix("_")
    _partition.__qualname__ = f"RaggedFeature.{_partition.__name__}"

_PARTITIONS = (_RowSplits, _RowLengths, _RowStarts, _RowLimits, _ValueRowIds, _UniformRowLength)


class _RaggedFields(NamedTuple):
    dtype: DType
    value_key: str | None
    partitions: tuple[Any, ...]
    row_splits_dtype: DType
    validate: bool


class RaggedFeature(_RaggedFields):
    """A feature of any length, as a RaggedTensor; other features may hold how its rows are cut."""

    __slots__ = ()

    RowSplits: ClassVar = _RowSplits
    RowLengths: ClassVar = _RowLengths
    RowStarts: ClassVar = _RowStarts
    RowLimits: ClassVar = _RowLimits
    ValueRowIds: ClassVar = _ValueRowIds
    UniformRowLength: ClassVar = _UniformRowLength

    def __new__(
        cls,
        dtype: Any,
        value_key: str | None = None,
        partitions: Any = (),
        row_splits_dtype: Any = int32,
        validate: bool = False,
    ) -> RaggedFeature:
        if value_key is not None and not value_key:
            raise ValueError(f"Ragged feature value_key must not be empty: {value_key!r}")
        values, splits = as_dtype(dtype), as_dtype(row_splits_dtype)
        if values not in (int64, float32, string):
            raise ValueError(f"Argument `dtype` must be int64, float32, or bytes. Received: {values}")
        if splits not in (int32, int64):
            raise ValueError(f"Argument `row_splits_dtype` must be int32 or int64. Received: {splits}")
        if not isinstance(partitions, list | tuple):
            raise TypeError("Argument `partitions` must be a list or tuple")
        if not all(isinstance(partition, _PARTITIONS) for partition in partitions):
            raise TypeError(f"Argument `partitions` must be a list of partition objects, found {partitions}")
        if not isinstance(validate, bool):
            raise TypeError("Argument `validate` must be a bool")
        return super().__new__(cls, values, value_key, tuple(partitions), splits, validate)
