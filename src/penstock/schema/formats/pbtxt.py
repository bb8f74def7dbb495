"""TensorFlow Metadata's ``schema.pbtxt``: kind, shape and presence in its fields, the rest in a comment annotation.

The comment holds what the format has no field for: dtype, encoding and key. If the fields were edited by hand and no
longer agree with the comment, the fields win.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TypeAlias

from penstock.errors import SchemaError
from penstock.schema.feature import Feature, Kind, Sections
from penstock.schema.formats.json_file import feature_from_json, feature_to_json

# The name that TensorFlow's libraries use for the feature lists of a SequenceExample.
_SEQUENCE = "##SEQUENCE##"
_COMMENT = "penstock.feature "
_TYPES: dict[Kind, str] = {"bytes": "BYTES", "int64": "INT", "float": "FLOAT"}
_DTYPES = {"BYTES": "bytes", "1": "bytes", "INT": "int64", "2": "int64", "FLOAT": "float32", "3": "float32"}


def to_pbtxt(sections: Sections) -> str:
    """Return the text of a ``schema.pbtxt``."""
    lines = [line for name, feature in sections.context.items() for line in _entry(name, feature)]
    if sections.sequence is not None:
        inner = [line for name, feature in sections.sequence.items() for line in _entry(name, feature)]
        lines += ["feature {", f'  name: "{_SEQUENCE}"', "  type: STRUCT", "  struct_domain {"]
        lines += [*(f"    {line}" for line in inner), "  }", "}"]
    return "".join(f"{line}\n" for line in lines)


def from_pbtxt(text: str) -> Sections:
    """Return the features of a ``schema.pbtxt``."""
    if not isinstance(text, str):
        raise SchemaError(f"schema.pbtxt must be a str, found {type(text).__name__}")
    try:
        top = parse(text)
    except SchemaError as error:
        raise SchemaError(f"not a schema.pbtxt: {error}") from None
    entries = top.messages("feature")
    lists = [entry for entry in entries if entry.texts("name") == [_SEQUENCE]]
    context = _section([entry for entry in entries if entry not in lists])
    if not lists:
        return Sections(context)
    return Sections(context, _section((lists[-1].message("struct_domain") or Message()).messages("feature")))


def _entry(name: str, feature: Feature) -> Iterator[str]:
    key = name if feature.key is None else feature.key
    details = json.dumps({"name": name} | feature_to_json(feature))
    yield from ("feature {", f"  name: {quote(key)}", *(f"  {line}" for line in _fields(feature)))
    yield from ("  annotation {", f"    comment: {quote(_COMMENT + details)}", "  }", "}")
    for partition in feature.partitions:
        lengths = _fields(Feature("int64", (None,), optional=feature.optional))
        yield from ("feature {", f"  name: {quote(partition)}", *(f"  {line}" for line in lengths), "}")


def _fields(feature: Feature) -> list[str]:
    """Return the fields of TensorFlow Metadata for a feature as it is stored."""
    lines = [f"type: {_TYPES[feature.kind]}"]
    shape = feature.shape if feature.encoding == "list" else ()
    if None in shape:
        lines.append("value_count { min: 0 }")
    else:
        lines.append(f"shape {{ {''.join(f'dim {{ size: {size} }} ' for size in shape)}}}")
    if not feature.optional and not feature.has_default:
        lines.append("presence { min_fraction: 1 min_count: 1 }")
    if feature.dtype == "bool" and feature.encoding == "list":
        lines.append("bool_domain { }")
    return lines


def _section(entries: list[Message]) -> dict[str, Feature]:
    found: dict[str, tuple[str, Feature, bool]] = {}
    for entry in entries:
        names = entry.texts("name")
        if not names:
            raise SchemaError("not a schema.pbtxt: a feature has no name")
        key = names[-1]
        if key in found:
            raise SchemaError(f"two features have the name {key!r}")
        try:
            found[key] = _read(key, entry)
        except SchemaError as error:
            raise SchemaError(f"feature {key!r}: {error}") from None
    # Row lengths are part of the ragged feature that names them.
    lengths = {key for _, feature, commented in found.values() if commented for key in feature.partitions}
    remaining = [(name, feature) for key, (name, feature, _) in found.items() if key not in lengths]
    section = dict(remaining)
    if len(section) != len(remaining):
        raise SchemaError("two features have the same name in their comments")
    return section


def _read(key: str, entry: Message) -> tuple[str, Feature, bool]:
    from_fields = _from_fields(entry)
    for note in entry.messages("annotation"):
        for comment in note.texts("comment"):
            if comment.startswith(_COMMENT):
                name, feature = _from_comment(comment.removeprefix(_COMMENT))
                own = name if feature.key is None else feature.key
                # If the fields were edited, the comment no longer counts.
                if own == key and _from_fields(parse("\n".join(_fields(feature)))) == from_fields:
                    return name, feature, True
    return key, from_fields, False


def _from_comment(text: str) -> tuple[str, Feature]:
    try:
        details = json.loads(text)
        name = details.pop("name")
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise SchemaError("the Penstock comment is damaged: remove it, or write the file again") from None
    if not isinstance(name, str):
        raise SchemaError("the Penstock comment is damaged: remove it, or write the file again")
    return name, feature_from_json(details)


def _from_fields(entry: Message) -> Feature:
    """Return the feature that the fields describe."""
    kind = entry.word("type")
    if kind not in _DTYPES:
        raise SchemaError(f"expected type BYTES, INT or FLOAT, found {str(kind)[:40]}")
    dtype = _DTYPES[kind]
    if dtype == "int64" and entry.message("bool_domain") is not None:
        dtype = "bool"
    presence = entry.message("presence")
    fraction = _fraction(presence.word("min_fraction") or "0") if presence else 0.0
    return Feature(dtype, _shape(entry), optional=fraction < 1.0)


def _shape(entry: Message) -> tuple[int | None, ...]:
    shape = entry.message("shape")
    if shape is not None:
        return tuple(_integer(dim.word("size") or "0") for dim in shape.messages("dim"))
    count = entry.message("value_count")
    if count is not None:
        smallest, largest = (_integer(count.word(name) or "-1") for name in ("min", "max"))
        if smallest == largest > 0:
            return () if largest == 1 else (largest,)
    return (None,)


def _integer(word: str) -> int:
    try:
        return int(word[:40])
    except ValueError:
        raise SchemaError(f"expected an integer, found {word[:40]}") from None


def _fraction(word: str) -> float:
    try:
        return float(word[:40].removesuffix("f"))
    except ValueError:
        raise SchemaError(f"expected a number, found {word[:40]}") from None


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
    """The fields of a message, in order; a repeated field occurs several times."""

    def __init__(self) -> None:
        self.fields: list[tuple[str, Value]] = []

    def messages(self, name: str) -> list[Message]:
        """Return all messages of a field."""
        return [value for key, value in self.fields if key == name and isinstance(value, Message)]

    def message(self, name: str) -> Message | None:
        """Return the last message of a field."""
        return next(reversed(self.messages(name)), None)

    def word(self, name: str) -> str | None:
        """Return the last bare word or number of a field."""
        return next((value for key, value in reversed(self.fields) if key == name and isinstance(value, str)), None)

    def texts(self, name: str) -> list[str]:
        """Return all quoted strings of a field; bytes that are not UTF-8 become surrogate escapes."""
        found = (value for key, value in self.fields if key == name and isinstance(value, bytes))
        return [value.decode("utf-8", "surrogateescape") for value in found]


def parse(text: str) -> Message:
    """Parse a message in text format."""
    if len(text) > MAX_BYTES:
        raise SchemaError(f"the text is larger than {MAX_BYTES} bytes")
    return _Parser(text).message(None, 0)


def quote(text: str) -> str:
    """Return ``text`` as a quoted string of the text format."""
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise SchemaError("half of a surrogate pair is not text") from None
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
        previous = self._token
        self._kind, self._token = next(self._tokens, ("end", ""))
        return previous

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
                raise self._error(f"expected {close}, found the end of the text")
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
            raise self._error(f"expected : or {{ after {name[:80]}")
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
