"""``features.json`` of TensorFlow Datasets, read and written.

What TFDS stores in a form that a plain feature cannot describe (a sequence of images, a zlib-compressed tensor) is a
:class:`~penstock.schema.connector.ConnectorFeature`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from penstock.errors import SchemaError
from penstock.schema.connector import ConnectorFeature, Item
from penstock.schema.dtype import TEXT, canonical_dtype
from penstock.schema.feature import IMAGES, Feature, Sections, Shape

Path: TypeAlias = tuple[str, ...]

MAX_BYTES = 64 << 20
_MAX_DEPTH = 64
_MAX_NAME = 4096
_MAX_FEATURES = 50_000
_MAX_ELEMENTS = 1 << 31  # a record is smaller than 2 GiB
# The messages of today for the classes of old files.
_OLD_CLASSES = {
    "tensor": ("Tensor", "Scalar"),
    "image": ("Image", "LabeledImage"),
    "boundingBox": ("BBoxFeature",),
    "translation": ("Translation", "TranslationVariableLanguages"),
    "sequence": ("Sequence", "Dataset"),
}
_LEGACY = {name: message for message, names in _OLD_CLASSES.items() for name in names}
_LEGACY |= {"ClassLabel": "classLabel", "Video": "video", "Audio": "audio", "Text": "text"}
_CLASSES = "tensorflow_datasets.core.features."


class TfdsFeatures(NamedTuple):
    """What a ``features.json`` describes."""

    features: dict[str, Feature]
    paths: dict[str, tuple[str, ...]]
    """The names of the dicts that a feature is in, and its own, for each feature."""


def from_tfds(text: str | bytes) -> TfdsFeatures:
    """Return the features of a dataset from the text of its ``features.json``."""
    found = TfdsFeatures({}, {})
    for path, feature in _walk((), _parse(text), ()):
        name = "/".join(path)
        if name in found.features:
            raise SchemaError(f"two features have the name {name!r}")
        if len(found.features) == _MAX_FEATURES:
            raise SchemaError(f"not a features.json: more than {_MAX_FEATURES} features")
        found.features[name], found.paths[name] = feature, path
    return found


def element_of_sequence(text: str | bytes, name: str) -> dict[str, Any] | None:
    """Return what describes one element of a sequence or nested dataset, as another ``features.json`` in itself.

    None where the dataset has no such feature, or where it is no sequence of dicts.
    """
    features = _object(_message(_parse(text), "").get("featuresDict", {}), "").get("features", {})
    sequence = _message(_object(features, "").get(name, {}), name).get("sequence")
    element = None if sequence is None else _object(sequence, name).get("feature")
    return element if isinstance(element, dict) and "featuresDict" in _message(element, name) else None


def dataset_paths(text: str | bytes) -> set[Path]:
    """Return where a ``features.json`` has nested datasets, such as the steps of an episode."""
    found: set[Path] = set()
    todo: list[tuple[Path, Any]] = [((), _parse(text))]
    while todo:
        path, node = todo.pop()
        message = _message(node, "/".join(path))
        if str(_object(node, "").get("pythonClassName", _object(node, "").get("type"))).endswith(".Dataset"):
            found.add(path)
        elif "featuresDict" in message and len(path) < _MAX_DEPTH:
            children = _object(_object(message["featuresDict"], "").get("features", {}), "")
            todo += [((*path, name), child) for name, child in children.items()]
    return found


def _parse(text: str | bytes) -> Any:
    if len(text) > MAX_BYTES:
        raise SchemaError(f"not a features.json: larger than {MAX_BYTES} bytes")
    return _loads(text)


def _loads(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"not a features.json: the text is not JSON ({type(error).__name__})") from None


def _walk(path: Path, node: Any, levels: Shape, depth: int = 0) -> Iterator[tuple[Path, Feature]]:
    name = "/".join(path)
    if depth > _MAX_DEPTH or len(name) > _MAX_NAME:
        raise SchemaError("not a features.json: nested too deep, or a name is too long")
    message = _message(node, name)
    if "featuresDict" in message:
        for child, value in _object(_object(message["featuresDict"], name).get("features", {}), name).items():
            yield from _walk((*path, child), value, levels, depth + 1)
    elif "sequence" in message:
        sequence = _object(message["sequence"], name)
        yield from _walk(path, sequence.get("feature"), (*levels, _length(sequence, name)), depth + 1)
    elif "translation" in message:
        yield from _translation(path, _object(message["translation"], name), levels)
    elif not path:
        raise SchemaError("not a features.json: expected a FeaturesDict")
    else:
        try:
            yield path, _in_sequences(name, *_leaf(name, message, levels))
        except SchemaError as error:
            raise SchemaError(f"feature {name[:80]!r}: {error}") from None


def _message(node: Any, name: str) -> dict[str, Any]:
    """Return a message in the form of today."""
    message = _object(node, name)
    return _from_legacy(message, name) if "type" in message else message


def _from_legacy(message: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a message in the form of today from ``{"type": class, "content": ..., "proto_cls": message}``."""
    content = message.get("content")
    of_class = str(message["type"]).rpartition(".")[2]
    if isinstance(content, str):
        content = _loads(content)
    content = _object(content, name)
    if "proto_cls" in message:
        kind = str(message["proto_cls"]).rpartition(".")[2].removesuffix("Feature")
        return {kind[:1].lower() + kind[1:]: content}
    if of_class == "FeaturesDict":
        return {"featuresDict": {"features": content}}
    if of_class not in _LEGACY:
        raise SchemaError(f"feature {name[:80]!r}: the feature class {of_class[:80]} is not supported")
    found = dict(content)
    if isinstance(shape := found.get("shape"), list):
        found["shape"] = {"dimensions": [-1 if size is None else size for size in shape]}
    if found.get("length", -1) is None:
        found["length"] = -1
    if of_class == "TranslationVariableLanguages":
        found["variableLanguagesPerExample"] = True
    return {_LEGACY[of_class]: found | {"lazyDecode": found.get("lazy_decode")}}


def _length(sequence: dict[str, Any], name: str) -> int | None:
    length = _integer(sequence.get("length", -1), name)
    return length if length > 0 else None  # in older files, a length of 0 means unknown


def _translation(path: Path, message: dict[str, Any], levels: Shape) -> Iterator[tuple[Path, Feature]]:
    if message.get("variableLanguagesPerExample"):
        parts, levels = ["language", "translation"], (*levels, None)
    else:
        parts = message.get("languages", [])
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise SchemaError(f"not a features.json: expected an array of languages at {'/'.join(path)[:80]!r}")
    for part in parts:
        name = "/".join((*path, part))
        yield (*path, part), _in_sequences(name, Feature("str"), levels)


def _leaf(name: str, message: dict[str, Any], levels: Shape) -> tuple[Feature | Item, Shape]:
    """Return one value of a leaf, and the sequences around it."""
    for key, value in message.items():
        match key:
            case "classLabel":
                return Feature("int64"), levels
            case "text" | "jsonFeature" if "use_encoder" in json.dumps(value):
                return Feature("int64", (None,)), levels  # an encoder of old TFDS versions made numbers of the text
            case "text":
                return Feature("str"), levels
            case "image":
                return _image(_object(value, name), _shape(_object(value, name), name) or (None, None, 3)), levels
            case "video":
                frames, *shape = _shape(_object(value, name), name) or (None, None, None, 3)
                return _image(_object(value, name), tuple(shape)), (*levels, frames)
            case "boundingBox":
                return Feature("float32", (4,)), levels
            case "audio" if _object(value, name).get("lazyDecode"):
                return Feature("bytes"), levels
            case "tensor" | "audio":
                return _tensor(_object(value, name), _shape(_object(value, name), name)), levels
    raise SchemaError(f"the feature class {str(message.get('pythonClassName'))[:80]} is not supported")


def _image(message: dict[str, Any], shape: Shape) -> Feature | Item:
    dtype = message.get("dtype") or "uint8"
    if dtype == "float32":
        if len(shape) != 3 or shape[2] != 1:
            raise SchemaError(f"a float image has one channel, found shape {shape}")
        return Item("float32", shape, "image")
    # TFDS stores image files unchanged, whatever format is declared for arrays.
    return Feature(dtype, shape, encoding="image")


def _tensor(message: dict[str, Any], shape: Shape) -> Feature | Item:
    dtype = str(message.get("dtype"))
    dtype = {"string": "bytes", "object": "bytes"}.get(dtype, dtype)
    encoding = str(message.get("encoding") or "none").lower()
    optional = message.get("optional") is True
    unknown = shape.count(None)
    if encoding == "none":
        if unknown > 1:
            raise SchemaError(f"TFDS cannot store a tensor of shape {shape} without an encoding")
        if canonical_dtype(dtype) == "uint64" or None in shape[1:]:
            return Item(canonical_dtype(dtype), shape, "list", optional)
        return Feature(dtype, shape, optional=optional)
    if encoding not in ("bytes", "zlib"):
        raise SchemaError(f"unknown encoding {encoding[:40]!r}")
    if canonical_dtype(dtype) in TEXT:
        raise SchemaError("TFDS has no encoding for strings")
    if encoding == "bytes" and None not in shape[1:]:
        return Feature(dtype, shape, encoding="raw", optional=optional)
    return Item(canonical_dtype(dtype), shape, "raw" if encoding == "bytes" else "zlib", optional)


def _in_sequences(name: str, leaf: Feature | Item, levels: Shape) -> Feature:
    """Return the feature of a leaf in its sequences."""
    if math.prod(size for size in (*levels, *leaf.shape) if size) > _MAX_ELEMENTS:
        raise SchemaError(f"more than {_MAX_ELEMENTS} values in a record, by its shape")
    if isinstance(leaf, Feature) and levels and leaf.encoding != "list":
        leaf = Item(leaf.dtype, leaf.shape, "raw" if leaf.encoding == "raw" else "image")
    if isinstance(leaf, Feature):
        return _stored(name, leaf, levels)
    if leaf.coding != "list":
        value = _stored(
            f"{name}/value" if leaf.has_own_shape else name, Feature("bytes", optional=leaf.optional), levels
        )
        if not leaf.has_own_shape:
            return ConnectorFeature.of(leaf, levels, {"": value})
        own_shape = Feature("int32", (len(leaf.shape),), optional=leaf.optional)
        return ConnectorFeature.of(
            leaf, levels, {"/value": value, "/shape": _stored(f"{name}/shape", own_shape, levels)}
        )
    plain = "int64" if leaf.dtype == "uint64" else leaf.dtype
    shape = (None,) if None in leaf.shape[1:] else leaf.shape
    stored = _stored(name, Feature(plain, shape, optional=leaf.optional), levels)
    return ConnectorFeature.of(leaf, levels, {"": stored})


def _stored(name: str, leaf: Feature, levels: Shape) -> Feature:
    """Return ``leaf`` with the dimensions of its enclosing sequences, as TFDS flattens them."""
    if not levels:
        return leaf
    if not leaf.is_dense:
        raise SchemaError("TFDS cannot store a sequence of tensors of unknown shape without an encoding")
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
    if isinstance(feature, ConnectorFeature):
        return _describe_connector(feature)
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
    if feature.names and feature.dtype == "int64" and len(feature.shape) <= 1 and not feature.optional:
        label = {
            "pythonClassName": _CLASSES + "class_label_feature.ClassLabel",
            "classLabel": {"numClasses": str(len(feature.names))},
        }
        return _sequence(len(feature.shape), label, feature.shape[0] if feature.shape else None)
    if levels > 1:
        return _sequence(levels, _tensor_message(feature.replace(shape=feature.inner_shape, key=None, partitions=())))
    return _tensor_message(feature)


def _describe_connector(feature: ConnectorFeature) -> dict[str, Any]:
    item = feature.item
    if item.coding == "image":
        message = {
            "pythonClassName": _CLASSES + "image_feature.Image",
            "image": {"shape": _dimensions(item.shape), "dtype": item.dtype},
        }
    else:
        encoding = {"list": "none", "raw": "bytes"}.get(item.coding, item.coding)
        tensor: dict[str, Any] = {"shape": _dimensions(item.shape), "dtype": item.dtype, "encoding": encoding}
        tensor |= {"optional": True} if item.optional else {}
        message = {"pythonClassName": _CLASSES + "tensor_feature.Tensor", "tensor": tensor}
    for length in reversed(feature.levels):
        message = _sequence(1, message, length)
    return message


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
