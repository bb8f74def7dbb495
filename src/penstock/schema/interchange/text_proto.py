"""A small, tolerant parser of protobuf's text format: fields by name, without a descriptor.

Text comes from strangers: depth and size are bounded, and whatever is wrong is a SchemaError with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from penstock.errors import SchemaError

Value: TypeAlias = "str | bytes | Message"
"""A bare word or number, the bytes of a quoted string, or a message."""

MAX_BYTES = 64 << 20
_MAX_DEPTH = 64

_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
      | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<word>[-+]?\.?\w[\w.+-]*)
      | (?P<mark>[{}<>\[\]:;,/])""",
    re.VERBOSE,
)
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|[xX][0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_SIMPLE = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


class Message:
    """The fields of a message, in order; a repeated field stands several times."""

    def __init__(self) -> None:
        self.fields: list[tuple[str, Value]] = []

    def messages(self, name: str) -> list[Message]:
        """All messages of a field."""
        return [value for key, value in self.fields if key == name and isinstance(value, Message)]

    def message(self, name: str) -> Message | None:
        """The last message of a field."""
        return next(reversed(self.messages(name)), None)

    def word(self, name: str) -> str | None:
        """The last bare word or number of a field."""
        return next((value for key, value in reversed(self.fields) if key == name and isinstance(value, str)), None)

    def texts(self, name: str) -> list[str]:
        """All quoted strings of a field; bytes that are no UTF-8 are kept as surrogate escapes."""
        found = (value for key, value in self.fields if key == name and isinstance(value, bytes))
        return [value.decode("utf-8", "surrogateescape") for value in found]


def parse(text: str) -> Message:
    """Parse a message in text format."""
    if len(text) > MAX_BYTES:
        raise SchemaError(f"the text is larger than {MAX_BYTES} bytes")
    return _Parser(text).message(None, 0)


def quote(text: str) -> str:
    """Answer ``text`` as a quoted string of the text format."""
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise SchemaError("half of a surrogate pair is no text") from None
    return '"' + "".join(map(_escape_one, raw)) + '"'


def _escape_one(byte: int) -> str:
    if byte in b'"\\':
        return "\\" + chr(byte)
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._tokens = self._scan()
        self._kind, self._token = "", ""
        self._next()

    def _scan(self) -> Iterator[tuple[str, str]]:
        position = 0
        while position < len(self._text):
            self._at = position
            match = _TOKEN.match(self._text, position)
            if match is None:
                raise self._error("unexpected character")
            position = match.end()
            if match.lastgroup != "space":
                yield str(match.lastgroup), match.group()
        self._at = position
        yield "end", ""

    def _next(self) -> str:
        passed = self._token
        self._kind, self._token = next(self._tokens, ("end", ""))
        return passed

    def _error(self, problem: str) -> SchemaError:
        return SchemaError(f"{problem} in line {self._text.count(chr(10), 0, self._at) + 1}")

    def message(self, close: str | None, depth: int) -> Message:
        if depth > _MAX_DEPTH:
            raise self._error("nested too deep")
        found = Message()
        while self._token != close or self._kind != "mark":
            if self._kind == "end":
                if close is None:
                    return found
                raise self._error(f"the text ends where {close} was expected,")
            name = self._name()
            if self._is("["):
                self._next()
                while not self._is("]"):
                    found.fields.append((name, self._value(depth)))
                    if self._is(","):
                        self._next()
                self._next()
            else:
                found.fields.append((name, self._value(depth)))
            if self._is(",") or self._is(";"):
                self._next()
        self._next()
        return found

    def _is(self, mark: str) -> bool:
        return self._kind == "mark" and self._token == mark

    def _name(self) -> str:
        if self._is("["):  # an extension, or the type of an Any: [type.googleapis.com/name]
            parts = []
            while not self._is("]") and self._kind != "end":
                parts.append(self._next())
            parts.append(self._next())
            name = "".join(parts)
        elif self._kind == "word":
            name = self._next()
        else:
            raise self._error("expected the name of a field")
        if self._is(":"):
            self._next()
        elif not (self._is("{") or self._is("<")):
            raise self._error(f"expected : or {{ behind {name[:80]},")
        return name

    def _value(self, depth: int) -> Value:
        if self._is("{") or self._is("<"):
            return self.message({"{": "}", "<": ">"}[self._next()], depth + 1)
        if self._kind == "word":
            return self._next()
        if self._kind == "string":
            pieces = []
            while self._kind == "string":
                pieces.append(_unescape(self._next()[1:-1]))
            return b"".join(pieces)
        raise self._error("expected a value")


def _unescape(body: str) -> bytes:
    return _ESCAPE.sub(_unescape_one, body.encode("utf-8", "surrogatepass"))


def _unescape_one(match: re.Match[bytes]) -> bytes:
    code = match.group(1)
    if code[:1].isdigit():
        return bytes([int(code, 8) & 0xFF])
    if len(code) > 1:
        number = int(code[1:], 16)
        return bytes([number]) if code[:1] in b"xX" else chr(min(number, 0x10FFFF)).encode("utf-8", "surrogatepass")
    return _SIMPLE.get(code, code)
