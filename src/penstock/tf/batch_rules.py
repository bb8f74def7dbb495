"""What operations do to a stack of rows in one call, where that is what they do to each row.

A rule is called with the operation's arguments, some of them :class:`Stacked`, and answers NotImplemented where it does
not apply. Rules may refuse, and may raise where a row would, but never answer another value than the rows would: not
in the last bit, which is why there is none for sums of floats and for functions that NumPy computes in vectors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.tf.errors import InvalidArgumentError
from penstock.tf.io.decoding import numbers_of
from penstock.tf.io.parse_plan import RawBytes
from penstock.tf.io.parsing import example_plan
from penstock.tf.registry import OPERATIONS
from penstock.tf.tensors.batch_values import EqualStrings, RecordRows, Stacked, stack_rows
from penstock.tf.tensors.convert import as_array, as_shape
from penstock.tf.tensors.shape import TensorShape
from penstock.tf.tensors.structure import leaves
from penstock.tf.tensors.tensor import Tensor

RULES: dict[str, Callable[..., Any]] = {}

OF_STORED_STRINGS = frozenset(["io.parse_single_example", "io.parse_example", "io.decode_raw"])
"""Operations whose rules take strings in the form in which they are kept; the others are given strings."""


def _rule(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a rule for operations; it is given the operation itself first."""

    def register(rule: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            RULES[name] = functools.partial(_apply, rule, name)
        return rule

    return register


def _apply(rule: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
    return rule(OPERATIONS[name], *args, **kwargs)


def _result(tensor: Tensor) -> Stacked:
    return Stacked(tensor._array)


def _only_first(first: Any, *rest: Any, **options: Any) -> bool:
    return isinstance(first, Stacked) and not any(isinstance(leaf, Stacked) for leaf in leaves((rest, options)))


@_rule("io.parse_single_example", "io.parse_example")
def _parse(operation: Any, serialized: Any, features: Any, *rest: Any, **options: Any) -> Any:
    if isinstance(serialized, RecordRows):
        records = serialized.records
    elif isinstance(serialized, Stacked) and serialized.array.ndim == 1 and serialized.array.dtype == object:
        records = serialized.array.tolist()
    else:
        return NotImplemented
    return {key: _parsed(value) for key, value in example_plan(features).rows(records).items()}


def _parsed(value: Any) -> Any:
    if isinstance(value, list):
        return stack_rows(value)
    return EqualStrings(value.raw) if isinstance(value, RawBytes) else Stacked(value)


@_rule(
    *("add", "subtract", "multiply", "truediv", "floordiv", "floormod", "maximum", "minimum"),
    *("squared_difference", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("logical_and", "logical_or", "logical_xor", "and", "or", "xor", "where"),
    *("operator.equal", "operator.not_equal"),
)
def _elementwise(operation: Any, *args: Any, **options: Any) -> Any:
    if options or not all(isinstance(arg, Stacked) or _is_plain(arg) for arg in args):
        return NotImplemented
    if len(args) < (3 if operation is OPERATIONS["where"] else 2):
        return NotImplemented
    # Rows broadcast from their last dimensions on: those of a lower rank get new ones behind the dimension of rows.
    rank = max(arg.array.ndim - 1 if isinstance(arg, Stacked) else np.ndim(as_array(arg)) for arg in args)
    found = operation(*(_aligned(arg, rank) if isinstance(arg, Stacked) else arg for arg in args))
    # == and != answer one value for shapes that do not go together, where all others raise.
    return _result(found) if found.ndim else NotImplemented


def _is_plain(value: Any) -> bool:
    return isinstance(value, bool | int | float | str | bytes | np.ndarray | np.generic | Tensor)


def _aligned(value: Stacked, rank: int) -> Tensor:
    count, *shape = value.array.shape
    return Tensor(value.array.reshape(count, *[1] * (rank - len(shape)), *shape))


@_rule(
    *(
        "cast",
        "saturate_cast",
        "negative",
        "abs",
        "square",
        "sign",
        "sqrt",
        "is_nan",
        "is_inf",
        "is_finite",
        "floor",
        "ceil",
        "round",
    ),
    *("invert", "logical_not", "identity", "convert_to_tensor", "zeros_like", "ones_like"),
    *("image.convert_image_dtype", "strings.length", "strings.lower", "strings.upper", "strings.strip"),
    *("strings.to_number", "strings.as_string", "strings.regex_replace", "strings.regex_full_match"),
)
def _whole(operation: Any, *args: Any, **options: Any) -> Any:
    if not args or not _only_first(*args, **options):
        return NotImplemented
    return _result(operation(Tensor(args[0].array), *args[1:], **options))


@_rule("clip_by_value")
def _clip(operation: Any, *args: Any, **options: Any) -> Any:
    if len(args) != 3 or not _only_first(*args, **options) or any(np.ndim(as_array(limit)) for limit in args[1:]):
        return NotImplemented
    return _result(operation(Tensor(args[0].array), *args[1:], **options))


@_rule(
    *("image.resize", "compat.v1.image.resize", "image.flip_left_right", "image.flip_up_down"),
    *("image.central_crop", "image.crop_to_bounding_box", "image.pad_to_bounding_box", "image.rot90"),
    *("image.resize_with_crop_or_pad", "image.adjust_brightness", "image.grayscale_to_rgb"),
)
def _images(operation: Any, *args: Any, **options: Any) -> Any:
    if not args or not _only_first(*args, **options) or args[0].array.ndim != 4:
        return NotImplemented
    return _result(operation(Tensor(args[0].array), *args[1:], **options))


@_rule("io.decode_raw")
def _decode_raw(operation: Any, *args: Any, **options: Any) -> Any:
    if args and isinstance(args[0], EqualStrings):
        if len(args) == 2 and not options:
            return Stacked(numbers_of(args[0].raw, args[1]))
        args = (args[0].strings(), *args[1:])
    if not args or not _only_first(*args, **options):
        return NotImplemented
    try:
        return _result(operation(Tensor(args[0].array), *args[1:], **options))
    except InvalidArgumentError:
        return NotImplemented  # rows may differ in length, where the strings of one row may not


@_rule("reshape")
def _reshape(operation: Any, *args: Any, **options: Any) -> Any:
    if len(args) < 2 or not _only_first(*args, **options):
        return NotImplemented
    array = args[0].array
    return _result(operation(Tensor(array), (len(array), *as_shape(args[1]))))


@_rule("ensure_shape", "set_shape")
def _ensure_shape(operation: Any, *args: Any, **options: Any) -> Any:
    if len(args) < 2 or not _only_first(*args, **options):
        return NotImplemented
    return _result(operation(Tensor(args[0].array), TensorShape([None]).concatenate(args[1])))


@_rule("expand_dims")
def _expand_dims(operation: Any, *args: Any, **options: Any) -> Any:
    axis = options.pop("axis", args[1] if len(args) > 1 else None)
    if not isinstance(axis, int) or not _only_first(*args, **options):
        return NotImplemented
    array = args[0].array
    if not -array.ndim <= axis < array.ndim:
        return NotImplemented  # in front of the rows there is nothing
    return _result(operation(Tensor(array), _behind_rows(axis)))


@_rule("squeeze")
def _squeeze(operation: Any, *args: Any, **options: Any) -> Any:
    axis = options.pop("axis", args[1] if len(args) > 1 else None)
    if not (axis is None or isinstance(axis, int)) or not _only_first(*args, **options):
        return NotImplemented
    array = args[0].array
    if axis is None:
        axes = [place for place in range(1, array.ndim) if array.shape[place] == 1]
        return _result(operation(Tensor(array), axes)) if axes else args[0]
    if not -array.ndim < axis < array.ndim - 1:
        return NotImplemented
    return _result(operation(Tensor(array), _behind_rows(axis)))


@_rule("transpose")
def _transpose(operation: Any, *args: Any, **options: Any) -> Any:
    perm = options.pop("perm", args[1] if len(args) > 1 else None)
    if options or not _only_first(*args) or not (perm is None or isinstance(perm, list | tuple)):
        return NotImplemented
    rank = args[0].array.ndim - 1
    order = range(rank - 1, -1, -1) if perm is None else perm
    return _result(operation(Tensor(args[0].array), [0, *(place + 1 for place in order)]))


@_rule("reduce_max", "reduce_min", "reduce_any", "reduce_all")
def _reduce(operation: Any, *args: Any, **options: Any) -> Any:
    axis = options.pop("axis", args[1] if len(args) > 1 else None)
    if len(args) > 2 or not _only_first(*args, **options) or not (axis is None or isinstance(axis, int)):
        return NotImplemented
    array = args[0].array
    if axis is None:
        return _result(operation(Tensor(array), list(range(1, array.ndim)), **options))
    if not -array.ndim < axis < array.ndim - 1:
        return NotImplemented
    return _result(operation(Tensor(array), _behind_rows(axis), **options))


@_rule("length")
def _length(operation: Any, input: Any) -> Any:
    if input.array.ndim < 2:
        return NotImplemented
    return Stacked(np.full(len(input.array), input.array.shape[1], np.int32))


@_rule("shape")
def _shape(operation: Any, input: Any, *args: Any, **options: Any) -> Any:
    if not _only_first(input, *args, **options):
        return NotImplemented
    sizes = operation(Tensor(input.array), *args, **options)._array[1:]
    return Stacked(np.broadcast_to(sizes, (len(input.array), len(sizes))))


@_rule("one_hot")
def _one_hot(operation: Any, *args: Any, **options: Any) -> Any:
    if not args or not _only_first(*args, **options) or len(args) > 4 or options.get("axis", -1) not in (None, -1):
        return NotImplemented
    return _result(operation(Tensor(args[0].array), *args[1:], **options))


@_rule("getitem")
def _getitem(operation: Any, tensor: Any, index: Any) -> Any:
    parts = index if isinstance(index, tuple) else (index,)
    if not _only_first(tensor, parts) or not all(
        part is None or part is Ellipsis or isinstance(part, int | slice) for part in parts
    ):
        return NotImplemented
    return _result(operation(Tensor(tensor.array), (slice(None), *parts)))


@_rule("stack", "concat")
def _join(operation: Any, values: Any, *args: Any, **options: Any) -> Any:
    axis = options.pop("axis", args[0] if args else 0)
    if not isinstance(values, list | tuple) or not all(isinstance(value, Stacked) for value in values):
        return NotImplemented
    rank = values[0].array.ndim - 1
    if not isinstance(axis, int) or axis < -rank - (operation is OPERATIONS["stack"]):
        return NotImplemented  # in front of the rows there is nothing
    return _result(operation([Tensor(value.array) for value in values], _behind_rows(axis)))


def _behind_rows(axis: int) -> int:
    """Return a dimension of each row as one of the stack."""
    return axis + 1 if axis >= 0 else axis
