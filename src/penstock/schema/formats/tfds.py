"""``features.json`` of TensorFlow Datasets, read and written.

A leaf is read as it is *stored*. If TFDS stores something that a feature cannot describe (a sequence of images, a
zlib-compressed tensor), the feature is the stored bytes; docs/schema.md lists these cases.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from penstock.errors import SchemaError
from penstock.schema.feature import IMAGES, Feature, Sections, Shape

MAX_BYTES = 64 << 20
_MAX_DEPTH = 64
_CLASSES = "tensorflow_datasets.core.features."


def from_tfds(text: str | bytes) -> Sections:
    """Return the features of a dataset from the text of its ``features.json``."""
    features: dict[str, Feature] = {}
    for name, feature in _walk("", _parse(text), ()):
        if name in features:
            raise SchemaError(f"two features have the name {name!r}")
        features[name] = feature
    return Sections(features)


def element_of_sequence(text: str | bytes, name: str) -> dict[str, Any] | None:
    """Return what describes one element of a sequence or nested dataset, as another ``features.json`` in itself.

    None where the dataset has no such feature, or where it is no sequence of dicts.
    """
    features = _object(_object(_parse(text), "").get("featuresDict", {}), "").get("features", {})
    sequence = _object(_object(features, "").get(name, {}), name).get("sequence")
    element = None if sequence is None else _object(sequence, name).get("feature")
    return element if isinstance(element, dict) and "featuresDict" in element else None


def _parse(text: str | bytes) -> Any:
    if len(text) > MAX_BYTES:
        raise SchemaError(f"not a features.json: larger than {MAX_BYTES} bytes")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"not a features.json: the text is not JSON ({type(error).__name__})") from None
    return _unwrap(document)


def _unwrap(document: Any) -> Any:
    """Return the message of a file whose top is wrapped as ``{type, content, proto_cls}``."""
    if not isinstance(document, dict) or "type" not in document:
        return document
    if document.get("proto_cls") != "tensorflow_datasets.FeaturesDict":
        raise SchemaError(
            "features.json was written by an old version of TFDS: load the dataset once with a current version of TFDS"
        )
    content = document.get("content")
    if isinstance(content, str):
        try:
            content = json.loads(content)
        except (ValueError, RecursionError):
            raise SchemaError('not a features.json: "content" is not JSON') from None
    return {"featuresDict": content}


def _walk(name: str, node: Any, levels: Shape, depth: int = 0) -> Iterator[tuple[str, Feature]]:
    if depth > _MAX_DEPTH:
        raise SchemaError("not a features.json: nested too deep")
    message = _object(node, name)
    if "featuresDict" in message:
        for child, value in _object(_object(message["featuresDict"], name).get("features", {}), name).items():
            yield from _walk(f"{name}/{child}" if name else child, value, levels, depth + 1)
    elif "sequence" in message:
        sequence = _object(message["sequence"], name)
        length = _integer(sequence.get("length", -1), name)
        # In older files, a length of 0 means unknown.
        yield from _walk(name, sequence.get("feature"), (*levels, length if length > 0 else None), depth + 1)
    elif "translation" in message:
        yield from _translation(name, _object(message["translation"], name), levels)
    else:
        try:
            leaves = _leaf(name, message)
        except SchemaError as error:
            raise SchemaError(f"feature {name[:80]!r}: {error}") from None
        for suffix, leaf in leaves:
            yield name + suffix, _in_sequence(name + suffix, leaf, levels)


def _translation(name: str, message: dict[str, Any], levels: Shape) -> Iterator[tuple[str, Feature]]:
    if message.get("variableLanguagesPerExample"):
        parts, levels = ["language", "translation"], (*levels, None)
    else:
        parts = message.get("languages", [])
    if not isinstance(parts, list):
        raise SchemaError(f"not a features.json: expected an array of languages at {name[:80]!r}")
    for part in parts:
        yield f"{name}/{part}", _in_sequence(f"{name}/{part}", Feature("str"), levels)


def _leaf(name: str, message: dict[str, Any]) -> list[tuple[str, Feature]]:
    """Return the stored features of a leaf with their name suffixes: usually one, without a suffix."""
    for key, value in message.items():
        match key:
            case "classLabel":
                return [("", Feature("int64"))]
            case "text":
                return [("", Feature("str"))]
            case "image":
                return [("", _image(name, _object(value, name)))]
            case "video":
                return [("", Feature("bytes", (None,)))]
            case "boundingBox":
                return [("", Feature("float32", (4,)))]
            case "audio" if _object(value, name).get("lazyDecode"):
                return [("", Feature("bytes"))]
            case "tensor" | "audio":
                return _tensor(name, _object(value, name))
    raise SchemaError(f"the feature class {str(message.get('pythonClassName'))[:80]} is not supported")


def _image(name: str, message: dict[str, Any]) -> Feature:
    shape = _shape(message, name) or (None, None, 3)
    dtype = message.get("dtype") or "uint8"
    if dtype not in ("uint8", "uint16"):
        return Feature("bytes")
    # TFDS stores image files unchanged, whatever format is declared for arrays.
    return Feature(dtype, shape, encoding="image")


def _tensor(name: str, message: dict[str, Any]) -> list[tuple[str, Feature]]:
    shape = _shape(message, name)
    dtype = str(message.get("dtype"))
    dtype = {"string": "bytes", "object": "bytes"}.get(dtype, dtype)
    encoding = str(message.get("encoding") or "none").lower()
    optional = message.get("optional") is True
    stored = Feature("bytes", optional=optional)
    if shape.count(None) > 1 and encoding != "none":
        return [("/shape", Feature("int32", (len(shape),), optional=optional)), ("/value", stored)]
    if encoding == "bytes" and None not in shape[1:]:
        return [("", Feature(dtype, shape, encoding="raw", optional=optional))]
    if encoding != "none":
        return [("", stored)]
    return [("", Feature(dtype, shape, optional=optional))]


def _in_sequence(name: str, leaf: Feature, levels: Shape) -> Feature:
    """Return ``leaf`` with the dimensions of its enclosing sequences, as TFDS flattens them."""
    if not levels:
        return leaf
    if leaf.encoding != "list":
        leaf = Feature("bytes")
    if not leaf.is_dense:
        raise SchemaError(f"feature {name!r}: a sequence of tensors of unknown shape is not supported")
    # TFDS stores row lengths even for fixed lengths: a dimension before a None is read as None.
    ragged = max((place + 1 for place, size in enumerate(levels) if size is None), default=0)
    shape = (None,) * ragged + levels[ragged:] + leaf.shape
    if len(levels) == 1:
        return Feature(leaf.dtype, shape)
    lengths = [f"{name}/ragged_row_lengths_{level}" for level in range(ragged - 1)]
    return Feature(leaf.dtype, shape, key=f"{name}/ragged_flat_values", partitions=lengths)


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SchemaError(f"not a features.json: expected an object at {name[:80]!r}, found {type(value).__name__}")
    return value


def _integer(value: Any, name: str) -> int:
    # Protobuf writes int64 as strings.
    text = str(value)
    if isinstance(value, bool) or len(text) > 20 or not text.removeprefix("-").isascii():
        raise SchemaError(f"not a features.json: expected an integer at {name[:80]!r}")
    try:
        return int(text)
    except ValueError:
        raise SchemaError(f"not a features.json: expected an integer at {name[:80]!r}") from None


def _shape(message: dict[str, Any], name: str) -> Shape:
    sizes = _object(message.get("shape", {}), name).get("dimensions", [])
    if not isinstance(sizes, list):
        raise SchemaError(f"not a features.json: expected an array of dimensions at {name[:80]!r}")
    return tuple(None if size < 0 else size for size in (_integer(size, name) for size in sizes))


def to_tfds(sections: Sections) -> str:
    """Return the text of a ``features.json``; raise for features that TFDS would store differently."""
    if sections.sequence is not None:
        raise SchemaError("TFDS has no SequenceExamples")
    top = _folder()
    for name, feature in sections.context.items():
        *path, leaf = name.split("/")
        children = _open(top, path, name)
        if leaf in children:
            raise SchemaError(f"feature {name!r}: TFDS cannot have a feature below another feature")
        try:
            children[leaf] = _describe(name, feature)
        except SchemaError as error:
            raise SchemaError(f"feature {name!r}: {error}") from None
    return json.dumps(top, indent=4) + "\n"


def _folder() -> dict[str, Any]:
    return {"pythonClassName": _CLASSES + "features_dict.FeaturesDict", "featuresDict": {"features": {}}}


def _open(top: dict[str, Any], path: list[str], name: str) -> dict[str, Any]:
    """Return the features of a nested dict, and create the dicts that lead to it."""
    children: dict[str, Any] = top["featuresDict"]["features"]
    for part in path:
        folder = children.setdefault(part, _folder())
        if "featuresDict" not in folder:
            raise SchemaError(f"feature {name!r}: TFDS cannot have a feature below another feature")
        children = folder["featuresDict"]["features"]
    return children


def _describe(name: str, feature: Feature) -> dict[str, Any]:
    levels = feature.ragged_levels
    default_key = f"{name}/ragged_flat_values" if levels > 1 else name
    lengths = tuple(f"{name}/ragged_row_lengths_{level}" for level in range(levels - 1))
    if feature.key not in (None, default_key) or feature.partitions != lengths:
        raise SchemaError("TFDS derives the keys in the Example from the name, but this feature has other keys")
    if feature.has_default:
        raise SchemaError("TFDS has no defaults")
    if feature.encoding == "tensor":
        raise SchemaError('TFDS has no encoding="tensor"')
    if feature.optional and (levels > 1 or feature.encoding in IMAGES or feature.dtype == "str"):
        raise SchemaError("in TFDS, only tensors can be optional")
    if feature.encoding in IMAGES:
        image: dict[str, Any] = {"shape": _dimensions(feature.shape), "dtype": feature.dtype}
        if feature.encoding != "image":
            image["encodingFormat"] = feature.encoding
        return {"pythonClassName": _CLASSES + "image_feature.Image", "image": image}
    if feature.dtype == "str":
        return _text(feature)
    if levels > 1:
        return _sequence(levels, _tensor_message(feature.replace(shape=feature.inner_shape, key=None, partitions=())))
    return _tensor_message(feature)


def _text(feature: Feature) -> dict[str, Any]:
    text = {"pythonClassName": _CLASSES + "text_feature.Text", "text": {}}
    if feature.inner_shape and (feature.ragged_levels or len(feature.shape) > 1):
        raise SchemaError("TFDS has no text with several known dimensions: use dtype bytes")
    if feature.is_dense and feature.shape:
        return _sequence(1, text, feature.shape[0])
    return _sequence(feature.ragged_levels, text)


def _sequence(levels: int, inner: dict[str, Any], length: int | None = None) -> dict[str, Any]:
    if length == 0:
        raise SchemaError("TFDS has no sequence of length 0")
    for _ in range(levels):
        inner = {
            "pythonClassName": _CLASSES + "sequence_feature.Sequence",
            "sequence": {"feature": inner, "length": str(length or -1)},
        }
    return inner


def _tensor_message(feature: Feature) -> dict[str, Any]:
    tensor: dict[str, Any] = {
        "shape": _dimensions(feature.shape),
        "dtype": "string" if feature.dtype == "bytes" else feature.dtype,
        "encoding": "bytes" if feature.encoding == "raw" else "none",
    }
    if feature.optional:
        tensor["optional"] = True
    return {"pythonClassName": _CLASSES + "tensor_feature.Tensor", "tensor": tensor}


def _dimensions(shape: Shape) -> dict[str, Any]:
    return {"dimensions": [str(-1 if size is None else size) for size in shape]} if shape else {}
