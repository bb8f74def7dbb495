"""Schema files: what is saved is loaded, what is newer is kept or refused, what is hostile is a SchemaError."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from schema_strategies import schemas

from penstock import Feature, Schema, SchemaError

FILE: dict[str, Any] = {
    "format": "penstock.schema",
    "version": 1,
    "requires": [],
    "features": {"a": {"dtype": "int64", "shape": [], "encoding": "list"}},
}


@given(schemas())
def test_json_round_trip_is_exact(schema: Schema) -> None:
    text = schema.to_json()
    assert Schema.from_json(text) == schema
    assert list(Schema.from_json(text)) == list(schema)
    assert Schema.from_json(text).to_json() == text


def test_file_round_trip(tmp_path: Path) -> None:
    schema = Schema({"image": Feature("uint8", (28, 28), encoding="raw")}, sequence={"t": int})
    schema.save(tmp_path / "schema.json")
    assert Schema.load(tmp_path / "schema.json") == schema
    assert [path.name for path in tmp_path.iterdir()] == ["schema.json"]


def test_text_is_the_documented_format() -> None:
    schema = Schema(
        {"x": Feature("bytes", default=b"\0\xff"), "w": Feature("float32", (2,), default=[0.1, float("nan")], key="k")}
    )
    assert json.loads(schema.to_json()) == {
        "format": "penstock.schema",
        "version": 1,
        "requires": [],
        "features": {
            "x": {"dtype": "bytes", "shape": [], "encoding": "list", "default": {"base64": "AP8="}},
            "w": {"dtype": "float32", "shape": [2], "encoding": "list", "default": [0.1, "nan"], "key": "k"},
        },
    }


def test_shape_and_encoding_may_be_left_out() -> None:
    assert Schema.from_json(json.dumps(FILE | {"features": {"a": {"dtype": "str"}}})) == Schema({"a": str})


def test_keys_of_a_later_version_survive() -> None:
    document = FILE | {"note": {"x": [1]}}
    document["features"] = {"a": {"dtype": "int64", "unit": "m"}, "b": {"dtype": "str", "unit": "s"}}
    schema = Schema.from_json(json.dumps(document))
    saved = json.loads((schema.select(["a"]) | Schema({"c": int})).to_json())
    assert saved["note"] == {"x": [1]}
    assert saved["features"]["a"]["unit"] == "m"
    assert "unit" not in saved["features"]["c"]


@pytest.mark.parametrize("change", [{"version": 2}, {"requires": ["units"]}, {"requires": [["units"]]}])
def test_what_is_required_and_unknown_raises(change: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="this Penstock"):
        Schema.from_json(json.dumps(FILE | change))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        "{",
        b"\xff\xfe",
        "[" * 100_000,
        "1" * 100_000,
        '{"format": "penstock.schema", "format": "penstock.schema"}',
        *(
            json.dumps(FILE | change)
            for change in (
                {"format": 1},
                {"version": "1"},
                {"version": True},
                {"version": 0},
                {"requires": {}},
                {"features": []},
                {"features": {"a": "int64"}},
                {"features": {"a": {}}},
                {"features": {"a": {"dtype": ["int64"]}}},
                {"features": {"a": {"dtype": "int64", "shape": 3}}},
                {"features": {"a": {"dtype": "int64", "shape": [True]}}},
                {"features": {"a": {"dtype": "int64", "shape": [1e30]}}},
                {"features": {"a": {"dtype": "int64", "shape": [10**30]}}},
                {"features": {"a": {"dtype": "int64", "shape": [1] * 1000}}},
                {"features": {"a": {"dtype": "int64", "encoding": ["list"]}}},
                {"features": {"a": {"dtype": "int64", "optional": 1}}},
                {"features": {"a": {"dtype": "int64", "key": 1}}},
                {"features": {"a": {"dtype": "int64", "partitions": "x"}}},
                {"features": {"a": {"dtype": "int64", "partitions": [None]}}},
                {"features": {"a": {"dtype": "int64", "default": None}}},
                {"features": {"a": {"dtype": "int64", "shape": [1 << 40], "default": []}}},
                {"features": {"a": {"dtype": "bytes", "default": {"base64": "?"}}}},
                {"features": {"a": {"dtype": "bytes", "default": {}}}},
                {"features": {"a": {"dtype": "float32", "default": "x"}}},
                {"features": {"a": {"dtype": "float32", "default": float("nan")}}},
                {"sequence": None},
                {"sequence": {"a": {"dtype": "int64"}}},
            )
        ),
    ],
    ids=lambda text: str(text[-60:]),
)
def test_hostile_text_is_a_schema_error(text: str | bytes) -> None:
    with pytest.raises(SchemaError):
        Schema.from_json(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(
        st.sampled_from(["dtype", "shape", "encoding", "optional", "default", "key", "partitions", "names", "logical"]),
        JSON,
    )
)
def test_any_json_is_a_feature_or_a_schema_error(entry: dict[str, Any]) -> None:
    text = json.dumps(FILE | {"features": {"a": {"dtype": "float32"} | entry}})
    try:
        schema = Schema.from_json(text)
    except SchemaError:
        return
    assert Schema.from_json(schema.to_json()) == schema


def test_a_schema_requires_logical_types_where_it_has_some() -> None:
    plain, dated = Schema({"x": Feature(int, names=["a"])}), Schema({"x": Feature(int, logical="timestamp[s]")})
    assert json.loads(plain.to_json())["requires"] == []
    assert json.loads(dated.to_json())["requires"] == ["logical-types"]
    assert [Schema.from_json(schema.to_json()) for schema in (plain, dated)] == [plain, dated]
    with pytest.raises(SchemaError, match=r"feature 'x': unknown logical type 'moon\[phase\]'"):
        Schema.from_json(dated.to_json().replace("timestamp[s]", "moon[phase]"))


def test_error_names_the_file_and_the_feature(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(FILE | {"features": {"speed": {"dtype": "int63"}}}))
    with pytest.raises(SchemaError, match=r"schema\.json: feature 'speed'.*int64"):
        Schema.load(path)


def test_a_text_that_is_too_large_raises_unread():
    with pytest.raises(SchemaError, match="larger than 67108864 bytes"):
        Schema.from_json(b" " * ((64 << 20) + 1))


def test_a_default_that_is_nested_deep_is_a_schema_error():
    default = "[" * 900 + "]" * 900
    text = json.dumps(FILE | {"features": {"a": {"dtype": "int64", "default": "HERE"}}}).replace('"HERE"', default)
    with pytest.raises(SchemaError, match="the default has the wrong type"):
        Schema.from_json(text)
