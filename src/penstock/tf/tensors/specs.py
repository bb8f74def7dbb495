"""``tf.TensorSpec`` and its relatives: what is known about a value before it is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from penstock.tf.tensors.convert import as_tensor
from penstock.tf.tensors.dtypes import DType, as_dtype, float32, int64
from penstock.tf.tensors.ragged_tensor import RaggedTensor
from penstock.tf.tensors.shape import ShapeLike, TensorShape
from penstock.tf.tensors.sparse_tensor import SparseTensor
from penstock.tf.tensors.tensor import Tensor


@dataclass(frozen=True, init=False, repr=False)
class TensorSpec:
    """The shape and dtype of a tensor."""

    shape: TensorShape
    dtype: DType
    name: str | None = field(compare=False)
    value_type: ClassVar[type] = Tensor

    def __init__(self, shape: ShapeLike, dtype: Any = float32, name: str | None = None) -> None:
        object.__setattr__(self, "shape", TensorShape(shape))
        object.__setattr__(self, "dtype", as_dtype(dtype))
        object.__setattr__(self, "name", name)

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """Return the spec of a tensor."""
        return cls(tensor.shape, tensor.dtype, name)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether a value, or another spec, matches this one."""
        other = spec_or_value if isinstance(spec_or_value, TensorSpec) else as_tensor(spec_or_value)
        return self.dtype == other.dtype and self.shape.is_compatible_with(other.shape)

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"


@dataclass(frozen=True, init=False, repr=False)
class RaggedTensorSpec:
    """The shape and dtype of a RaggedTensor."""

    shape: TensorShape
    dtype: DType
    ragged_rank: int
    row_splits_dtype: DType

    def __init__(
        self,
        shape: ShapeLike = None,
        dtype: Any = float32,
        ragged_rank: int | None = None,
        row_splits_dtype: Any = int64,
    ) -> None:
        known = TensorShape(shape)
        if ragged_rank is None and known.rank is None:
            raise ValueError("Must specify ragged_rank or a shape with a known rank.")
        object.__setattr__(self, "shape", known)
        object.__setattr__(self, "dtype", as_dtype(dtype))
        object.__setattr__(self, "ragged_rank", (known.rank or 1) - 1 if ragged_rank is None else ragged_rank)
        object.__setattr__(self, "row_splits_dtype", as_dtype(row_splits_dtype))

    @property
    def value_type(self) -> type:
        """The class of values."""
        return RaggedTensor if self.ragged_rank else Tensor

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether a value, or another spec, matches this one."""
        return _same_kind_and_shape(self, spec_or_value)

    def __repr__(self) -> str:
        splits = f"{self.ragged_rank}, {self.row_splits_dtype!r}"
        return f"RaggedTensorSpec({self.shape!r}, {self.dtype!r}, {splits})"


@dataclass(frozen=True, init=False, repr=False)
class SparseTensorSpec:
    """The shape and dtype of a SparseTensor."""

    shape: TensorShape
    dtype: DType
    value_type: ClassVar[type] = SparseTensor

    def __init__(self, shape: ShapeLike = None, dtype: Any = float32) -> None:
        object.__setattr__(self, "shape", TensorShape(shape))
        object.__setattr__(self, "dtype", as_dtype(dtype))

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether a value, or another spec, matches this one."""
        return _same_kind_and_shape(self, spec_or_value)

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self.shape!r}, {self.dtype!r})"


@dataclass(frozen=True, repr=False)
class DatasetSpec:
    """The spec of a dataset that is an element of another one."""

    element_spec: Any
    dataset_shape: TensorShape = field(default_factory=lambda: TensorShape([]))

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec!r}, {self.dataset_shape!r})"


@dataclass(frozen=True)
class NoneTensorSpec:
    """The spec of None."""

    value_type: ClassVar[type] = type(None)


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN_SPEC = _Unknown()
"""Replaces a spec that cannot be inferred without a value."""


def spec_of(value: Any) -> TensorSpec | RaggedTensorSpec | SparseTensorSpec | DatasetSpec | NoneTensorSpec:
    """Return the spec of a value."""
    if value is None:
        return NoneTensorSpec()
    if hasattr(value, "element_spec"):
        return DatasetSpec(value.element_spec)
    if hasattr(value, "spec"):  # the rows of a vector of datasets
        return value.spec  # type: ignore[no-any-return]
    if isinstance(value, RaggedTensor):
        return RaggedTensorSpec(value.shape, value.dtype, value.ragged_rank, value.row_splits.dtype)
    if isinstance(value, SparseTensor):
        return SparseTensorSpec(value.shape, value.dtype)
    return TensorSpec.from_tensor(as_tensor(value))


def _same_kind_and_shape(spec: Any, other: Any) -> bool:
    given: Any = other if isinstance(other, type(spec)) else spec_of(other)
    return type(given) is type(spec) and given.dtype == spec.dtype and spec.shape.is_compatible_with(given.shape)


def common_spec(specs: Sequence[Any]) -> Any:
    """Return the most specific spec that matches the values of all these specs."""
    first = specs[0]
    if all(spec == first for spec in specs):
        return first
    if any(not isinstance(spec, TensorSpec) or spec.dtype != first.dtype for spec in specs):
        return UNKNOWN_SPEC
    if any(spec.shape.rank is None or spec.shape.rank != first.shape.rank for spec in specs):
        return TensorSpec(None, first.dtype)
    sizes = zip(*(spec.shape for spec in specs), strict=True)
    return TensorSpec([same[0] if len(set(same)) == 1 else None for same in sizes], first.dtype)


def with_first(spec: Any, first: int | None) -> Any:
    """Return the spec of ``first`` stacked values of a spec."""
    if spec is UNKNOWN_SPEC or isinstance(spec, NoneTensorSpec):
        return spec
    if isinstance(spec, DatasetSpec):
        return DatasetSpec(spec.element_spec, TensorShape([first]).concatenate(spec.dataset_shape))
    shape = TensorShape([first]).concatenate(spec.shape)
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank + 1, spec.row_splits_dtype)
    kind = SparseTensorSpec if isinstance(spec, SparseTensorSpec) else TensorSpec
    return kind(shape, spec.dtype)


def without_first(spec: Any) -> Any:
    """Return the spec of the slices along the first dimension."""
    if isinstance(spec, DatasetSpec):
        return DatasetSpec(spec.element_spec, spec.dataset_shape[1:])
    if spec is UNKNOWN_SPEC or isinstance(spec, NoneTensorSpec) or spec.shape.rank is None:
        return spec
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensorSpec(spec.shape[1:], spec.dtype, spec.ragged_rank - 1, spec.row_splits_dtype)
    return type(spec)(spec.shape[1:], spec.dtype)
