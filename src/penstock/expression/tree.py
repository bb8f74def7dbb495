"""The nodes of a parsed condition. Each knows where it begins in the text, for error messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NoReturn, TypeAlias

from penstock.errors import ExpressionError

Kind: TypeAlias = Literal["number", "text", "bool", "list", "image"]
"""What a value is: text is str or bytes, a list is anything with several values in a row."""


@dataclass(frozen=True)
class ConstantNode:
    """A number, a text, or ``true`` and ``false``."""

    start: int
    value: int | float | str | bool


@dataclass(frozen=True)
class ColumnNode:
    """A column."""

    start: int
    name: str


@dataclass(frozen=True)
class CallNode:
    """A function of one or two values."""

    start: int
    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class Negative:
    """``-x``."""

    start: int
    operand: Node


@dataclass(frozen=True)
class Arithmetic:
    """``x + y`` and the like."""

    start: int
    operator: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Comparison:
    """``x == y`` and the like."""

    start: int
    operator: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Membership:
    """``x in (1, 2)``."""

    start: int
    operand: Node
    values: tuple[ConstantNode, ...]


@dataclass(frozen=True)
class IsNull:
    """``x is null``."""

    start: int
    operand: Node


@dataclass(frozen=True)
class Not:
    """``not x``."""

    start: int
    operand: Node


@dataclass(frozen=True)
class Logical:
    """``x and y``, ``x or y``, of any number of conditions."""

    start: int
    operator: str
    operands: tuple[Node, ...]


Node: TypeAlias = (
    ConstantNode | ColumnNode | CallNode | Negative | Arithmetic | Comparison | Membership | IsNull | Not | Logical
)


def fail(text: str, start: int, message: str) -> NoReturn:
    """Raise an error that shows the text with a caret under what is wrong."""
    # Of a long text, what is around the place.
    first = max(0, start - 60)
    shown = "".join(c if c.isprintable() else " " for c in text[first : start + 60])
    raise ExpressionError(f"{message}\n  {shown}\n  {' ' * (start - first)}^", text=text, position=start)
