"""Parse the text of a condition into a tree.

::

    condition  = and { "or" and }
    and        = not { "and" not }
    not        = "not" not | comparison
    comparison = sum [ ("==" | "!=" | "<" | "<=" | ">" | ">=") sum
                     | [ "not" ] "in" "(" literal { "," literal } ")"
                     | "is" [ "not" ] "null" ]
    sum        = product { ("+" | "-") product }
    product    = sign { ("*" | "/" | "%") sign }
    sign       = "-" sign | value
    value      = literal | name | function "(" sum { "," sum } ")" | "(" condition ")"
    literal    = [ "-" ] number | "text" | 'text' | true | false

A name may hold dots and slashes (``image/height``); any other name is written in backquotes. Division by a name has
spaces around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn

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

FUNCTIONS = {"len": 1, "lower": 1, "contains": 2, "starts_with": 2, "ends_with": 2}
"""How many arguments each function takes."""
_WORDS = frozenset({"and", "or", "not", "in", "is", "null", "true", "false"})
_INSTEAD = {
    "=": "==",
    "&": "and",
    "&&": "and",
    "|": "or",
    "||": "or",
    "!": "not",
    "<>": "!=",
    "===": "==",
}
# Text may come from a stranger's browser: the tree stays shallow enough to walk it recursively.
_MOST_CHARACTERS, _MOST_OPERATIONS, _DEEPEST = 10_000, 100, 30
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<name>[^\W\d]\w*(?:[./][^\W\d]\w*|[./]\d+(?=[./]))*(?:[./]\w+)*)
      | (?P<quoted>`[^`]*`)
      | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<symbol>===|==|!=|<>|<=|>=|&&|\|\||[-+*/%<>()\[\],=&|!])
      | (?P<end>$)
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'"}


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


def parse(text: str) -> Node:
    """Return the tree of a condition.

    Raises:
        ExpressionError: The text is no condition; the message shows where.
    """
    return _Parser(text).parse()


def _tokens(text: str) -> list[_Token]:
    if len(text) > _MOST_CHARACTERS:
        fail(text, 0, f"a condition has at most {_MOST_CHARACTERS:,} characters, this one has {len(text):,}")
    found: list[_Token] = []
    place = 0
    while True:
        match = _TOKEN.match(text, place)
        if match is None:
            place += len(text[place:]) - len(text[place:].lstrip())
            if text[place] in "\"'`":
                fail(text, place, "this quote is not closed")
            fail(text, place, f"unexpected character {text[place]!r}")
        kind = match.lastgroup or "end"
        found.append(_Token(kind, match[kind], match.start(kind)))
        if kind == "end":
            return found
        place = match.end()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._place = 0
        self._depth = self._operations = 0

    def parse(self) -> Node:
        if self._next.kind == "end":
            fail(self._text, 0, "the condition is empty: write one such as label == 3")
        node = self._any()
        if self._next.kind != "end":
            self._unexpected("'and', 'or' or the end")
        return node

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _take(self) -> _Token:
        token = self._next
        self._place += 1
        return token

    def _skip(self, *texts: str) -> _Token | None:
        """Take the next token if it is one of these words or symbols."""
        token = self._next
        is_plain = token.kind == "symbol" or token.kind == "name"
        return self._take() if is_plain and token.text in texts else None

    def _expect(self, text: str) -> None:
        if not self._skip(text):
            self._unexpected(repr(text))

    def _unexpected(self, wanted: str) -> NoReturn:
        token = self._next
        if token.kind == "end":
            fail(self._text, token.start, f"the condition ends where {wanted} is missing")
        if token.text in _INSTEAD:
            fail(self._text, token.start, f"{token.text!r} is no operator: write {_INSTEAD[token.text]!r}")
        fail(self._text, token.start, f"expected {wanted}, found {token.text!r}")

    def _any(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            fail(self._text, self._next.start, f"more than {_DEEPEST} levels of parentheses")
        operands = [self._all()]
        start = self._next.start
        while self._skip("or"):
            operands.append(self._all())
        self._depth -= 1
        return operands[0] if len(operands) == 1 else Logical(start, "or", tuple(operands))

    def _all(self) -> Node:
        operands = [self._not()]
        start = self._next.start
        while self._skip("and"):
            operands.append(self._not())
        return operands[0] if len(operands) == 1 else Logical(start, "and", tuple(operands))

    def _not(self) -> Node:
        negations = []
        while token := self._skip("not"):
            negations.append(token.start)
        node = self._comparison()
        # Two of them are none; a tree of many would be deep.
        return Not(negations[-1], node) if len(negations) % 2 else node

    def _comparison(self) -> Node:
        left = self._sum()
        if operator := self._skip("==", "!=", "<=", ">=", "<", ">"):
            if null := self._skip("null"):
                advice = "is null" if operator.text == "==" else "is not null"
                fail(self._text, null.start, f"null equals nothing: write {advice!r}")
            node = Comparison(operator.start, operator.text, left, self._sum())
            if (again := self._next).kind == "symbol" and again.text in ("==", "!=", "<=", ">=", "<", ">"):
                fail(self._text, again.start, "comparisons are not chained: write 1 < x and x < 5")
            return node
        if token := self._skip("is"):
            negated = self._skip("not")
            self._expect("null")
            test = IsNull(token.start, left)
            return Not(token.start, test) if negated else test
        negated = None
        if self._next.text == "not" and self._tokens[self._place + 1].text == "in":
            negated = self._take()
        if token := self._skip("in"):
            member = Membership(token.start, left, self._list())
            return Not(token.start, member) if negated else member
        return left

    def _list(self) -> tuple[ConstantNode, ...]:
        opening = self._skip("(", "[")
        if opening is None:
            self._unexpected("'(' and a list of values")
        values = [self._literal()]
        while self._skip(","):
            values.append(self._literal())
        self._expect(")" if opening.text == "(" else "]")
        return tuple(values)

    def _literal(self) -> ConstantNode:
        start = self._next.start
        node = self._sign()
        if isinstance(node, Negative) and isinstance(node.operand, ConstantNode):
            value = node.operand.value
            if isinstance(value, int | float) and not isinstance(value, bool):
                return ConstantNode(start, -value)
        if not isinstance(node, ConstantNode):
            fail(self._text, start, "a list holds numbers, texts, true and false")
        return node

    def _sum(self) -> Node:
        return self._chain(("+", "-"), lambda: self._chain(("*", "/", "%"), self._sign))

    def _chain(self, operators: tuple[str, ...], operand: Callable[[], Node]) -> Node:
        node = operand()
        while token := self._skip(*operators):
            self._operations += 1
            if self._operations > _MOST_OPERATIONS:
                fail(self._text, token.start, f"more than {_MOST_OPERATIONS} operations")
            node = Arithmetic(token.start, token.text, node, operand())
        return node

    def _sign(self) -> Node:
        signs = []
        while token := self._skip("-"):
            signs.append(token.start)
        node = self._value()
        return Negative(signs[-1], node) if len(signs) % 2 else node

    def _value(self) -> Node:
        token = self._next
        if token.kind == "symbol" and token.text == "(":
            self._take()
            node = self._any()
            self._expect(")")
            return node
        if token.kind == "end" or token.kind == "symbol" or token.text in _WORDS - {"true", "false"}:
            self._unexpected("a value")
        self._take()
        if token.kind == "number":
            return ConstantNode(token.start, self._number(token))
        if token.kind == "text":
            return ConstantNode(token.start, self._unescaped(token))
        if token.text in ("true", "false"):
            return ConstantNode(token.start, token.text == "true")
        if token.kind == "name" and self._next.text == "(" and self._next.kind == "symbol":
            return self._call(token)
        name = token.text[1:-1] if token.kind == "quoted" else token.text
        return ColumnNode(token.start, name)

    def _call(self, token: _Token) -> CallNode:
        if token.text not in FUNCTIONS:
            fail(self._text, token.start, f"no function {token.text!r}: there are {', '.join(FUNCTIONS)}")
        self._take()
        self._depth += 1
        if self._depth > _DEEPEST:
            fail(self._text, token.start, f"more than {_DEEPEST} levels of functions")
        arguments = [self._sum()]
        while self._skip(","):
            arguments.append(self._sum())
        self._expect(")")
        self._depth -= 1
        if len(arguments) != FUNCTIONS[token.text]:
            wanted = FUNCTIONS[token.text]
            fail(
                self._text, token.start, f"{token.text}() takes {wanted} value{'s'[: wanted > 1]}, not {len(arguments)}"
            )
        return CallNode(token.start, token.text, tuple(arguments))

    def _number(self, token: _Token) -> int | float:
        digits = token.text.replace("_", "")
        if not digits.isdigit():
            return float(digits)
        if len(digits) > 20 or int(digits) >= 1 << 64:
            fail(self._text, token.start, "an integer is less than 2**64; write 1e30 for a larger number")
        return int(digits)

    def _unescaped(self, token: _Token) -> str:
        def replaced(match: re.Match[str]) -> str:
            if match[1] not in _ESCAPES:
                fail(self._text, token.start + 1 + match.start(), f"unknown escape {match[0]!r}: write \\\\ for \\")
            return _ESCAPES[match[1]]

        return re.sub(r"\\(.)", replaced, token.text[1:-1], flags=re.DOTALL)
