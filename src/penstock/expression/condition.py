"""RowCondition: which rows are meant, by the values of their columns."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.columns import AnyColumn, Batch, BytesColumn, Nullable
from penstock.expression.evaluate import evaluate
from penstock.expression.parse import parse
from penstock.expression.tree import (
    Arithmetic,
    CallNode,
    ColumnNode,
    Comparison,
    ConstantNode,
    IsNull,
    Kind,
    Logical,
    Membership,
    Negative,
    Node,
    Not,
    fail,
)
from penstock.schema import Feature, Schema
from penstock.schema.dtype import TEXT
from penstock.schema.feature import IMAGES

_COUNTED = {
    "number": "a number",
    "text": "text",
    "bool": "true or false",
    "list": "several values",
    "image": "an image",
}


class RowCondition:
    """A condition on the columns of a row.

    Comparisons, ``in``, ``is null``, arithmetic and a few functions, joined by ``and``, ``or`` and ``not``. A
    comparison with an absent value is neither true nor false, and neither is its negation: no such row matches.

    Args:
        text: The condition.

    Raises:
        ExpressionError: The text is no condition; the message shows where.

    Example:
        >>> from penstock.expression import RowCondition
        >>> condition = RowCondition("label in (3, 5) and not starts_with(name, 'x')")
        >>> condition.names
        ('label', 'name')
        >>> condition.matches({"label": np.array([3, 4]), "name": ps.BytesColumn.from_values(["a", "b"], text=True)})
        array([ True, False])
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._tree = parse(text)
        self._names: dict[str, int] = {}
        _collect(self._tree, self._names)
        self._checked: Mapping[str, Kind] | None = None

    def __repr__(self) -> str:
        return f"RowCondition({self.text!r})"

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the condition reads.

        Example:
            >>> from penstock.expression import RowCondition
            >>> RowCondition("width > height").names
            ('width', 'height')
        """
        return tuple(self._names)

    def check(self, columns: Schema | Mapping[str, AnyColumn] | Batch) -> None:
        """Raise if the condition does not fit the columns.

        Raises:
            ExpressionError: A column does not exist, or its values cannot be used in this way.

        Example:
            >>> from penstock.expression import RowCondition
            >>> RowCondition("lable == 3").check(ps.Schema({"label": int}))
            Traceback (most recent call last):
            penstock.errors.ExpressionError: no column 'lable': did you mean 'label'?
              lable == 3
              ^
        """
        for name, start in self._names.items():
            if name not in columns:
                near = difflib.get_close_matches(name, list(columns.keys()), 1)
                parts = [part for part in name.split("/") if part in columns]
                if len(parts) > 1:
                    advice = "a division has spaces around it, x / y"
                elif near:
                    advice = f"did you mean {near[0]!r}?"
                else:
                    shown = ", ".join(map(repr, list(columns.keys())[:8])) or "no columns"
                    advice = f"there are {shown}" + (" ..." if len(columns) > 8 else "")
                fail(self.text, start, f"no column {name!r}: {advice}")
        kinds = {name: _kind(columns[name]) for name in self._names}
        if self._checked != kinds:
            self._expect(self._tree, "bool", kinds)
            self._checked = kinds

    def matches(self, columns: Mapping[str, AnyColumn] | Batch) -> NDArray[np.bool_]:
        """Return a boolean array: which rows match.

        Example:
            >>> from penstock.expression import RowCondition
            >>> RowCondition("label > 3").matches(ps.Batch({"label": [3, 4]}))
            array([False,  True])
        """
        self.check(columns)
        rows = columns.num_rows if isinstance(columns, Batch) else len(next(iter(columns.values()), ()))
        return evaluate(self.text, self._tree, columns, rows)

    def _expect(self, node: Node, wanted: Kind, kinds: Mapping[str, Kind]) -> None:
        found = self._kind_of(node, kinds)
        if found == wanted:
            return
        if wanted == "bool":
            advice = ": compare it with something, such as len(x) > 0" if found == "list" else ": compare it"
            fail(self.text, node.start, f"expected a condition, found {_COUNTED[found]}{advice}")
        fail(self.text, node.start, f"expected {_COUNTED[wanted]}, found {_COUNTED[found]}")

    def _kind_of(self, node: Node, kinds: Mapping[str, Kind]) -> Kind:
        match node:
            case ColumnNode():
                return kinds[node.name]
            case ConstantNode():
                return _literal_kind(node.value)
            case Logical():
                for operand in node.operands:
                    self._expect(operand, "bool", kinds)
                return "bool"
            case Not():
                self._expect(node.operand, "bool", kinds)
                return "bool"
            case IsNull():
                if not isinstance(node.operand, ColumnNode):
                    fail(self.text, node.start, "a column is null, or it is not: write the name of one before 'is'")
                return "bool"
            case Negative():
                self._expect(node.operand, "number", kinds)
                return "number"
            case Arithmetic():
                self._expect(node.left, "number", kinds)
                self._expect(node.right, "number", kinds)
                return "number"
            case Comparison():
                self._check_pair(node, self._single(node.left, kinds), self._single(node.right, kinds))
                return "bool"
            case Membership():
                kind = self._single(node.operand, kinds)
                for value in node.values:
                    self._check_pair(value, kind, _literal_kind(value.value))
                return "bool"
            case CallNode():
                return self._kind_of_call(node, kinds)

    def _kind_of_call(self, node: CallNode, kinds: Mapping[str, Kind]) -> Kind:
        first = node.arguments[0]
        if node.function == "len":
            if self._kind_of(first, kinds) not in ("text", "list"):
                fail(self.text, first.start, "len() takes a text or a list")
            return "number"
        for argument in node.arguments:
            self._expect(argument, "text", kinds)
        if len(node.arguments) == 1:
            return "text"
        if not isinstance(node.arguments[1], ConstantNode):
            fail(self.text, node.arguments[1].start, f"{node.function}() looks for a text in quotes")
        return "bool"

    def _single(self, node: Node, kinds: Mapping[str, Kind]) -> Kind:
        kind = self._kind_of(node, kinds)
        if kind == "list":
            fail(self.text, node.start, "a row has several values here, which cannot be compared: use len()")
        if kind == "image":
            fail(self.text, node.start, "an image cannot be compared: only 'is null' is possible")
        return kind

    def _check_pair(self, node: Node, left: Kind, right: Kind) -> None:
        if left != right:
            advice = ""
            if {left, right} == {"number", "text"}:
                advice = ": text is written in quotes, numbers are not"
            fail(self.text, node.start, f"{_COUNTED[left]} cannot be compared with {_COUNTED[right]}{advice}")


def _literal_kind(value: object) -> Kind:
    return "text" if isinstance(value, str) else "bool" if isinstance(value, bool) else "number"


def _kind(column: Feature | AnyColumn) -> Kind:
    if isinstance(column, Feature):
        if column.encoding in IMAGES:
            return "image"
        if column.shape or column.encoding == "tensor":
            return "list"
        return "text" if column.dtype in TEXT else "bool" if column.dtype == "bool" else "number"
    values: Any = column.values if isinstance(column, Nullable) else column
    if isinstance(values, BytesColumn):
        return "list" if values.shape else "text"
    if not isinstance(values, np.ndarray) or values.ndim > 1 or values.dtype == object:
        return "list"
    return "bool" if values.dtype == np.bool_ else "number"


def _collect(node: Node, names: dict[str, int]) -> None:
    """Add the columns of a node, each with the place where it is first read."""
    match node:
        case ColumnNode():
            names.setdefault(node.name, node.start)
        case Negative() | Not() | IsNull() | Membership():
            _collect(node.operand, names)
        case Arithmetic() | Comparison():
            _collect(node.left, names)
            _collect(node.right, names)
        case Logical():
            for operand in node.operands:
                _collect(operand, names)
        case CallNode():
            for argument in node.arguments:
                _collect(argument, names)
