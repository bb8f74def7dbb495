"""``tf.TensorShape``: the shape of a tensor; sizes, or even the rank, may be unknown."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

ShapeLike: TypeAlias = "TensorShape | Iterable[int | None] | int | None"


class TensorShape:
    """The shape of a tensor; it compares equal to lists and tuples of the same sizes.

    >>> TensorShape([2, None]).as_list()
    [2, None]
    """

    __slots__ = ("_sizes",)

    def __init__(self, dims: ShapeLike = None) -> None:
        self._sizes: tuple[int | None, ...] | None
        if dims is None:
            self._sizes = None
        elif isinstance(dims, TensorShape):
            self._sizes = dims._sizes
        elif isinstance(dims, Iterable) and not isinstance(dims, str | bytes):
            self._sizes = tuple(map(_checked, dims))
        else:
            self._sizes = (_checked(dims),)

    @property
    def rank(self) -> int | None:
        """The number of dimensions; None if unknown."""
        return None if self._sizes is None else len(self._sizes)

    ndims = rank

    @property
    def dims(self) -> list[int | None] | None:
        """The sizes; None if the rank is unknown."""
        return None if self._sizes is None else list(self._sizes)

    def as_list(self) -> list[int | None]:
        """Return the sizes, None for each unknown one."""
        return list(self._known())

    def num_elements(self) -> int | None:
        """Return the number of elements; None if unknown."""
        if self._sizes is None or None in self._sizes:
            return None
        return math.prod(size for size in self._sizes if size is not None)

    def is_fully_defined(self) -> bool:
        """Return whether every size is known."""
        return self._sizes is not None and None not in self._sizes

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Return whether a tensor could have both shapes."""
        sizes, others = self._sizes, TensorShape(other)._sizes
        if sizes is None or others is None:
            return True
        return len(sizes) == len(others) and all(
            a is None or b is None or a == b for a, b in zip(sizes, others, strict=True)
        )

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """Raise ValueError unless a tensor could have both shapes."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def merge_with(self, other: ShapeLike) -> TensorShape:
        """Return the known sizes of both shapes; raise ValueError if they contradict each other."""
        self.assert_is_compatible_with(other)
        others = TensorShape(other)._sizes
        if self._sizes is None or others is None:
            return TensorShape(others if self._sizes is None else self._sizes)
        return TensorShape([b if a is None else a for a, b in zip(self._sizes, others, strict=True)])

    def concatenate(self, other: ShapeLike) -> TensorShape:
        """Return the sizes of both shapes, one after the other."""
        others = TensorShape(other)._sizes
        return TensorShape(None if self._sizes is None or others is None else self._sizes + others)

    def __add__(self, other: ShapeLike) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: ShapeLike) -> TensorShape:
        return TensorShape(other).concatenate(self)

    def __len__(self) -> int:
        return len(self._known())

    def __bool__(self) -> bool:
        return self._sizes is not None

    def __iter__(self) -> Iterator[int | None]:
        return iter(self._known())

    def __getitem__(self, index: Any) -> Any:
        found = self._known()[index]
        return TensorShape(found) if isinstance(index, slice) else found

    def __eq__(self, other: object) -> bool:
        try:
            return self._sizes == TensorShape(other)._sizes  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._sizes)

    def __repr__(self) -> str:
        return f"TensorShape({None if self._sizes is None else list(self._sizes)})"

    def __str__(self) -> str:
        return "<unknown>" if self._sizes is None else repr(self._sizes)

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorShape, (self._sizes,)

    def _known(self) -> tuple[int | None, ...]:
        if self._sizes is None:
            raise ValueError("the rank of this TensorShape is unknown")
        return self._sizes


def _checked(size: Any) -> int | None:
    if size is None:
        return None
    number = operator.index(size)
    if number < 0:
        raise ValueError(f"Dimension {number} must be >= 0")
    return number
