"""TensorFlow Metadata's ``schema.pbtxt``: kind, shape and presence in its fields, the rest in a comment annotation.

The comment holds what the format has no field for (dtype, encoding, key). It counts only while the fields agree with
it: whoever edits them by hand is believed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from penstock.errors import SchemaError
from penstock.schema.feature import Feature, Kind
from penstock.schema.interchange.text_proto import Message, parse, quote
from penstock.schema.json_format import feature_from_json, feature_to_json
from penstock.schema.sections import Sections

# The name under which TensorFlow's libraries keep the feature lists of a SequenceExample.
_SEQUENCE = "##SEQUENCE##"
_COMMENT = "penstock.feature "
_TYPES: dict[Kind, str] = {"bytes": "BYTES", "int64": "INT", "float": "FLOAT"}
_DTYPES = {"BYTES": "bytes", "1": "bytes", "INT": "int64", "2": "int64", "FLOAT": "float32", "3": "float32"}


def to_pbtxt(sections: Sections) -> str:
    """Answer the text of a ``schema.pbtxt``."""
    lines = [line for name, feature in sections.context.items() for line in _entry(name, feature)]
    if sections.sequence is not None:
        inner = [line for name, feature in sections.sequence.items() for line in _entry(name, feature)]
        lines += ["feature {", f'  name: "{_SEQUENCE}"', "  type: STRUCT", "  struct_domain {"]
        lines += [*(f"    {line}" for line in inner), "  }", "}"]
    return "".join(f"{line}\n" for line in lines)


def from_pbtxt(text: str) -> Sections:
    """Answer the features of a ``schema.pbtxt``."""
    if not isinstance(text, str):
        raise SchemaError(f"schema.pbtxt is text, not {type(text).__name__}")
    try:
        top = parse(text)
    except SchemaError as error:
        raise SchemaError(f"no schema.pbtxt: {error}") from None
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
    """Answer what TensorFlow Metadata says of a feature as it is stored."""
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
            raise SchemaError("no schema.pbtxt: a feature has no name")
        key = names[-1]
        if key in found:
            raise SchemaError(f"two features have the name {key!r}")
        try:
            found[key] = _read(key, entry)
        except SchemaError as error:
            raise SchemaError(f"feature {key!r}: {error}") from None
    # Row lengths belong to the ragged feature that names them.
    lengths = {key for _, feature, commented in found.values() if commented for key in feature.partitions}
    kept = [(name, feature) for key, (name, feature, _) in found.items() if key not in lengths]
    section = dict(kept)
    if len(section) != len(kept):
        raise SchemaError("two features have the same name in their comments")
    return section


def _read(key: str, entry: Message) -> tuple[str, Feature, bool]:
    plain = _plain(entry)
    for note in entry.messages("annotation"):
        for comment in note.texts("comment"):
            if comment.startswith(_COMMENT):
                name, feature = _commented(comment.removeprefix(_COMMENT))
                own = name if feature.key is None else feature.key
                # Fields that were edited since count more than the comment.
                if own == key and _plain(parse("\n".join(_fields(feature)))) == plain:
                    return name, feature, True
    return key, plain, False


def _commented(text: str) -> tuple[str, Feature]:
    try:
        details = json.loads(text)
        name = details.pop("name")
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise SchemaError("the comment of Penstock is damaged: remove it, or write the file again") from None
    if not isinstance(name, str):
        raise SchemaError("the comment of Penstock is damaged: remove it, or write the file again")
    return name, feature_from_json(details)


def _plain(entry: Message) -> Feature:
    """Answer the feature that the fields alone describe."""
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
        least, most = (_integer(count.word(name) or "-1") for name in ("min", "max"))
        if least == most > 0:
            return () if most == 1 else (most,)
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
