"""What ``+``, ``<`` and ``[]`` do with tensors, real and symbolic: they are operations like all others."""

from __future__ import annotations

from typing import Any

from penstock.tf.operation import invoke


class Operators:
    """The operators of a tensor."""

    __slots__ = ()
    __array_priority__ = 100  # so that NumPy's arrays let us answer

    def __getitem__(self, index: Any) -> Any:
        return invoke("getitem", self, index)

    def __add__(self, other: Any) -> Any:
        return invoke("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return invoke("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return invoke("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return invoke("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return invoke("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return invoke("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return invoke("truediv", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return invoke("truediv", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return invoke("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return invoke("floordiv", other, self)

    def __mod__(self, other: Any) -> Any:
        return invoke("floormod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return invoke("floormod", other, self)

    def __pow__(self, other: Any) -> Any:
        return invoke("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return invoke("pow", other, self)

    def __matmul__(self, other: Any) -> Any:
        return invoke("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return invoke("matmul", other, self)

    def __neg__(self) -> Any:
        return invoke("negative", self)

    def __abs__(self) -> Any:
        return invoke("abs", self)

    def __invert__(self) -> Any:
        return invoke("invert", self)

    def __and__(self, other: Any) -> Any:
        return invoke("and", self, other)

    def __rand__(self, other: Any) -> Any:
        return invoke("and", other, self)

    def __or__(self, other: Any) -> Any:
        return invoke("or", self, other)

    def __ror__(self, other: Any) -> Any:
        return invoke("or", other, self)

    def __xor__(self, other: Any) -> Any:
        return invoke("xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return invoke("xor", other, self)

    def __eq__(self, other: object) -> Any:
        return invoke("operator.equal", self, other)

    def __ne__(self, other: object) -> Any:
        return invoke("operator.not_equal", self, other)

    def __lt__(self, other: Any) -> Any:
        return invoke("less", self, other)

    def __le__(self, other: Any) -> Any:
        return invoke("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return invoke("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return invoke("greater_equal", self, other)

    __hash__ = None  # type: ignore[assignment]
