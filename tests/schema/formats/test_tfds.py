"""features.json of TensorFlow Datasets."""

from __future__ import annotations

import json
import lzma
import pickle
from pathlib import Path
from typing import Any

import pytest

from penstock import Feature, Schema, SchemaError
from penstock.schema.connector import ConnectorFeature
from penstock.schema.schema import keep_stored

# Written by TFDS 4.9.10; the expectations are what its own get_serialized_info() says that Examples hold.
WRITTEN_BY_TFDS = Path(__file__).with_name("tfds_features.json").read_text()


def ragged(name: str, dtype: str) -> Feature:
    return Feature(dtype, (None, None), key=f"{name}/ragged_flat_values", partitions=[f"{name}/ragged_row_lengths_0"])


EXPECTED = Schema(
    {
        "image": Feature("uint8", (28, 28, 1), encoding="image"),
        "photo": Feature("uint8", (None, None, 3), encoding="image"),
        "any": Feature("uint8", (None, None, 3), encoding="image"),
        "label": int,
        "text": str,
        "id": int,
        "ok": bool,
        "emb": Feature("float32", (3, 4)),
        "var": Feature("float32", (None, 2)),
        "opt": "int32",
        "rawt": Feature("uint8", (2, 2), encoding="raw"),
        "z": bytes,
        "dyn/shape": Feature("int32", (2,)),
        "dyn/value": bytes,
        "bbox": Feature("float32", (4,)),
        "nested/a": int,
        "nested/b": str,
        "seq": Feature("int64", (None,)),
        "seq3": Feature("float32", (3,)),
        "seqseq": ragged("seqseq", "int64"),
        "seqd/x": Feature("float32", (None,)),
        "seqd/y": ragged("seqd/y", "str"),
        "steps/obs/img": Feature("bytes", (None,)),
        "steps/obs/state": Feature("float32", (None, 7)),
        "steps/is_first": Feature("bool", (None,)),
        "tr/en": str,
        "tr/fr": str,
        "audio": Feature("int64", (None,)),
        "str_t": bytes,
        "opt_t": Feature("int64", optional=True),
    }
)


def test_file_of_tfds_is_read_as_stored() -> None:
    assert keep_stored(Schema.from_tfds(WRITTEN_BY_TFDS)) == EXPECTED


def test_what_connectors_decode_has_the_dtype_and_shape_of_its_values() -> None:
    schema = Schema.from_tfds(WRITTEN_BY_TFDS)
    found = {name: (item.dtype, item.shape) for name, item in schema.items() if isinstance(item, ConnectorFeature)}
    assert found == {
        "z": ("uint8", (2, 2)),
        "dyn": ("uint8", (None, None)),
        "steps/obs/img": ("uint8", (None, 64, 64, 3)),
    }
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert Schema.from_json(schema.to_json()) == EXPECTED


@pytest.mark.parametrize("wrap", [lambda content: content, json.dumps], ids=["object", "text"])
def test_wrapped_file_is_read_alike(wrap: Any) -> None:
    content = json.loads(WRITTEN_BY_TFDS)["featuresDict"]
    wrapped = {"type": "FeaturesDict", "content": wrap(content), "proto_cls": "tensorflow_datasets.FeaturesDict"}
    assert keep_stored(Schema.from_tfds(json.dumps(wrapped))) == EXPECTED


def sequence(feature: Any, length: int = -1) -> dict[str, Any]:
    return {"sequence": {"feature": feature, "length": str(length)}}


def tensor(*shape: int, dtype: str = "int64", **rest: Any) -> dict[str, Any]:
    return {"tensor": {"shape": {"dimensions": [str(size) for size in shape]}, "dtype": dtype, **rest}}


def read(feature: Any) -> Feature:
    return Schema.from_tfds(json.dumps({"featuresDict": {"features": {"x": feature}}}))["x"]


def test_fixed_length_inside_a_ragged_sequence_is_an_inner_dimension() -> None:
    feature = read(sequence(sequence(tensor(5), 3)))
    assert feature == Feature("int64", (None, 3, 5), key="x/ragged_flat_values")


def test_fixed_length_around_a_ragged_sequence_reads_as_ragged() -> None:
    assert read(sequence(sequence(tensor()), 3)) == ragged("x", "int64")


@pytest.mark.parametrize(
    "feature",
    [
        tensor(-1, -1),
        tensor(dtype="complex64"),
        tensor(dtype="complex64", encoding="zlib"),
        tensor(dtype="string", encoding="zlib"),
        tensor(encoding="gzip"),
        tensor(1 << 40, 1 << 40, encoding="zlib"),
        tensor(*[1] * 40, encoding="zlib"),
        {"image": {"dtype": "float64"}},
        {"image": {"dtype": "float32", "shape": {"dimensions": ["3", "3", "3"]}}},
        {"video": {"shape": {"dimensions": ["3", "3"]}}},
        sequence(tensor(-1)),
        {"pythonClassName": "my.Feature", "jsonFeature": {}},
        {"type": "my.Feature", "content": {}},
        {"tensor": {"shape": {"dimensions": ["x"]}, "dtype": "int64"}},
        {"tensor": {"shape": {"dimensions": "3"}, "dtype": "int64"}},
        {"tensor": {"dtype": ["int64"]}},
        {"tensor": []},
        {"sequence": {"length": "3"}},
        [],
        None,
    ],
)
def test_what_a_feature_cannot_describe_raises(feature: Any) -> None:
    with pytest.raises(SchemaError, match="x"):
        read(feature)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"type": "x", "content": {}}', "{}"])
def test_damaged_text_is_a_schema_error(text: str) -> None:
    with pytest.raises(SchemaError):
        Schema.from_tfds(text)


def test_nesting_is_bounded() -> None:
    feature: Any = tensor()
    for _ in range(100):
        feature = sequence(feature)
    with pytest.raises(SchemaError, match="deep"):
        read(feature)


@pytest.mark.parametrize("name", ["x" * 5000, "/".join(["x"] * 3000)])
def test_names_are_bounded(name: str) -> None:
    with pytest.raises(SchemaError, match="too long"):
        Schema.from_tfds(json.dumps({"featuresDict": {"features": {name: tensor()}}}))


def test_files_of_old_versions_are_read_alike() -> None:
    kind = "tensorflow_datasets.core.features"
    leaf = {"type": f"{kind}.Tensor", "content": {"shape": [None, 2], "dtype": "int32"}}
    content = {
        "a": {
            "type": f"{kind}.Sequence",
            "content": {"feature": leaf | {"content": {"shape": [], "dtype": "int64"}}, "length": None},
        },
        "t": leaf,
        "i": {
            "type": f"{kind}.Image",
            "content": {"shape": [None, None, 1], "dtype": "uint8", "encoding_format": "png"},
        },
        "s": {"type": f"{kind}.Text", "content": {}},
    }
    schema = Schema.from_tfds(json.dumps({"type": f"{kind}.FeaturesDict", "content": content}))
    assert schema == Schema(
        {
            "a": Feature("int64", (None,)),
            "t": Feature("int32", (None, 2)),
            "i": Feature("uint8", (None, None, 1), encoding="image"),
            "s": str,
        }
    )


# What the repository of TFDS has of them, once each (2,470 of 5,444), as JSON arrays of [path, text].
OF_THE_REPOSITORY = Path(__file__).with_name("tfds_repository.json.xz")


def test_all_files_of_the_repository_of_tfds_are_read() -> None:
    files = json.loads(lzma.decompress(OF_THE_REPOSITORY.read_bytes()))
    schemas = {path: Schema.from_tfds(text) for path, text in files}
    assert len(schemas) == 2470
    assert all(map(len, schemas.values()))
    assert schemas["imdb_reviews/bytes/1.0.0"]["text"] == Feature("int64", (None,))
    assert schemas["smartwatch_gestures/1.0.0"]["features/time_event"].dtype == "uint64"
    assert schemas["youtube_vis/only_frames_with_labels_train_split/1.0.0"]["tracks/segmentations"].shape[:2] == (
        None,
        None,
    )


def test_round_trip_of_what_tfds_stores_alike() -> None:
    schema = Schema(
        {
            "a/b": int,
            "x/featuresDict": int,
            "a/c": Feature("str", (None,)),
            "text": str,
            "three": Feature("str", (3,)),
            "nested": Feature("float32", (None, None, 4)),
            "words": Feature("str", (None, None)),
            "raw": Feature("uint8", (None, 3), encoding="raw"),
            "image": Feature("uint8", (None, None, 3), encoding="image"),
            "maybe": Feature("int32", (2,), optional=True),
            "bytes": bytes,
            "half": Feature("bfloat16", (2,)),
        }
    )
    assert Schema.from_tfds(schema.to_tfds()) == schema


@pytest.mark.parametrize(
    "schema",
    [
        Schema({"x": Feature(int, key="k")}),
        Schema({"x": Feature(int, default=0)}),
        Schema({"x": Feature(int, encoding="tensor")}),
        Schema({"x": Feature(str, optional=True)}),
        Schema({"x": Feature(str, (2, 2))}),
        Schema({"x": int, "x/y": int}),
        Schema({"x/y": int, "x": int}),
        Schema({}, sequence={"x": int}),
    ],
)
def test_what_tfds_would_store_otherwise_raises(schema: Schema) -> None:
    with pytest.raises(SchemaError, match="TFDS"):
        schema.to_tfds()


def test_a_text_that_is_too_large_raises_unread():
    with pytest.raises(SchemaError, match="larger than 67108864 bytes"):
        Schema.from_tfds(" " * ((64 << 20) + 1))
