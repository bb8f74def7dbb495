"""The JSON file of a schema: a small, versioned format, described in ``docs/schema.md``.

Unknown keys are preserved and written back. Unknown entries of ``requires`` raise.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping
from typing import Any, TypeAlias

from penstock.errors import SchemaError
from penstock.format_header import HEADER_KEYS, FormatHeader
from penstock.schema.dtype import FLOATS
from penstock.schema.feature import Feature, Sections

_LOGICAL_TYPES = "logical-types"
"""What a schema requires that has one: without it, dates would be read as numbers."""
HEADER = FormatHeader("schema", "penstock.schema", 1, extensions=frozenset({_LOGICAL_TYPES}))
# A schema of 100,000 features is smaller; a larger file is something else.
MAX_BYTES = 64 << 20
_FILE_KEYS = (*HEADER_KEYS, "features", "sequence")
_FEATURE_KEYS = ("dtype", "shape", "encoding", "optional", "default", "key", "partitions", "names", "logical")
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
Unknown: TypeAlias = dict[str | None, dict[str, Any]]
"""Unknown keys of each feature, by its name, and of the file itself under None."""


def dumps(sections: Sections, unknown: Unknown) -> str:
    """Return the JSON text of a schema, with one line for each feature."""
    has_logical = any(feature.logical for section in sections if section for feature in section.values())
    head = HEADER.to_json([_LOGICAL_TYPES] if has_logical else []) | unknown.get(None, {})
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    for title, section in zip(("features", "sequence"), sections, strict=True):
        if section is not None:
            lines.append(f'  "{title}": {_section_to_json(section, unknown)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def loads(text: str | bytes) -> tuple[Sections, Unknown]:
    """Return the features of a JSON text, and its unknown keys."""
    if len(text) > MAX_BYTES:
        raise SchemaError(f"not a schema: larger than {MAX_BYTES} bytes")
    try:
        document = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except SchemaError:
        raise
    # Deep nesting raises a RecursionError; invalid UTF-8 and huge integers raise a ValueError.
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"not a schema: the text is not JSON ({type(error).__name__})") from None
    found = HEADER.check(document, SchemaError)
    unknown: Unknown = {}
    context = _section_from_json(found.get("features"), "features", unknown)
    sequence = _section_from_json(found["sequence"], "sequence", unknown) if "sequence" in found else None
    if rest := _unknown_keys(found, _FILE_KEYS):
        unknown[None] = rest
    return Sections(context, sequence), unknown


def feature_to_json(feature: Feature) -> dict[str, Any]:
    """Return a feature as a JSON object, without the arguments that have their default value."""
    entry: dict[str, Any] = {"dtype": feature.dtype, "shape": list(feature.shape), "encoding": feature.encoding}
    if feature.optional:
        entry["optional"] = True
    if feature.has_default:
        entry["default"] = _default_to_json(feature.default)
    if feature.key is not None:
        entry["key"] = feature.key
    if feature.partitions:
        entry["partitions"] = list(feature.partitions)
    if feature.names:
        entry["names"] = list(feature.names)
    if feature.logical is not None:
        entry["logical"] = feature.logical
    return entry


def feature_from_json(entry: object) -> Feature:
    """Return the feature that a parsed JSON object describes."""
    found = _expect(entry, dict, "a feature")
    arguments = {key: found[key] for key in _FEATURE_KEYS if key in found}
    _expect(arguments.get("dtype"), str, '"dtype"')
    _expect(arguments.get("encoding", ""), str, '"encoding"')
    _expect(arguments.get("optional", False), bool, '"optional"')
    _expect(arguments.get("partitions", []), list, '"partitions"')
    _expect(arguments.get("names", []), list, '"names"')
    _expect(arguments.get("logical", ""), str, '"logical"')
    for size in _expect(arguments.get("shape", []), list, '"shape"'):
        if size is not None:
            _expect(size, int, 'a size in "shape"')
    if "default" in arguments:
        arguments["default"] = _default_from_json(arguments["default"], arguments["dtype"])
    return Feature(**arguments)


def _section_to_json(section: Mapping[str, Feature], unknown: Unknown) -> str:
    entries = [
        f"    {json.dumps(name)}: {json.dumps(feature_to_json(feature) | unknown.get(name, {}))}"
        for name, feature in section.items()
    ]
    return "{\n" + ",\n".join(entries) + "\n  }" if entries else "{}"


def _section_from_json(section: object, title: str, unknown: Unknown) -> dict[str, Feature]:
    features = {}
    for name, entry in _expect(section, dict, f'"{title}"').items():
        try:
            features[name] = feature_from_json(entry)
        except SchemaError as error:
            raise SchemaError(f"feature {name[:80]!r}: {error}") from None
        if rest := _unknown_keys(entry, _FEATURE_KEYS):
            unknown[name] = rest
    return features


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise SchemaError("not a schema: an object of the JSON has the same key twice")
    return found


def _refuse_constant(name: str) -> None:
    raise SchemaError(f'not a schema: JSON has no {name}; write a default as the string "nan", "inf" or "-inf"')


def _unknown_keys(found: dict[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key not in known}


def _expect(value: object, kind: type, what: str) -> Any:
    if type(value) is not kind:
        names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", int: "an integer"}
        raise SchemaError(f"{what} must be {names[kind]} in JSON, found {type(value).__name__}")
    return value


def _default_to_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_default_to_json(item) for item in value]
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _default_from_json(value: object, dtype: str, depth: int = 0) -> Any:
    if isinstance(value, list) and depth <= 32:
        return [_default_from_json(item, dtype, depth + 1) for item in value]
    if isinstance(value, dict) and dtype == "bytes":
        try:
            return base64.b64decode(_expect(value.get("base64"), str, '"base64"'), validate=True)
        except (binascii.Error, ValueError):
            raise SchemaError('the default is not base64: write bytes as {"base64": "..."}') from None
    if isinstance(value, str) and dtype in FLOATS:
        return _NOT_FINITE.get(value, value)
    return value
