"""An immutable mapping of names to features, for Examples and SequenceExamples."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from penstock.errors import SchemaError
from penstock.schema.feature import IMAGES, Feature, Sections
from penstock.schema.formats import arrow, tf_io, tfds
from penstock.schema.formats import json_file as json_format
from penstock.schema.formats.pbtxt import from_pbtxt, to_pbtxt
from penstock.storage import StrPath, read_whole, write_whole


class Schema(Mapping[str, Feature]):
    """What the examples of a dataset hold: a mapping of names to features.

    >>> schema = Schema({"image": Feature("uint8", (28, 28), encoding="raw"), "label": int})
    >>> schema["label"]
    Feature('int64')

    Args:
        features: Name to :class:`Feature`, or to a dtype, which stands for a scalar.
        sequence: For SequenceExamples, the features of the feature lists; a shape is that of one step, so ``(128,)``
            gives a column ``[rows, steps, 128]``. None: the records are Examples.
    """

    __slots__ = ("_all", "_context", "_sequence", "_unknown")

    def __init__(self, features: Mapping[str, object], *, sequence: Mapping[str, object] | None = None) -> None:
        self._context = {name: _context_feature(name, value) for name, value in _items(features)}
        self._sequence = (
            None if sequence is None else {name: _step_feature(name, value) for name, value in _items(sequence)}
        )
        if both := self._context.keys() & (self._sequence or {}).keys():
            raise SchemaError(f"a name stands for one feature, in the context or in the sequence: {_quote(both)}")
        for section in (self._context, self._sequence or {}):
            _check_keys(section)
        self._all = self._context | (self._sequence or {})
        # What a newer Penstock wrote into the file that this came from, kept for saving.
        self._unknown: json_format.Unknown = {}

    @property
    def context(self) -> Mapping[str, Feature]:
        """The features of the Example, or of the SequenceExample's context."""
        return MappingProxyType(self._context)

    @property
    def sequence(self) -> Mapping[str, Feature]:
        """The features of the SequenceExample's feature lists; empty for Examples."""
        return MappingProxyType(self._sequence or {})

    @property
    def is_sequence(self) -> bool:
        """Whether the records are SequenceExamples."""
        return self._sequence is not None

    def __getitem__(self, name: str) -> Feature:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def select(self, names: Iterable[str]) -> Schema:
        """Return the schema of some features, in the order given."""
        chosen = [names] if isinstance(names, str) else list(names)
        for name in chosen:
            if name not in self._all:
                close = difflib.get_close_matches(str(name), list(self._all), 1) or list(self._all)[:8]
                raise SchemaError(f"the schema has no feature {name!r}; it has {_quote(close)}")
        context = {name: self._context[name] for name in chosen if name in self._context}
        sequence = self._sequence and {name: self._sequence[name] for name in chosen if name in self._sequence}
        return Schema(context, sequence=sequence)._keeping(self)

    def __or__(self, other: Mapping[str, object]) -> Schema:
        """Unite two schemas; where both know a name, the right one counts.

        A plain mapping names features to replace, each in the section where it stands, and to add to the context.
        """
        if not isinstance(other, Mapping):
            return NotImplemented
        if not isinstance(other, Schema):
            steps = {name: value for name, value in other.items() if name in self.sequence}
            other = Schema({name: other[name] for name in other if name not in steps}, sequence=steps or None)
        context = {name: feature for name, feature in self._context.items() if name not in other.sequence}
        sequence = {name: feature for name, feature in self.sequence.items() if name not in other._context}
        return Schema(
            context | other._context,
            sequence=sequence | dict(other.sequence) if self.is_sequence or other.is_sequence else None,
        )._keeping(self, other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        return (self._context, self._sequence) == (other._context, other._sequence)

    def __hash__(self) -> int:
        return hash((frozenset(self._context.items()), frozenset(self.sequence.items()), self.is_sequence))

    def __repr__(self) -> str:
        if self._sequence is None:
            return f"Schema({_block(self._context)})"
        return f"Schema({_block(self._context)}, sequence={_block(self._sequence)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._context, self._sequence, self._unknown)

    def to_json(self) -> str:
        """Return the text of a schema file: JSON, as ``docs/schema.md`` describes it."""
        return json_format.dumps(self._sections, self._unknown)

    @classmethod
    def from_json(cls, text: str | bytes) -> Schema:
        """Return the schema that the text of a schema file describes."""
        sections, unknown = json_format.loads(text)
        return _rebuild(*sections, unknown)

    def save(self, path: StrPath) -> None:
        """Write a schema file: whole, or not at all."""
        write_whole(path, self.to_json().encode("ascii"))

    @classmethod
    def load(cls, path: StrPath) -> Schema:
        """Read a schema file."""
        text = read_whole(path, json_format.MAX_BYTES)  # of a longer one, from_json says what is wrong
        try:
            return cls.from_json(text)
        except SchemaError as error:
            raise SchemaError(f"{path}: {error}") from None

    def to_tf(self) -> Any:
        """Return a ``tf.io`` feature description; for SequenceExamples a pair (context, sequence)."""
        return tf_io.to_tf(self._sections)

    def to_tf_source(self) -> str:
        """Return Python source text that makes the ``tf.io`` feature description."""
        return tf_io.to_tf_source(self._sections)

    @classmethod
    def from_tf(cls, spec: Mapping[str, Any], sequence: Mapping[str, Any] | None = None) -> Schema:
        """Return the schema of a ``tf.io`` feature description."""
        return _rebuild(*tf_io.from_tf(spec, sequence))

    def to_pbtxt(self) -> str:
        """Return the text of a TensorFlow Metadata ``schema.pbtxt``."""
        return to_pbtxt(self._sections)

    @classmethod
    def from_pbtxt(cls, text: str) -> Schema:
        """Return the schema of a TensorFlow Metadata ``schema.pbtxt``."""
        return _rebuild(*from_pbtxt(text))

    def to_tfds(self) -> str:
        """Return the text of a TFDS ``features.json``."""
        return tfds.to_tfds(self._sections)

    @classmethod
    def from_tfds(cls, features_json: str | bytes) -> Schema:
        """Return the schema of a TFDS ``features.json``."""
        return _rebuild(*tfds.from_tfds(features_json))

    def to_arrow(self) -> Any:
        """Return the ``pyarrow.Schema`` of the columns."""
        return arrow.to_arrow(self._sections)

    @classmethod
    def from_arrow(cls, schema: Any, *, float64: arrow.Float64 | None = None) -> Schema:
        """Return the schema that stores the columns of a ``pyarrow.Schema``.

        ``float64`` says how columns of that type are stored: ``"float32"`` narrows them, ``"raw"`` keeps them.
        """
        return _rebuild(*arrow.from_arrow(schema, float64=float64))

    @property
    def _sections(self) -> Sections:
        return Sections(self._context, self._sequence)

    def _keeping(self, *sources: Schema) -> Schema:
        """Take over what ``sources`` had in their files for the features that are here."""
        for source in sources:
            self._unknown |= {name: keys for name, keys in source._unknown.items() if name is None or name in self}
        return self


def check_schema(schema: object) -> Schema:
    """Refuse what is no schema, such as the dict that one is made of."""
    if not isinstance(schema, Schema):
        raise TypeError(f"schema is a Schema, such as ps.Schema({{'label': int}}), not {type(schema).__name__}")
    return schema


def _rebuild(
    context: Mapping[str, Feature],
    sequence: Mapping[str, Feature] | None,
    unknown: json_format.Unknown | None = None,
) -> Schema:
    schema = Schema(context, sequence=sequence)
    schema._unknown = unknown or {}
    return schema


def _items(features: Mapping[str, object]) -> Iterable[tuple[str, object]]:
    if not isinstance(features, Mapping):
        raise SchemaError(f"a schema is made of a mapping of names to features, not of {type(features).__name__}")
    for name in features:
        if not isinstance(name, str):
            raise SchemaError(f"the name of a feature is a str, not {type(name).__name__}")
    return features.items()


def _feature(name: str, value: object) -> Feature:
    if isinstance(value, Feature):
        return value
    try:
        return Feature(value)
    except SchemaError as error:
        raise SchemaError(f"feature {name!r}: {error}") from None


def _context_feature(name: str, value: object) -> Feature:
    feature = _feature(name, value)
    if feature.ragged_levels > 1 and not feature.partitions:
        feature = feature.replace(
            key=f"{name}/ragged_flat_values" if feature.key is None else feature.key,
            partitions=[f"{name}/ragged_row_lengths_{level}" for level in range(feature.ragged_levels - 1)],
        )
    return feature


def _step_feature(name: str, value: object) -> Feature:
    feature = _feature(name, value)
    if feature.ragged_levels > 1:
        raise SchemaError(f"feature {name!r}: a step of a sequence has at most one leading None, found {feature.shape}")
    if feature.has_default:
        raise SchemaError(f"feature {name!r}: a sequence takes no default; write optional=True")
    return feature


def _check_keys(section: Mapping[str, Feature]) -> None:
    """Refuse two uses of one key, and keys that no bytes stand for: no record could have them."""
    users: dict[str, str] = {}
    for name, feature in section.items():
        key = name if feature.key is None else feature.key
        if key in users:
            raise SchemaError(f"the features {users[key]!r} and {name!r} have the same key {key!r}")
        users[key] = name
        try:
            "".join([key, *feature.partitions]).encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise SchemaError(f"feature {name!r}: half of a surrogate pair is no text") from None
    for name, feature in section.items():
        for key in feature.partitions:
            if key in users:
                raise SchemaError(f"the key {key!r} holds row lengths of {name!r}, and values of {users[key]!r}")


def _block(features: Mapping[str, Feature]) -> str:
    if not features:
        return "{}"
    lines = [f"    {name!r}: {feature!r},\n" for name, feature in features.items()]
    return "{\n" + "".join(lines) + "}"


def _quote(names: Iterable[str]) -> str:
    return ", ".join(map(repr, sorted(names)))


_DTYPES = {"bytes": "bytes", "float": "float32", "int64": "int64"}


def keep_images_encoded(schema: Schema) -> Schema:
    """Return the schema with the bytes of images in place of their pixels."""
    return _map(schema, _encoded_image)


class TracedFeature(Feature):
    """A feature that is decoded with its bytes kept beside it, by a dataset that is being written."""

    name: str
    """What the feature is called in its schema."""

    @classmethod
    def of(cls, name: str, feature: Feature) -> TracedFeature:
        """Trace a feature."""
        traced = cls.__new__(cls)
        vars(traced).update(vars(feature), name=name)
        return traced

    def plain(self) -> Feature:
        """Return the feature as it is in its schema."""
        return self.replace()


def trace_encoded(schema: Schema) -> Schema:
    """Return the schema with images, tensors and raw arrays traced."""
    traced = {
        name: feature if feature.encoding == "list" else TracedFeature.of(name, feature)
        for name, feature in schema.items()
    }
    return schema | traced


def keep_lists(schema: Schema) -> Schema:
    """Return the schema with every feature as the list that is stored, of any length, or absent; raw arrays stay."""
    return _map(schema, _list)


def _map(schema: Schema, change: Callable[[Feature], Feature]) -> Schema:
    context = {name: change(feature) for name, feature in schema.context.items()}
    sequence = {name: change(feature) for name, feature in schema.sequence.items()}
    return Schema(context, sequence=sequence if schema.is_sequence else None)


def _encoded_image(feature: Feature) -> Feature:
    if feature.encoding not in IMAGES:
        return feature
    return Feature("bytes", key=feature.key, optional=feature.optional or feature.has_default)


def _list(feature: Feature) -> Feature:
    if feature.encoding == "raw":
        return Feature(feature.dtype, feature.shape, encoding="raw", optional=True, key=feature.key)
    return Feature(_DTYPES[feature.kind], (None,), optional=True, key=feature.key)
