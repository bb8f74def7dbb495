"""Schema: an immutable mapping of names to features, for Examples and SequenceExamples."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from penstock import html
from penstock.errors import SchemaError
from penstock.schema.connector import ConnectorFeature, stored_features
from penstock.schema.dtype import DtypeLike
from penstock.schema.feature import IMAGES, Feature, Sections
from penstock.schema.formats import arrow, tf_io, tfds
from penstock.schema.formats import json_file as json_format
from penstock.schema.formats.pbtxt import from_pbtxt, to_pbtxt
from penstock.storage import StrPath, read_whole, write_whole


class Schema(Mapping[str, Feature]):
    """The features of a dataset: an immutable mapping of names to :class:`Feature`.

    Args:
        features: A mapping of names to features. A dtype stands for a scalar feature.
        sequence: For SequenceExamples, the features of the feature lists. A shape is that of one step, so ``(128,)``
            becomes a column ``[rows, steps, 128]``. None if the records are Examples.

    Raises:
        SchemaError: Two features have the same name or key.

    Example:
        >>> schema = ps.Schema({"image": ps.Feature("uint8", (28, 28), encoding="raw"), "label": int})
        >>> schema["label"]
        Feature('int64')
        >>> list(schema | {"name": str})
        ['image', 'label', 'name']
    """

    __slots__ = ("_all", "_context", "_features_json", "_paths", "_sequence", "_unknown")

    def __init__(
        self, features: Mapping[str, Feature | DtypeLike], *, sequence: Mapping[str, Feature | DtypeLike] | None = None
    ) -> None:
        self._context = {name: _context_feature(name, value) for name, value in _items(features)}
        self._sequence = (
            None if sequence is None else {name: _step_feature(name, value) for name, value in _items(sequence)}
        )
        if both := self._context.keys() & (self._sequence or {}).keys():
            raise SchemaError(f"a feature must be in the context or in the sequence, not in both: {_quote(both)}")
        for section in (self._context, self._sequence or {}):
            _check_keys(section)
        self._all = self._context | (self._sequence or {})
        # Keys in the schema file that this version does not know, written back on save.
        self._unknown: json_format.Unknown = {}
        # Where features are in rows of nested dicts, as TFDS has them.
        self._paths: Mapping[str, tuple[str, ...]] = {}
        # What the schema was read from, which says more than the features do: what is a nested dataset, for example.
        self._features_json = ""

    @property
    def context(self) -> Mapping[str, Feature]:
        """The features of Examples, or of the context of SequenceExamples.

        Example:
            >>> list(ps.Schema({"label": int}, sequence={"frame": bytes}).context)
            ['label']
        """
        return MappingProxyType(self._context)

    @property
    def sequence(self) -> Mapping[str, Feature]:
        """The features of the feature lists of SequenceExamples; empty for Examples.

        Example:
            >>> list(ps.Schema({"label": int}, sequence={"frame": bytes}).sequence)
            ['frame']
        """
        return MappingProxyType(self._sequence or {})

    @property
    def is_sequence(self) -> bool:
        """Whether the records are SequenceExamples.

        Example:
            >>> ps.Schema({"label": int}).is_sequence
            False
        """
        return self._sequence is not None

    def __getitem__(self, name: str) -> Feature:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def select(self, names: Iterable[str]) -> Schema:
        """Return a schema with some of the features, in the order of ``names``.

        Raises:
            SchemaError: The schema has no such feature.

        Example:
            >>> ps.Schema({"label": int, "name": str}).select(["name"])
            Schema({
                'name': Feature('str'),
            })
        """
        chosen = [names] if isinstance(names, str) else list(names)
        for name in chosen:
            if name not in self._all:
                raise unknown_feature(name, self._all)
        context = {name: self._context[name] for name in chosen if name in self._context}
        sequence = self._sequence and {name: self._sequence[name] for name in chosen if name in self._sequence}
        return Schema(context, sequence=sequence)._with_unknown_keys(self)

    def __or__(self, other: Mapping[str, Feature | DtypeLike]) -> Schema:
        """Return the union of two schemas; features of ``other`` replace those of the same name.

        A plain mapping replaces features in the section that they are in, and adds new ones to the context.
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
        )._with_unknown_keys(self, other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        return (self._context, self._sequence) == (other._context, other._sequence)

    def __hash__(self) -> int:
        return hash((frozenset(self._context.items()), frozenset(self.sequence.items()), self.is_sequence))

    def __repr__(self) -> str:
        if self._sequence is None:
            return f"Schema({_format(self._context)})"
        return f"Schema({_format(self._context)}, sequence={_format(self._sequence)})"

    def _repr_html_(self) -> str:
        sections = {"context": self._context, "sequence": self._sequence or {}}
        named = [
            (name, feature, section) for section, features in sections.items() for name, feature in features.items()
        ]
        columns = ["feature", "dtype", "shape", "encoding", "absent", *(["section"] if self.is_sequence else [])]
        rows = [
            [name, feature.dtype, list(feature.shape), feature.encoding, _when_absent(feature), section]
            for name, feature, section in named[: html.ROWS * 16]
        ]
        left = len(named) - len(rows)
        caption = f"Schema of {len(named):,} features"
        return html.table(
            columns, (row[: len(columns)] for row in rows), caption=caption, note=f"and {left:,} more" * (left > 0)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._context, self._sequence, self._unknown, self._paths, self._features_json)

    def to_json(self) -> str:
        """Return the schema as JSON, the text of a schema file.

        Example:
            >>> schema = ps.Schema({"label": int})
            >>> ps.Schema.from_json(schema.to_json()) == schema
            True
        """
        return json_format.dumps(self._sections, self._unknown)

    @classmethod
    def from_json(cls, text: str | bytes) -> Schema:
        """Return the schema of a JSON text.

        Raises:
            SchemaError: The text is not a schema, or needs a newer version of Penstock.

        Example:
            >>> ps.Schema.from_json(ps.Schema({"label": int}).to_json())["label"]
            Feature('int64')
        """
        sections, unknown = json_format.loads(text)
        return _rebuild(*sections, unknown)

    def save(self, path: StrPath) -> None:
        """Write a schema file. The file is replaced atomically.

        Example:
            >>> ps.Schema({"label": int}).save("schema.json")
        """
        write_whole(path, self.to_json().encode("ascii"))

    @classmethod
    def load(cls, path: StrPath) -> Schema:
        """Read a schema file.

        Raises:
            SchemaError: The file is not a schema, or needs a newer version of Penstock.

        Example:
            >>> ps.Schema({"label": int}).save("schema.json")
            >>> ps.Schema.load("schema.json")["label"]
            Feature('int64')
        """
        text = read_whole(path, json_format.MAX_BYTES)  # from_json raises for a longer file
        try:
            return cls.from_json(text)
        except SchemaError as error:
            raise SchemaError(f"{path}: {error}") from None

    def to_tf(self) -> Any:
        """Return a feature description for ``tf.io.parse_example``. Needs TensorFlow; see :meth:`to_tf_source`.

        Returns:
            A dict; for SequenceExamples, a pair of dicts (context, sequence).

        Raises:
            SchemaError: ``tf.io`` has no description for a feature.

        Example:
            >>> spec = ps.Schema({"label": int}).to_tf()  # doctest: +SKIP
            >>> tf.io.parse_example(records, spec)  # doctest: +SKIP
        """
        return tf_io.to_tf(self._sections)

    def to_tf_source(self) -> str:
        """Return Python source that builds the ``tf.io`` feature description; does not need TensorFlow.

        Example:
            >>> print(ps.Schema({"label": int}).to_tf_source().strip())
            import tensorflow as tf
            <BLANKLINE>
            features = {
                'label': tf.io.FixedLenFeature([], tf.int64),
            }
        """
        return tf_io.to_tf_source(self._sections)

    @classmethod
    def from_tf(cls, spec: Mapping[str, Any], sequence: Mapping[str, Any] | None = None) -> Schema:
        """Return the schema of a ``tf.io`` feature description.

        Args:
            spec: The description of the features; for SequenceExamples, of the context.
            sequence: For SequenceExamples, the description of the feature lists.

        Example:
            >>> import penstock.tf as tf
            >>> ps.Schema.from_tf({"label": tf.io.FixedLenFeature([], tf.int64)})["label"]
            Feature('int64')
        """
        return _rebuild(*tf_io.from_tf(spec, sequence))

    def to_pbtxt(self) -> str:
        """Return the text of a TensorFlow Metadata ``schema.pbtxt``.

        Example:
            >>> schema = ps.Schema({"label": int})
            >>> ps.Schema.from_pbtxt(schema.to_pbtxt()) == schema
            True
        """
        return to_pbtxt(self._sections)

    @classmethod
    def from_pbtxt(cls, text: str) -> Schema:
        """Return the schema of a TensorFlow Metadata ``schema.pbtxt``.

        Example:
            >>> text = 'feature { name: "label" type: INT presence { min_fraction: 1 } shape {} }'
            >>> ps.Schema.from_pbtxt(text)["label"]
            Feature('int64')
        """
        return _rebuild(*from_pbtxt(text))

    def to_tfds(self) -> str:
        """Return the text of a TFDS ``features.json``.

        Raises:
            SchemaError: TFDS cannot describe a feature, or would store it differently.

        Example:
            >>> schema = ps.Schema({"label": int})
            >>> ps.Schema.from_tfds(schema.to_tfds()) == schema
            True
        """
        return self._features_json or tfds.to_tfds(Sections(self._context, self._sequence))

    @classmethod
    def from_tfds(cls, features_json: str | bytes) -> Schema:
        """Return the schema of a TFDS ``features.json``.

        Example:
            >>> ps.Schema.from_tfds(ps.Schema({"label": int}).to_tfds())["label"]
            Feature('int64')
        """
        found = tfds.from_tfds(features_json)
        schema = cls(found.features)
        schema._paths = {name: path for name, path in found.paths.items() if len(path) > 1}
        schema._features_json = features_json if isinstance(features_json, str) else features_json.decode()
        return schema

    def to_arrow(self) -> Any:
        """Return the ``pyarrow.Schema`` of the columns.

        Example:
            >>> ps.Schema({"label": int}).to_arrow().field("label").type
            DataType(int64)
        """
        return arrow.to_arrow(self._sections)

    @classmethod
    def from_arrow(cls, schema: Any, *, float64: arrow.Float64 | None = None) -> Schema:
        """Return a schema that stores the columns of a ``pyarrow.Schema``.

        Args:
            schema: The ``pyarrow.Schema``. If :meth:`to_arrow` created it, the result is the original schema.
            float64: How to store float64 columns: ``"float32"`` rounds the values, ``"raw"`` stores them unchanged.

        Example:
            >>> import pyarrow as pa
            >>> ps.Schema.from_arrow(pa.schema({"score": pa.float64()}), float64="raw")["score"]
            Feature('float64', encoding='raw', optional=True)
        """
        return _rebuild(*arrow.from_arrow(schema, float64=float64))

    @property
    def _sections(self) -> Sections:
        return Sections(stored_features(self._context), self._sequence)

    def _with_names(self, names: Mapping[str, list[str]]) -> Schema:
        """Return the schema with names of classes for features that are integers."""
        context = {
            name: feature.replace(names=names[name])
            if name in names and feature.dtype == "int64" and feature.encoding == "list"
            else feature
            for name, feature in self._context.items()
        }
        return _rebuild(context, self._sequence, self._unknown, self._paths, self._features_json)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def _with_unknown_keys(self, *sources: Schema) -> Schema:
        """Add the unknown keys that the files of ``sources`` had for the features of this schema."""
        for source in sources:
            self._unknown |= {name: keys for name, keys in source._unknown.items() if name is None or name in self}
            self._paths = {**self._paths, **{name: path for name, path in source._paths.items() if name in self}}
        return self


def check_schema(schema: object) -> Schema:
    """Return a schema; raise TypeError for anything else, such as a dict of features."""
    if not isinstance(schema, Schema):
        raise TypeError(f"schema must be a Schema, such as ps.Schema({{'label': int}}), not {type(schema).__name__}")
    return schema


def unknown_feature(name: object, known: Iterable[str], what: str = "the schema has no feature") -> SchemaError:
    """Return the error for a name that is not among the features: with the closest one, or the first ones."""
    names = list(known)
    close = difflib.get_close_matches(str(name), names, 1)
    if close:
        return SchemaError(f"{what} {name!r}: did you mean {close[0]!r}?")
    more = f" and {len(names) - _NAMES_SHOWN:,} more" if len(names) > _NAMES_SHOWN else ""
    return SchemaError(f"{what} {name!r}; it has {', '.join(map(repr, names[:_NAMES_SHOWN])) or 'none'}{more}")


def _rebuild(
    context: Mapping[str, Feature],
    sequence: Mapping[str, Feature] | None,
    unknown: json_format.Unknown | None = None,
    paths: Mapping[str, tuple[str, ...]] | None = None,
    features_json: str = "",
) -> Schema:
    schema = Schema(context, sequence=sequence)
    schema._unknown, schema._paths, schema._features_json = unknown or {}, paths or {}, features_json
    return schema


def _items(features: Mapping[str, Feature | DtypeLike]) -> Iterable[tuple[str, Feature | DtypeLike]]:
    if not isinstance(features, Mapping):
        raise SchemaError(f"a schema needs a mapping of names to features, found {type(features).__name__}")
    for name in features:
        if not isinstance(name, str):
            raise SchemaError(f"the name of a feature must be a str, found {type(name).__name__}")
    return features.items()


def _feature(name: str, value: Feature | DtypeLike) -> Feature:
    if isinstance(value, Feature):
        return value
    try:
        return Feature(value)
    except SchemaError as error:
        raise SchemaError(f"feature {name!r}: {error}") from None


def _context_feature(name: str, value: Feature | DtypeLike) -> Feature:
    feature = _feature(name, value)
    if feature.ragged_levels > 1 and not feature.partitions and not isinstance(feature, ConnectorFeature):
        feature = feature.replace(
            key=f"{name}/ragged_flat_values" if feature.key is None else feature.key,
            partitions=[f"{name}/ragged_row_lengths_{level}" for level in range(feature.ragged_levels - 1)],
        )
    return feature


def _step_feature(name: str, value: Feature | DtypeLike) -> Feature:
    feature = _feature(name, value)
    if feature.ragged_levels > 1:
        raise SchemaError(f"feature {name!r}: a step of a sequence allows at most one None, found {feature.shape}")
    if feature.has_default:
        raise SchemaError(f"feature {name!r}: a sequence cannot have a default; use optional=True")
    return feature


def _check_keys(section: Mapping[str, Feature]) -> None:
    """Check that keys are distinct, and that each can be encoded to bytes."""
    users: dict[str, str] = {}
    for name, feature in section.items():
        key = name if feature.key is None else feature.key
        if key in users:
            raise SchemaError(f"the features {users[key]!r} and {name!r} have the same key {key!r}")
        users[key] = name
        try:
            "".join([key, *feature.partitions]).encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise SchemaError(f"feature {name!r}: the key has half of a surrogate pair, which is not text") from None
    for name, feature in section.items():
        for key in feature.partitions:
            if key in users:
                raise SchemaError(f"the key {key!r} cannot hold row lengths of {name!r} and values of {users[key]!r}")


def _when_absent(feature: Feature) -> str:
    return "null" if feature.optional else f"{feature.default}" if feature.has_default else "an error"


def _format(features: Mapping[str, Feature]) -> str:
    if not features:
        return "{}"
    lines = [f"    {name!r}: {feature!r},\n" for name, feature in features.items()]
    return "{\n" + "".join(lines) + "}"


def _quote(names: Iterable[str]) -> str:
    return ", ".join(map(repr, sorted(names)))


_NAMES_SHOWN = 8
_DTYPES = {"bytes": "bytes", "float": "float32", "int64": "int64"}


def keep_images_encoded(schema: Schema, *, tensors: bool = False) -> Schema:
    """Return a schema that reads images, and with ``tensors`` TensorProtos, as encoded bytes."""
    encodings = IMAGES | {"tensor"} if tensors else IMAGES

    def encoded(feature: Feature) -> Feature:
        if feature.encoding not in encodings:
            return feature
        return Feature("bytes", key=feature.key, optional=feature.optional or feature.has_default)

    return _map(keep_stored(schema), encoded)


def keep_stored(schema: Schema) -> Schema:
    """Return a schema that reads what connectors of TFDS decode as it is stored."""
    if not any(isinstance(feature, ConnectorFeature) for feature in schema.context.values()):
        return schema
    return Schema(stored_features(schema.context))


class TracedFeature(Feature):
    """A feature that is decoded together with its stored bytes, for a dataset that is being written."""

    name: str
    """The name of the feature in its schema."""

    @classmethod
    def of(cls, name: str, feature: Feature) -> TracedFeature:
        """Return a traced copy of a feature."""
        traced = cls.__new__(cls)
        vars(traced).update(vars(feature), name=name)
        return traced

    def plain(self) -> Feature:
        """Return the feature without tracing."""
        return self.replace()


def trace_encoded(schema: Schema) -> Schema:
    """Return a schema with images, tensors and raw arrays traced."""
    traced = {
        name: feature
        if feature.encoding == "list" or isinstance(feature, ConnectorFeature)
        else TracedFeature.of(name, feature)
        for name, feature in schema.items()
    }
    return schema | traced


def keep_lists(schema: Schema) -> Schema:
    """Return a schema that reads every feature as its stored list, of any length or absent; raw arrays stay arrays."""
    return _map(schema, _list)


def keep_fixed_lists(schema: Schema) -> Schema:
    """Return the same features as :func:`keep_lists`, but with their shapes where these are fixed."""
    return _map(schema, _fixed_list) if not schema.is_sequence else keep_lists(schema)


def rename_features(schema: Schema, names: Mapping[str, str], *, keep_keys: bool) -> Schema:
    """Return a schema with new names for some features.

    Args:
        schema: The schema.
        names: The new name of each feature that gets one.
        keep_keys: Whether records have the features under their old keys, or under the new names.
    """

    def renamed(features: Mapping[str, Feature]) -> dict[str, Feature]:
        return {names.get(name, name): _renamed(name, feature) for name, feature in features.items()}

    def _renamed(name: str, feature: Feature) -> Feature:
        if names.get(name, name) == name:
            return feature
        if keep_keys:
            return feature.replace(key=name if feature.key is None else feature.key)
        return feature.replace(key=None, partitions=())

    schema.select(names)  # raises for an unknown name
    if len({names.get(name, name) for name in schema}) < len(schema):
        taken = [names.get(name, name) for name in schema]
        twice = next(name for name in taken if taken.count(name) > 1)
        raise SchemaError(f"two columns would have the name {twice!r}: drop or rename the other one, too")
    sequence = renamed(schema.sequence) if schema.is_sequence else None
    return Schema(renamed(schema.context), sequence=sequence)._with_unknown_keys(schema)


def _map(schema: Schema, change: Callable[[Feature], Feature]) -> Schema:
    context = {name: change(feature) for name, feature in schema.context.items()}
    sequence = {name: change(feature) for name, feature in schema.sequence.items()}
    return Schema(context, sequence=sequence if schema.is_sequence else None)


def _fixed_list(feature: Feature) -> Feature:
    if feature.encoding == "list" and not feature.ragged_levels:
        return Feature(_DTYPES[feature.kind], feature.shape, optional=True, key=feature.key)
    return _list(feature)


def _list(feature: Feature) -> Feature:
    if feature.encoding == "raw":
        return Feature(feature.dtype, feature.shape, encoding="raw", optional=True, key=feature.key)
    return Feature(_DTYPES[feature.kind], (None,), optional=True, key=feature.key, names=feature.names)
