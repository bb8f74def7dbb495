"""A schema is an immutable mapping of names to features."""

from __future__ import annotations

import pickle

import pytest

from penstock import Feature, Schema, SchemaError

FRAMES = Schema({"id": str, "labels": Feature(int, (None,))}, sequence={"rgb": Feature("float32", (4,)), "t": int})


def test_dtype_stands_for_a_scalar() -> None:
    assert Schema({"label": int})["label"] == Feature("int64")


def test_context_comes_before_sequence() -> None:
    assert list(FRAMES) == ["id", "labels", "rgb", "t"]
    assert list(FRAMES.context) == ["id", "labels"]
    assert list(FRAMES.sequence) == ["rgb", "t"]
    assert FRAMES.is_sequence
    assert not Schema({}).is_sequence


def test_mapping_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        FRAMES["id"] = Feature(int)  # type: ignore[index]
    with pytest.raises(TypeError):
        FRAMES.context["id"] = Feature(int)  # type: ignore[index]


def test_nested_ragged_feature_is_stored_as_tfds_stores_it() -> None:
    feature = Schema({"words": Feature("str", (None, None, None))})["words"]
    assert feature.key == "words/ragged_flat_values"
    assert feature.partitions == ("words/ragged_row_lengths_0", "words/ragged_row_lengths_1")


def test_named_partitions_are_left_alone() -> None:
    feature = Feature("str", (None, None), partitions=["n"])
    assert Schema({"words": feature})["words"] == feature


@pytest.mark.parametrize(
    ("features", "sequence"),
    [
        ({"a": int}, {"a": int}),
        ({"a": int, "b": Feature(int, key="a")}, None),
        ({"a": Feature(int, key="x"), "b": Feature(int, key="x")}, None),
        ({"a": Feature(int, (None, None), partitions=["b"]), "b": int}, None),
        ({}, {"a": Feature(int, (None, None))}),
        ({}, {"a": Feature(int, default=0)}),
        ({3: int}, None),
        ({"a": "flaot32"}, None),
        ([("a", int)], None),
        ({}, []),
    ],
)
def test_contradiction_raises(features: object, sequence: object) -> None:
    with pytest.raises(SchemaError):
        Schema(features, sequence=sequence)  # type: ignore[arg-type]


def test_wrong_dtype_names_the_feature() -> None:
    with pytest.raises(SchemaError, match="'a'"):
        Schema({"a": "flaot32"})


def test_same_key_may_stand_in_context_and_sequence() -> None:
    schema = Schema({"context_id": Feature(int, key="id")}, sequence={"id": int})
    assert len(schema) == 2


def test_select_keeps_the_order_asked_for() -> None:
    part = FRAMES.select(["t", "labels"])
    assert list(part) == ["labels", "t"]
    assert list(FRAMES.select(["labels", "id"])) == ["labels", "id"]
    assert part.is_sequence


def test_select_of_an_unknown_name_offers_a_close_one() -> None:
    with pytest.raises(SchemaError, match="'labels'"):
        FRAMES.select(["lables"])


def test_union_lets_the_right_side_win() -> None:
    union = Schema({"a": int, "b": int}) | Schema({"b": str, "c": int})
    assert union == Schema({"a": int, "b": str, "c": int})
    moved = FRAMES | Schema({"rgb": bytes})
    assert list(moved.sequence) == ["t"]
    assert moved.context["rgb"] == Feature("bytes")


def test_a_plain_mapping_says_what_features_are_where_they_stand() -> None:
    known = Schema({"emb": bytes, "label": int}) | {"emb": Feature("float32", (16,), encoding="raw"), "name": str}
    assert list(known.items()) == [
        ("emb", Feature("float32", (16,), encoding="raw")),
        ("label", Feature("int64")),
        ("name", Feature("str")),
    ]
    assert (FRAMES | {"rgb": bytes}).sequence["rgb"] == Feature("bytes")
    with pytest.raises(TypeError):
        known | ["name"]  # type: ignore[operator]


def test_equality_minds_features_and_sections_but_not_order() -> None:
    assert Schema({"a": int, "b": str}) == Schema({"b": str, "a": int})
    assert hash(Schema({"a": int, "b": str})) == hash(Schema({"b": str, "a": int}))
    assert Schema({"a": int}) != Schema({"a": str})
    assert Schema({"a": int}) != Schema({}, sequence={"a": int})
    assert Schema({"a": int}) != {"a": Feature(int)}


def test_pickle_round_trip() -> None:
    assert pickle.loads(pickle.dumps(FRAMES)) == FRAMES


def test_repr_is_the_call_that_makes_it() -> None:
    assert repr(Schema({"a": int})) == "Schema({\n    'a': Feature('int64'),\n})"
    assert eval(repr(FRAMES)) == FRAMES


@pytest.mark.parametrize(
    "features",
    [
        {"\ud800": int},
        {"a": Feature("int64", key="\ud800")},
        {"a": Feature("int64", (None, None), partitions=["\ud800"])},
    ],
    ids=["name", "key", "partition"],
)
def test_a_key_that_cannot_be_encoded_raises(features):
    with pytest.raises(SchemaError, match="half of a surrogate pair"):
        Schema(features)
