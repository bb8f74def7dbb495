"""The feature descriptions of ``tf.io``, the columns that they read, and the specs of what they parse to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from penstock.errors import SchemaError
from penstock.schema import Feature
from penstock.schema.default import NO_DEFAULT
from penstock.tf.errors import InvalidArgumentError
from penstock.tf.tensors.convert import as_array, as_shape
from penstock.tf.tensors.dtypes import DType, as_dtype, float32, int32, int64, string
from penstock.tf.tensors.shape import TensorShape
from penstock.tf.tensors.specs import UNKNOWN_SPEC, RaggedTensorSpec, SparseTensorSpec, TensorSpec
from penstock.tf.tensors.tensor import Tensor


class FixedLenFeature(NamedTuple):
    """A feature of a known shape, with an optional default where it is absent."""

    shape: Any
    dtype: Any
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature of any length, parsed to a SparseTensor."""

    dtype: Any


class FixedLenSequenceFeature(NamedTuple):
    """A list of items of a known shape, padded in a batch."""

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class SparseFeature(NamedTuple):
    """A SparseTensor whose indices and values are separate features."""

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


# penstock.Schema recognizes them by the names that they have in TensorFlow.
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
    """A feature of any length, parsed to a RaggedTensor; other features may hold its row partitions."""

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


_STORED = {float32: "float32", int64: "int64", string: "bytes"}


class FeatureColumns:
    """The columns that feature descriptions read from an Example, or from one part of a SequenceExample."""

    def __init__(self, prefix: str, *, sequence: bool = False) -> None:
        self._prefix = prefix
        self._sequence = sequence
        self._groups: dict[str, tuple[str, Any, Any]] = {}
        self.features: dict[str, Feature] = {}

    def add_all(self, specs: Mapping[str, Any], allowed: tuple[type, ...]) -> None:
        """Add the columns of all features of a description."""
        for key in sorted(specs):
            spec = specs[key]
            if not isinstance(spec, allowed):
                raise ValueError(f"Unsupported {type(spec).__name__} {spec} for key '{key}'")
            self._add(key, spec)

    def name(self, key: str) -> str:
        """Return the name of the column of a key."""
        return self._prefix + key

    def _add(self, key: str, spec: Any) -> None:
        match spec:
            case FixedLenFeature():
                shape = _known_shape(key, spec.shape)
                self._claim(key, "dense", spec.dtype)
                default = _default(spec.default_value, spec.dtype, shape)
                self._put(key, spec.dtype, shape, default=default)
            case FixedLenSequenceFeature():
                self._add_sequence(key, spec)
            case VarLenFeature():
                self._add_list(key, spec.dtype, "sparse")
            case SparseFeature():
                for index_key in index_keys(spec):
                    self._add_list(index_key, int64, "sparse")
                self._add_list(spec.value_key, spec.dtype, "sparse")
            case RaggedFeature():
                self._add_list(key if spec.value_key is None else spec.value_key, spec.dtype, "ragged", spec)
                for partition in spec.partitions:
                    if not isinstance(partition, RaggedFeature.UniformRowLength):
                        self._add_list(partition.key, int64, "ragged", spec)

    def _add_sequence(self, key: str, spec: FixedLenSequenceFeature) -> None:
        if spec.shape is None:
            raise ValueError(f"Missing shape for feature {key}.")
        self._claim(key, "dense", spec.dtype)
        if None in TensorShape(spec.shape).as_list():
            raise InvalidArgumentError(f"the shape of feature {key} has unknown dimensions: {spec.shape}")
        shape = as_shape(spec.shape)
        if self._sequence:
            if spec.default_value is not None:
                raise ValueError(f"Value feature_list.dense_defaults[{key}] must be None")
            self._put(key, spec.dtype, shape, optional=bool(spec.allow_missing))
            return
        if not spec.allow_missing:
            raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
        self._put(key, spec.dtype, (None, *shape))

    def _add_list(self, key: str, dtype: Any, group: str, ragged: RaggedFeature | None = None) -> None:
        splits = None if ragged is None else ragged.row_splits_dtype
        if self._claim(key, group, dtype, splits):
            self._put(key, dtype, (None,), optional=self._sequence)

    def _claim(self, key: str, group: str, dtype: Any, splits: Any = None) -> bool:
        """Record how a key is read, and return whether it is new; raise if it is already read differently."""
        if not dtype:
            raise ValueError(f"Missing type for feature {key}.")
        wanted = (group, as_dtype(dtype), splits)
        found = self._groups.setdefault(key, wanted)
        if found[0] != group:
            raise ValueError(f"{found[0].title()} and {group} keys must not intersect: {key}")
        if found[1] != wanted[1]:
            raise ValueError(f"Conflicting type {found[1]} vs {wanted[1]} for feature {key}.")
        if found[2] != splits:
            raise ValueError(f"Conflicting partition type {found[2]} vs {splits} for feature {key}.")
        return self.name(key) not in self.features

    def _put(self, key: str, dtype: Any, shape: Iterable[int | None], **options: Any) -> None:
        found = as_dtype(dtype)
        if found not in _STORED:
            raise InvalidArgumentError(f"expected string, int64 or float32, which an Example holds, not {found.name}")
        try:
            self.features[self.name(key)] = Feature(_STORED[found], shape, key=key, **options)
        except SchemaError as error:
            raise InvalidArgumentError(f"feature {key!r}: {error}") from error


def index_keys(spec: SparseFeature) -> list[str]:
    """Return the keys of the indices of a SparseFeature, one per dimension."""
    return [spec.index_key] if isinstance(spec.index_key, str) else list(spec.index_key)


def sparse_sizes(spec: SparseFeature) -> list[int]:
    """Return the sizes of a SparseFeature."""
    if isinstance(spec.index_key, str):
        if isinstance(spec.size, list | tuple):
            raise TypeError("expected an int as size, because index_key is a str")
        return [int(spec.size)]
    if not isinstance(spec.size, list | tuple):
        raise TypeError("expected a list as size, because index_key is a list")
    if len(spec.size) != len(spec.index_key):
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")
    return [int(size) for size in spec.size]


def _known_shape(key: str, shape: Any) -> tuple[int, ...]:
    if shape is None:
        raise ValueError(f"Missing shape for feature {key}.")
    sizes = TensorShape(shape).as_list()
    if sizes and sizes[0] is None:
        raise ValueError(f"First dimension of shape for feature {key} unknown. Consider using FixedLenSequenceFeature.")
    if None in sizes:
        raise ValueError(f"All dimensions of shape for feature {key} need to be known but received {shape}.")
    return as_shape(shape)


def _default(value: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    if value is None:
        return NO_DEFAULT
    array = as_array(value, as_dtype(dtype))
    size = int(np.prod(shape, dtype=np.int64))
    if array.size != size or (isinstance(value, Tensor) and array.shape != shape and array.size):
        raise InvalidArgumentError(
            f"Input to reshape is a tensor with {array.size} values, but the requested shape has {size}"
        )
    return array.reshape(shape).tolist() if array.size else NO_DEFAULT


def padding_of(value: Any, dtype: DType) -> Any:
    """Return the padding value of a FixedLenSequenceFeature."""
    if value is None:
        return b"" if dtype == string else 0
    array = as_array(value, dtype)
    if array.size != 1:
        raise InvalidArgumentError(f"expected one value as padding, found {array.size}")
    return array.reshape(())[()]


def spec_of_feature(feature: Any) -> Any:
    """Return the spec of a feature of one Example."""
    match feature:
        case FixedLenFeature():
            return TensorSpec(TensorShape(feature.shape), feature.dtype)
        case FixedLenSequenceFeature():
            return TensorSpec(TensorShape([None]).concatenate(TensorShape(feature.shape)), feature.dtype)
        case VarLenFeature():
            return SparseTensorSpec([None], feature.dtype)
        case SparseFeature():
            return SparseTensorSpec(np.atleast_1d(feature.size).tolist(), feature.dtype)
        case RaggedFeature(partitions=()):
            return TensorSpec([None], feature.dtype)
        case RaggedFeature():
            return _ragged_spec(feature, [])
    return UNKNOWN_SPEC


def spec_of_many(feature: Any, outer: list[int | None], inner: list[None] | None = None) -> Any:
    """Return the spec of a feature of many Examples; ``inner`` are the dimensions of the steps of a SequenceExample."""
    between = TensorShape(inner or [])
    match feature:
        case FixedLenFeature():
            return TensorSpec(TensorShape(outer).concatenate(TensorShape(feature.shape)), feature.dtype)
        case FixedLenSequenceFeature():
            return TensorSpec(TensorShape([*outer, None]).concatenate(TensorShape(feature.shape)), feature.dtype)
        case VarLenFeature():
            return SparseTensorSpec(TensorShape([None]) + between + [None], feature.dtype)
        case SparseFeature():
            return SparseTensorSpec([None, *np.atleast_1d(feature.size).tolist()], feature.dtype)
        case RaggedFeature():
            return _ragged_spec(feature, [*outer, *between])
    return UNKNOWN_SPEC


def _ragged_spec(feature: RaggedFeature, outer: list[int | None]) -> Any:
    if any(isinstance(partition, RaggedFeature.UniformRowLength) for partition in feature.partitions):
        return UNKNOWN_SPEC  # which dimensions are ragged depends on the order of the partitions
    shape = [*outer, *[None] * (len(feature.partitions) + 1)]
    return RaggedTensorSpec(shape, feature.dtype, len(shape) - 1, feature.row_splits_dtype)
