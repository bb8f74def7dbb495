"""Operations on each element: arithmetic, comparison, logic, ``tf.math``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.tf.errors import InvalidArgumentError
from penstock.tf.ops.batch_and_spec_rules import (
    batch_elementwise,
    batch_whole,
    only_first_is_stacked,
    spec_by_trial,
    spec_elementwise,
    spec_of_argument,
)
from penstock.tf.ops.ragged_rules import on_flat_values
from penstock.tf.registry import Rule, operation
from penstock.tf.tensors.convert import as_array
from penstock.tf.tensors.dtypes import bool as tf_bool
from penstock.tf.tensors.dtypes import int8, int16, of_numpy, uint8, uint16
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tensors.tensor import Tensor

__all__ = [
    "abs",
    "add",
    "ceil",
    "clip_by_value",
    "cos",
    "equal",
    "exp",
    "floor",
    "floordiv",
    "floormod",
    "greater",
    "greater_equal",
    "invert",
    "is_finite",
    "is_inf",
    "is_nan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "not_equal",
    "pow",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sqrt",
    "square",
    "squared_difference",
    "subtract",
    "tanh",
    "truediv",
]

_NARROW = (int8, int16, uint8, uint16)

# Functions for which NumPy warns even for integers; for the others, warnings need not be suppressed.
_WARNS_FOR_INTEGERS: set[Callable[[Any, Any], Any]] = set()


def pair(x: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return two arrays of one dtype, that of the tensor among them; nothing is promoted."""
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        a, b = x._array, y._array
        if a.dtype != b.dtype:
            raise InvalidArgumentError(
                f"expected two tensors of one dtype, found {x.dtype.name} and {y.dtype.name}: tf.cast one of them"
            )
        return a, b
    if isinstance(y, Tensor):
        return as_array(x, of_numpy(y._array.dtype)), y._array
    a = as_array(x)
    return a, as_array(y, of_numpy(a.dtype))


def _broadcast(function: Callable[[Any, Any], Any], x: Any, y: Any) -> Tensor:
    a, b = pair(x, y)
    try:
        if a.dtype.kind in "biuO" and function not in _WARNS_FOR_INTEGERS:
            return Tensor(np.asarray(function(a, b)))
        with np.errstate(all="ignore"):
            return Tensor(np.asarray(function(a, b)))
    except InvalidArgumentError:  # it is a ValueError, and says more
        raise
    except ValueError as error:
        raise InvalidArgumentError(f"Incompatible shapes: {list(a.shape)} vs. {list(b.shape)}") from error
    except TypeError as error:
        raise InvalidArgumentError(f"the operation is not defined for {of_numpy(a.dtype).name}") from error


def _numbers(array: NDArray[Any]) -> None:
    if array.dtype.kind in "iuf":  # nearly always
        return
    dtype = of_numpy(array.dtype)
    if not dtype.is_numeric:
        raise InvalidArgumentError(f"the operation takes numbers, not {dtype.name}")


@operation("add", batch=batch_elementwise, spec=spec_elementwise)
def add(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Add; strings are concatenated."""
    return _broadcast(_add, x, y)


def _add(a: NDArray[Any], b: NDArray[Any]) -> Any:
    if a.dtype == object:
        return np.asarray(np.add(a, b), object)  # otherwise NumPy returns a scalar as one of its own strings
    _numbers(a)
    return np.add(a, b)


def _arithmetic(
    name: str,
    function: Callable[[Any, Any], Any],
    *,
    divides: bool = False,
    batch: Rule | None = batch_elementwise,
) -> Callable[..., Tensor]:
    def checked(a: NDArray[Any], b: NDArray[Any]) -> Any:
        _numbers(a)
        return function(a, b)

    if divides:
        _WARNS_FOR_INTEGERS.add(checked)

    @operation(name, batch=batch, spec=spec_elementwise)
    def call(x: Any, y: Any, name: str | None = None) -> Tensor:
        return _broadcast(checked, x, y)

    call.__name__ = call.__qualname__ = name
    return call


def _integer_division(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def divide(a: NDArray[Any], b: NDArray[Any]) -> Any:
        if a.dtype.kind in "iu" and not (b.all() if b.ndim else b):
            raise InvalidArgumentError("Integer division by zero")
        return function(a, b)

    return divide


def _pow(a: NDArray[Any], b: NDArray[Any]) -> Any:
    if of_numpy(a.dtype).is_integer and np.any(b < 0):
        raise InvalidArgumentError("Integers to negative integer powers are not allowed")
    return np.power(a, b)


subtract = _arithmetic("subtract", np.subtract)
multiply = _arithmetic("multiply", np.multiply)
floordiv = _arithmetic("floordiv", _integer_division(np.floor_divide), divides=True)
floormod = _arithmetic("floormod", _integer_division(np.mod), divides=True)
pow = _arithmetic("pow", _pow, batch=None)  # see rsqrt
maximum = _arithmetic("maximum", np.maximum)
minimum = _arithmetic("minimum", np.minimum)
squared_difference = _arithmetic("squared_difference", lambda a, b: np.square(a - b))


@operation("truediv", batch=batch_elementwise, spec=spec_elementwise)
def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Divide; integers become float64, those of 8 and 16 bits float32."""
    return _broadcast(_truediv, x, y)


def _truediv(a: NDArray[Any], b: NDArray[Any]) -> Any:
    _numbers(a)
    dtype = of_numpy(a.dtype)
    if not dtype.is_integer:
        return np.true_divide(a, b)
    wide = np.float32 if dtype in _NARROW else np.float64
    return np.true_divide(a.astype(wide), b.astype(wide))


_WARNS_FOR_INTEGERS.add(_truediv)


def _matmul_spec(operation: Any, a: Any, b: Any, **options: Any) -> Any:
    left, right = spec_of_argument(a), spec_of_argument(b)
    if options or left.shape.rank != 2 or right.shape.rank != 2:
        return None
    return TensorSpec([left.shape[0], right.shape[1]], left.dtype)


@operation("matmul", spec=_matmul_spec)
def matmul(a: Any, b: Any, name: str | None = None) -> Tensor:
    """Multiply matrices."""
    return _broadcast(np.matmul, a, b)


def _comparison(name: str, function: Callable[[Any, Any], Any], *, any_dtype: bool = False) -> Callable[..., Tensor]:
    def checked(a: NDArray[Any], b: NDArray[Any]) -> Any:
        if not any_dtype:
            _numbers(a)
        return np.asarray(function(a, b)).astype(np.bool_, copy=False)  # comparing objects returns objects

    @operation(name, batch=batch_elementwise, spec=spec_elementwise)
    def call(x: Any, y: Any, name: str | None = None) -> Tensor:
        return _broadcast(checked, x, y)

    call.__name__ = call.__qualname__ = name
    return call


equal = _comparison("equal", np.equal, any_dtype=True)
not_equal = _comparison("not_equal", np.not_equal, any_dtype=True)
less = _comparison("less", np.less)
less_equal = _comparison("less_equal", np.less_equal)
greater = _comparison("greater", np.greater)
greater_equal = _comparison("greater_equal", np.greater_equal)


def _equality_spec(operation: Any, *args: Any) -> Any:
    """Infer one bool or many: shapes that do not broadcast compare as unequal and do not raise."""
    found, shapes = spec_elementwise(operation, *args), [spec_of_argument(arg).shape for arg in args]
    if all(shape.is_fully_defined() for shape in shapes) or [] in shapes or args[0] is args[1]:
        return found
    return TensorSpec(None, tf_bool) if any(shape.is_fully_defined() for shape in shapes) else None


@operation("operator.equal", batch=batch_elementwise, spec=_equality_spec, tensorflow_name="equal")
def equal_operator(x: Any, y: Any) -> Any:
    """Implement ``==``: None, and shapes that do not broadcast, are not equal."""
    if y is None or x is None:
        return False
    a, b = pair(x, y)
    return Tensor(np.asarray(np.equal(a, b)).astype(np.bool_, copy=False) if _broadcasts(a, b) else np.asarray(False))


@operation("operator.not_equal", batch=batch_elementwise, spec=_equality_spec, tensorflow_name="not_equal")
def not_equal_operator(x: Any, y: Any) -> Any:
    """Implement ``!=``."""
    if y is None or x is None:
        return True
    a, b = pair(x, y)
    return Tensor(
        np.asarray(np.not_equal(a, b)).astype(np.bool_, copy=False) if _broadcasts(a, b) else np.asarray(True)
    )


def _broadcasts(a: NDArray[Any], b: NDArray[Any]) -> bool:
    if a.shape == b.shape or not a.ndim or not b.ndim:
        return True
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return True


def _logic(name: str, function: Callable[[Any, Any], Any], *, integers: bool = False) -> Callable[..., Tensor]:
    def checked(a: NDArray[Any], b: NDArray[Any]) -> Any:
        if a.dtype != np.bool_ and not (integers and of_numpy(a.dtype).is_integer):
            raise InvalidArgumentError(f"the operation takes bool, not {of_numpy(a.dtype).name}")
        return function(a, b)

    @operation(name, batch=batch_elementwise, spec=spec_elementwise)
    def call(x: Any, y: Any, name: str | None = None) -> Tensor:
        return _broadcast(checked, x, y)

    call.__name__ = call.__qualname__ = name
    return call


logical_and = _logic("logical_and", np.logical_and)
logical_or = _logic("logical_or", np.logical_or)
logical_xor = _logic("logical_xor", np.logical_xor)
and_operator = _logic("and", np.bitwise_and, integers=True)
or_operator = _logic("or", np.bitwise_or, integers=True)
xor_operator = _logic("xor", np.bitwise_xor, integers=True)


@operation("invert", batch=batch_whole, spec=spec_by_trial)
def invert(x: Any) -> Tensor:
    """Implement ``~``: invert bool, or the bits of integers."""
    array = as_array(x)
    if array.dtype != np.bool_ and not of_numpy(array.dtype).is_integer:
        raise InvalidArgumentError(f"the operation takes bool and integers, not {of_numpy(array.dtype).name}")
    return Tensor(np.asarray(np.invert(array)))


@operation("logical_not", batch=batch_whole, spec=spec_by_trial)
def logical_not(x: Any, name: str | None = None) -> Tensor:
    """Invert bool."""
    return Tensor(np.asarray(np.logical_not(as_array(x, tf_bool))))


def _unary(
    name: str,
    function: Callable[[Any], Any],
    *,
    floats: bool = False,
    signed: bool = False,
    batch: Rule | None = batch_whole,
) -> Callable[..., Tensor]:
    @operation(name, batch=batch, spec=spec_by_trial, ragged=on_flat_values)
    def call(x: Any, name: str | None = None) -> Tensor:
        array = as_array(x)
        _numbers(array)
        dtype = of_numpy(array.dtype)
        if (floats and dtype.is_integer) or (signed and dtype.is_unsigned):
            raise InvalidArgumentError(f"the operation is not defined for {dtype.name}")
        with np.errstate(all="ignore"):
            return Tensor(np.asarray(function(array)))

    call.__name__ = call.__qualname__ = name
    return call


negative = _unary("negative", np.negative, signed=True)
abs = _unary("abs", np.abs)
square = _unary("square", np.square)
sign = _unary("sign", np.sign)
sqrt = _unary("sqrt", np.sqrt, floats=True)
is_nan = _unary("is_nan", np.isnan, floats=True)
is_inf = _unary("is_inf", np.isinf, floats=True)
is_finite = _unary("is_finite", np.isfinite, floats=True)
floor = _unary("floor", np.floor, floats=True)
ceil = _unary("ceil", np.ceil, floats=True)
round = _unary("round", np.round)
# NumPy rounds these differently for one value and for many, so they have no batch rule.
rsqrt = _unary("rsqrt", lambda x: (1 / np.sqrt(x)).astype(x.dtype), floats=True, batch=None)
exp = _unary("exp", np.exp, floats=True, batch=None)
log = _unary("log", np.log, floats=True, batch=None)
log1p = _unary("log1p", np.log1p, floats=True, batch=None)
sin = _unary("sin", np.sin, floats=True, batch=None)
cos = _unary("cos", np.cos, floats=True, batch=None)
tanh = _unary("tanh", np.tanh, floats=True, batch=None)
sigmoid = _unary("sigmoid", lambda x: (1 / (1 + np.exp(-x))).astype(x.dtype), floats=True, batch=None)


def _clip_batch(operation: Any, *args: Any, **options: Any) -> Any:
    if len(args) != 3 or not only_first_is_stacked(*args, **options) or any(np.ndim(as_array(x)) for x in args[1:]):
        return NotImplemented
    return batch_whole(operation, *args, **options)


@operation("clip_by_value", batch=_clip_batch, spec=spec_elementwise)
def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Tensor:
    """Limit values to an interval."""
    array = as_array(t)
    _numbers(array)
    dtype = of_numpy(array.dtype)
    low, high = as_array(clip_value_min, dtype), as_array(clip_value_max, dtype)
    clipped = np.maximum(np.minimum(array, high), low)
    if clipped.shape != array.shape:
        raise InvalidArgumentError(f"limits of shapes {low.shape} and {high.shape} do not fit {array.shape}")
    return Tensor(np.asarray(clipped))
