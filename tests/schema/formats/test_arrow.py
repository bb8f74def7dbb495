"""Arrow schemas: an exact round trip, and the schemas of others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from schema_strategies import schemas

from penstock import Feature, Schema, SchemaError

pa = pytest.importorskip("pyarrow")


@given(schemas())
def test_round_trip_is_exact(schema: Schema) -> None:
    arrow = schema.to_arrow()
    assert Schema.from_arrow(arrow) == schema
    assert arrow.names == list(schema)


def test_types_are_those_of_the_columns() -> None:
    arrow = Schema(
        {"x": Feature("float32", (2,), optional=True), "words": Feature("str", (None,)), "b": bytes},
        sequence={"t": int},
    ).to_arrow()
    assert arrow.field("x").type == pa.list_(pa.field("item", pa.float32(), nullable=False), 2)
    assert arrow.field("x").nullable
    assert arrow.field("words").type == pa.large_list(pa.field("item", pa.string_view(), nullable=False))
    assert arrow.field("b").type == pa.binary_view()
    assert arrow.field("t").type == pa.large_list(pa.field("item", pa.int64(), nullable=False))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.int32(), Feature("int32")),
        (pa.float16(), Feature("float16")),
        (pa.bool_(), Feature("bool")),
        (pa.large_string(), Feature("str")),
        (pa.dictionary(pa.int8(), pa.string()), Feature("str")),
        (pa.binary(4), Feature("bytes")),
        (pa.uint64(), Feature("uint64", encoding="raw")),
        (pa.list_(pa.float32()), Feature("float32", (None,))),
        (pa.list_(pa.list_(pa.int8(), 3)), Feature("int8", (None, 3))),
    ],
)
def test_foreign_column_is_read_by_its_type(kind: Any, expected: Feature) -> None:
    assert Schema.from_arrow(pa.schema([pa.field("x", kind, nullable=False)])) == Schema({"x": expected})
    assert Schema.from_arrow(pa.schema([("x", kind)]))["x"].optional


def test_float64_asks_for_a_choice() -> None:
    arrow = pa.schema([pa.field("x", pa.float64(), nullable=False)])
    with pytest.raises(SchemaError, match=r'option float64, choose "float32" .* or "raw"'):
        Schema.from_arrow(arrow)
    assert Schema.from_arrow(arrow, float64="float32")["x"] == Feature("float32")
    assert Schema.from_arrow(arrow, float64="raw")["x"] == Feature("float64", encoding="raw")


def test_cast_column_is_read_by_its_new_type() -> None:
    arrow = Schema({"x": Feature("int8", key="k")}).to_arrow()
    changed = arrow.set(0, arrow.field(0).with_type(pa.int32()))
    assert Schema.from_arrow(changed) == Schema({"x": "int32"})


@pytest.mark.parametrize(
    "kind", [pa.month_day_nano_interval(), pa.struct([("a", pa.float64())]), pa.list_(pa.list_(pa.int8()), 3)]
)
def test_column_that_does_not_fit_raises(kind: Any) -> None:
    with pytest.raises(SchemaError, match="'x"):
        Schema.from_arrow(pa.schema([("x", kind)]))


def test_damaged_metadata_raise() -> None:
    field = pa.field("x", pa.int8(), metadata={"penstock.feature": "{"})
    with pytest.raises(SchemaError, match="metadata"):
        Schema.from_arrow(pa.schema([field]))


def test_two_columns_of_one_name_raise() -> None:
    with pytest.raises(SchemaError, match="two columns"):
        Schema.from_arrow(pa.schema([("x", pa.int8()), ("x", pa.int8())]))
