"""Evaluate a condition over columns: every node becomes an array of values and a mask of the rows that have one."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.columns import AnyColumn, Batch, BytesColumn, Nullable, Ragged
from penstock.expression.tree import (
    Arithmetic,
    CallNode,
    ColumnNode,
    Comparison,
    ConstantNode,
    IsNull,
    Logical,
    Membership,
    Negative,
    Node,
    Not,
    fail,
)

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TEST: dict[str, Callable[[Any, Any], bool]] = {
    "contains": operator.contains,
    "starts_with": lambda text, start: text.startswith(start),
    "ends_with": lambda text, end: text.endswith(end),
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}


class _Value(NamedTuple):
    values: Any
    """An array, a column of text, or a Python scalar for all rows."""
    valid: NDArray[np.bool_] | None
    """The rows that have a value; None: all."""


def evaluate(text: str, tree: Node, columns: Mapping[str, AnyColumn] | Batch, rows: int) -> NDArray[np.bool_]:
    """Return which rows match a condition that was checked."""
    found = _Evaluation(text, columns, rows).value(tree)
    matches = np.broadcast_to(np.asarray(found.values, np.bool_), (rows,))
    return matches & found.valid if found.valid is not None else matches.copy()


class _Evaluation:
    def __init__(self, text: str, columns: Mapping[str, AnyColumn] | Batch, rows: int) -> None:
        self._text, self._columns, self._rows = text, columns, rows

    def value(self, node: Node) -> _Value:
        match node:
            case ConstantNode():
                return _Value(node.value, None)
            case ColumnNode():
                column = self._columns[node.name]
                return _Value(column.values, column.valid) if isinstance(column, Nullable) else _Value(column, None)
            case Logical():
                return self._logical(node)
            case Not():
                inner = self.value(node.operand)
                return _Value(~np.asarray(inner.values, np.bool_), inner.valid)
            case IsNull():
                valid = self.value(node.operand).valid
                return _Value(np.zeros(self._rows, np.bool_) if valid is None else ~valid, None)
            case Negative():
                return self._arithmetic(node, "-", _Value(0, None), self.value(node.operand))
            case Arithmetic():
                return self._arithmetic(node, node.operator, self.value(node.left), self.value(node.right))
            case Comparison():
                return self._compare(node.operator, self.value(node.left), self.value(node.right))
            case Membership():
                return self._membership(node)
            case CallNode():
                return self._call(node)

    def _logical(self, node: Logical) -> _Value:
        # A false operand decides "and", whatever the others are; a true one decides "or".
        decisive = node.operator == "or"
        decided = np.zeros(self._rows, np.bool_)
        known = np.ones(self._rows, np.bool_)
        for operand in node.operands:
            values, valid = self.value(operand)
            found = np.broadcast_to(np.asarray(values, np.bool_), (self._rows,)) == decisive
            decided |= found if valid is None else found & valid
            known &= True if valid is None else valid
        return _Value(decided == decisive, None if known.all() else known | decided)

    def _compare(self, symbol: str, left: _Value, right: _Value) -> _Value:
        valid = _both(left.valid, right.valid)
        if isinstance(right.values, BytesColumn) and not isinstance(left.values, BytesColumn):
            left, right, symbol = right, left, _MIRRORED.get(symbol, symbol)
        if isinstance(left.values, BytesColumn):
            left, right = _Value(_as_bytes(left.values), left.valid), _Value(_as_bytes(right.values), right.valid)
        compare = _COMPARE[symbol]
        if not isinstance(left.values, BytesColumn) or valid is None:
            with np.errstate(invalid="ignore"):
                return _Value(compare(_comparable(left.values), _comparable(right.values)), valid)
        # The texts of absent rows may be anything: compare the others only.
        other = right.values[valid] if isinstance(right.values, BytesColumn) else right.values
        found = np.zeros(self._rows, np.bool_)
        found[valid] = compare(left.values[valid], other)
        return _Value(found, valid)

    def _membership(self, node: Membership) -> _Value:
        operand = self.value(node.operand)
        found = np.zeros(self._rows, np.bool_)
        if isinstance(operand.values, BytesColumn):
            wanted = [str(value.value).encode() for value in node.values]
            rows = slice(None) if operand.valid is None else operand.valid
            found[rows] = _as_bytes(operand.values)[rows].isin(wanted)
            return _Value(found, operand.valid)
        for value in node.values:
            found |= self._compare("==", operand, _Value(value.value, None)).values
        return _Value(found, operand.valid)

    def _call(self, node: CallNode) -> _Value:
        values, valid = self.value(node.arguments[0])
        if node.function == "len":
            return _Value(self._lengths(values, valid), valid)
        texts = self._texts(values, valid)
        if node.function == "lower":
            text = isinstance(texts[0], str) if texts else True
            return _Value(BytesColumn.from_values([text.lower() for text in texts], text=text), valid)
        wanted = self.value(node.arguments[1]).values
        if texts and isinstance(texts[0], bytes):
            wanted = wanted.encode()
        test = _TEST[node.function]
        return _Value(np.fromiter((test(text, wanted) for text in texts), np.bool_, len(texts)), valid)

    def _texts(self, values: Any, valid: NDArray[np.bool_] | None) -> list[Any]:
        if isinstance(values, str):
            return [values] * self._rows
        if valid is None:
            found: list[Any] = values.to_list()
            return found
        empty: Any = "" if values.text else b""
        return [empty if value is None else value for value in Nullable(values, valid).to_list()]

    def _lengths(self, values: Any, valid: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        if isinstance(values, Ragged):
            return values.lengths
        if isinstance(values, str) or (isinstance(values, BytesColumn) and not values.shape):
            return np.fromiter(map(len, self._texts(values, valid)), np.int64, self._rows)
        if isinstance(values, np.ndarray) and values.dtype == object:
            return np.fromiter((0 if value is None else len(value) for value in values), np.int64, self._rows)
        return np.full(self._rows, values.shape[0] if isinstance(values, BytesColumn) else values.shape[1], np.int64)

    def _arithmetic(self, node: Arithmetic | Negative, symbol: str, left: _Value, right: _Value) -> _Value:
        one, other = _number(left.values), _number(right.values)
        valid = _both(left.valid, right.valid)
        if symbol in "/%":
            divides = np.broadcast_to(other != 0, (self._rows,))
            valid = _both(valid, divides)
            other = np.where(other == 0, np.ones((), other.dtype), other)  # such rows have no value
        with np.errstate(all="ignore"):
            result = np.asarray(_ARITHMETIC[symbol](one, other))
            if result.dtype == np.int64:
                rough = np.asarray(_ARITHMETIC[symbol](one.astype(np.float64), other.astype(np.float64)))
                too_large = np.abs(rough) >= 2.0**63
                if (too_large if valid is None else too_large & valid).any():
                    fail(self._text, node.start, "the result of a row does not fit 64 bits: write 1.0 * x for floats")
        return _Value(result, valid)


def _as_bytes(values: Any) -> Any:
    """Return a text as bytes, whose order is that of code points: a column of str compares with no other."""
    if isinstance(values, BytesColumn):
        return BytesColumn(values.views, values.buffers) if values.text else values
    return values.encode()


def _number(values: Any) -> NDArray[Any]:
    """Return numbers as int64, or as float64 where they are floats or do not fit."""
    array = np.asarray(values)
    if array.dtype.kind in "iu" and (array.dtype != np.uint64 or not (array >= 1 << 63).any()):
        return array.astype(np.int64)
    return array.astype(np.float64)


def _comparable(values: Any) -> Any:
    # bfloat16, which NumPy does not know, has no comparison with Python numbers.
    return values.astype(np.float32) if isinstance(values, np.ndarray) and values.dtype.kind == "V" else values


def _both(left: NDArray[np.bool_] | None, right: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    return right if left is None else left if right is None else left & right
