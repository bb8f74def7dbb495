"""Feature descriptions of ``tf.io``: written as objects or as source text, read by class names and attributes.

TensorFlow is imported only to create its objects. Reading does not need it, so the classes of ``penstock.tf`` work too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.errors import SchemaError, import_extra
from penstock.schema.default import NO_DEFAULT
from penstock.schema.feature import Feature, Sections

_TO_TF = {"bytes": "tf.string", "float": "tf.float32", "int64": "tf.int64"}
_FROM_TF = {"string": "bytes", "bytes": "bytes", "float32": "float32", "int64": "int64"}


@dataclass
class FeatureCall:
    """A call of a constructor, to execute or to write as source."""

    function: str
    arguments: list[Any] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class Name:
    """A dotted name below ``tf``."""

    path: str


def to_tf(sections: Sections) -> Any:
    """Return ``tf.io`` objects by key: one dict, or for SequenceExamples a pair (context, sequence)."""
    tf = import_extra("tensorflow", "tensorflow", "a tf.io feature description")
    context = {key: _make(call, tf) for key, call, _ in _describe(sections.context, _context)}
    if sections.sequence is None:
        return context
    return context, {key: _make(call, tf) for key, call, _ in _describe(sections.sequence, _step)}


def to_tf_source(sections: Sections) -> str:
    """Return Python source that builds the feature description."""
    if sections.sequence is None:
        blocks = [("features", _describe(sections.context, _context))]
    else:
        blocks = [
            ("context_features", _describe(sections.context, _context)),
            ("sequence_features", _describe(sections.sequence, _step)),
        ]
    lines = ["import tensorflow as tf", ""]
    for title, entries in blocks:
        lines.append(f"{title} = {{")
        for key, call, feature in entries:
            lines.append(f"    {key!r}: {_write(call)},{_comment(feature)}")
        lines.append("}")
    return "\n".join(lines) + "\n"


def from_tf(spec: Mapping[str, Any], sequence: Mapping[str, Any] | None = None) -> Sections:
    """Return the features of a feature description."""
    return Sections(
        {name: _with_name(name, _read_context, value) for name, value in spec.items()},
        None if sequence is None else {name: _with_name(name, _read_step, value) for name, value in sequence.items()},
    )


def _describe(
    section: Mapping[str, Feature], describe: Callable[[str, Feature], FeatureCall]
) -> list[tuple[str, FeatureCall, Feature]]:
    entries: dict[str, tuple[str, FeatureCall, Feature]] = {}
    for name, feature in section.items():
        call = _with_name(name, functools.partial(describe, name), feature)
        # A RaggedFeature has a value_key; all others are named by the key in the Example.
        key = name if feature.key is None or "value_key" in call.options else feature.key
        if key in entries:
            raise SchemaError(f"two features would have the name {key!r} in a tf.io feature description")
        entries[key] = (key, call, feature)
    return list(entries.values())


def _context(name: str, feature: Feature) -> FeatureCall:
    dtype = Name(_TO_TF[feature.kind])
    shape = feature.shape if feature.encoding == "list" else ()
    if feature.has_default and feature.encoding != "list":
        raise SchemaError(f'tf.io has no default for encoding="{feature.encoding}": use optional=True')
    if feature.has_default and 0 in shape:
        raise SchemaError("tf.io ignores a default without elements: use optional=True")
    if None not in shape and not feature.optional:
        default = {"default_value": _listed(feature.default)} if feature.has_default else {}
        return FeatureCall("tf.io.FixedLenFeature", [list(shape), dtype], default)
    # Optional features are ragged: tf.io returns an empty row if they are absent.
    inner = [size for size in shape[1:] if size is not None]
    partitions = [FeatureCall("tf.io.RaggedFeature.RowLengths", [key]) for key in feature.partitions]
    partitions += [FeatureCall("tf.io.RaggedFeature.UniformRowLength", [size]) for size in inner if _is_nonzero(size)]
    options: dict[str, Any] = {} if feature.key in (None, name) else {"value_key": feature.key}
    return FeatureCall("tf.io.RaggedFeature", [dtype], options | ({"partitions": partitions} if partitions else {}))


def _is_nonzero(size: int) -> bool:
    if size == 0:
        raise SchemaError("tf.io has no optional feature with a dimension of size 0")
    return True


def _step(name: str, feature: Feature) -> FeatureCall:
    dtype = Name(_TO_TF[feature.kind])
    shape = feature.shape if feature.encoding == "list" else ()
    if None not in shape:
        options = {"allow_missing": True} if feature.optional else {}
        return FeatureCall("tf.io.FixedLenSequenceFeature", [list(shape), dtype], options)
    if feature.inner_shape:
        raise SchemaError(f"tf.io has no sequence with steps of shape {feature.shape}")
    return FeatureCall("tf.io.VarLenFeature", [dtype])


def _listed(default: Any) -> Any:
    if isinstance(default, tuple):
        return [_listed(item) for item in default]
    return int(default) if isinstance(default, bool) else default


def _make(node: Any, tf: Any) -> Any:
    match node:
        case Name():
            return _resolve(tf, node.path)
        case FeatureCall():
            options = {key: _make(value, tf) for key, value in node.options.items()}
            return _resolve(tf, node.function)(*(_make(value, tf) for value in node.arguments), **options)
        case list():
            return [_make(value, tf) for value in node]
    return node


def _resolve(tf: Any, path: str) -> Any:
    found = tf
    for part in path.split(".")[1:]:
        found = getattr(found, part)
    return found


def _write(node: Any) -> str:
    match node:
        case Name():
            return node.path
        case FeatureCall():
            options = [f"{key}={_write(value)}" for key, value in node.options.items()]
            return f"{node.function}({', '.join([*map(_write, node.arguments), *options])})"
        case list():
            return f"[{', '.join(map(_write, node))}]"
        case float() if node in (np.inf, -np.inf) or node != node:
            return f'float("{node}")'
    return repr(node)


def _comment(feature: Feature) -> str:
    """Return a comment on the dtype and encoding, if the stored kind does not imply them."""
    if feature.encoding == "list" and feature.dtype in ("bytes", "int64", "float32"):
        return ""
    how = "" if feature.encoding == "list" else f", encoding {feature.encoding}, shape {feature.shape}"
    return f"  # {feature.dtype}{how}"


def _with_name(name: str, function: Callable[[Any], Any], value: Any) -> Any:
    try:
        return function(value)
    except SchemaError as error:
        raise SchemaError(f"feature {name!r}: {error}") from None


def _read_context(spec: Any) -> Feature:
    match type(spec).__name__:
        case "FixedLenFeature":
            shape = _shape(spec.shape)
            return Feature(_dtype(spec), shape, default=_read_default(spec, shape))
        case "VarLenFeature":
            return Feature(_dtype(spec), (None,))
        case "FixedLenSequenceFeature":
            _check_no_padding(spec)
            if not spec.allow_missing:
                raise SchemaError("FixedLenSequenceFeature needs allow_missing=True in an Example")
            return Feature(_dtype(spec), (None, *_shape(spec.shape)))
        case "RaggedFeature":
            return _read_ragged(spec)
    raise SchemaError(_unsupported(spec))


def _read_step(spec: Any) -> Feature:
    match type(spec).__name__:
        case "FixedLenSequenceFeature":
            _check_no_padding(spec)
            return Feature(_dtype(spec), _shape(spec.shape), optional=bool(spec.allow_missing))
        case "VarLenFeature":
            return Feature(_dtype(spec), (None,), optional=True)
        case "RaggedFeature" if not spec.partitions:
            return Feature(_dtype(spec), (None,), optional=True, key=spec.value_key)
        case "RaggedFeature":
            raise SchemaError("RaggedFeature with partitions has no counterpart in a sequence")
    raise SchemaError(_unsupported(spec))


def _read_ragged(spec: Any) -> Feature:
    shape: list[int | None] = [None]
    keys = []
    for partition in spec.partitions:
        match type(partition).__name__:
            case "RowLengths":
                shape.append(None)
                keys.append(partition.key)
            case "UniformRowLength":
                shape.append(int(partition.length))
            case other:
                raise SchemaError(f"the partition {other} is not supported: store row lengths and use RowLengths")
    return Feature(_dtype(spec), shape, key=spec.value_key, partitions=keys)


def _unsupported(spec: Any) -> str:
    if type(spec).__name__ == "SparseFeature":
        return (
            "SparseFeature combines several keys into one tensor, which is not supported: describe its index and value"
            " keys as ragged features of shape (None,)"
        )
    return f"{type(spec).__name__} is not a tf.io feature of this kind of record"


def _check_no_padding(spec: Any) -> None:
    if spec.default_value is not None:
        raise SchemaError(
            "default_value of a FixedLenSequenceFeature is not supported: pad the column with Ragged.to_padded(value)"
        )


def _dtype(spec: Any) -> str:
    name = getattr(spec.dtype, "name", None) or np.dtype(spec.dtype).name
    if name not in _FROM_TF:
        raise SchemaError(f"an Example stores string, int64 and float32, not {name}")
    return _FROM_TF[name]


def _shape(shape: Any) -> tuple[int, ...]:
    if shape is None:
        raise SchemaError("the shape is missing")
    sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    if None in sizes:
        raise SchemaError(f"all dimensions must be known, found {sizes}")
    return tuple(int(size) for size in sizes)


def _read_default(spec: Any, shape: tuple[int, ...]) -> Any:
    if spec.default_value is None:
        return NO_DEFAULT
    value = spec.default_value
    array = value.numpy() if hasattr(value, "numpy") else value
    # As objects: NumPy's string dtypes drop trailing zero bytes.
    array = np.array(array, dtype=object if _dtype(spec) == "bytes" else None)
    if array.size == 0:
        return NO_DEFAULT
    if array.size != np.prod(shape, dtype=object):
        raise SchemaError(f"the default has {array.size} values, which does not fit the shape {shape}")
    if _dtype(spec) == "bytes":
        array = np.array([item.encode() if isinstance(item, str) else item for item in array.flat], object)
    return array.reshape(shape).tolist()
