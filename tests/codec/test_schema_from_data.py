"""Without a schema, data is stored by the table of defaults."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock import Feature

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

ROWS: list[tuple[list[Any], Feature]] = [
    ([1, 2], Feature("int64")),
    ([True, False], Feature("bool")),
    ([True, 2], Feature("int64")),
    ([0.5, 1], Feature("float32")),
    (["a", "b"], Feature("str")),
    ([b"a", bytearray(b"b")], Feature("bytes")),
    ([np.int8(1), np.int8(2)], Feature("int8")),
    ([np.int8(1), np.int32(2)], Feature("int32")),
    ([np.int32(1), 2], Feature("int32")),
    ([np.float16(1), np.float16(2)], Feature("float16")),
    ([BFLOAT16.type(1), np.float16(2)], Feature("float32")),
    ([[1, 2], [3, 4]], Feature("int64", (2,))),
    ([[1, 2], [3]], Feature("int64", (None,))),
    ([[], [0.5]], Feature("float32", (None,))),
    ([(1, 2), [3, 4]], Feature("int64", (2,))),
    ([1, None], Feature("int64", optional=True)),
    ([np.zeros((2, 3), np.float32)] * 2, Feature("float32", (2, 3))),
    ([np.zeros(3, np.uint8)] * 2, Feature("uint8", (3,))),
    ([np.zeros((2, 3), np.uint8)] * 2, Feature("uint8", (2, 3), encoding="raw")),
    ([np.zeros((n, 3), np.uint8) for n in (1, 2)], Feature("uint8", (None, 3), encoding="raw")),
    ([np.zeros((n, n, 3), np.uint8) for n in (1, 2)], Feature("uint8", (None, None, 3), encoding="tensor")),
    ([np.array(["a", "b"]), np.array(["c", "d"], object)], Feature("str", (2,))),
]


@pytest.mark.parametrize(("values", "feature"), ROWS)
def test_rows_have_these_features(tmp_path: Path, values: list[Any], feature: Feature):
    manifest = ps.write(tmp_path / "x", [{"x": value} for value in values])
    assert manifest.schema == ps.Schema({"x": feature})
    # A list as a column is a list of rows.
    assert ps.write(tmp_path / "y", {"x": values}).schema == manifest.schema
    assert (tmp_path / "y-00000-of-00001.tfrecord").read_bytes() == (
        tmp_path / "x-00000-of-00001.tfrecord"
    ).read_bytes()


COLUMNS: list[tuple[Any, Feature]] = [
    (np.zeros((2, 4), np.int16), Feature("int16", (4,))),
    (np.zeros((2, 4, 4, 3), np.uint8), Feature("uint8", (4, 4, 3), encoding="raw")),
    (np.zeros(2, np.bool_), Feature("bool")),
    (np.zeros(2, BFLOAT16), Feature("bfloat16")),
    (np.array(["a", "b"]), Feature("str")),
    (np.array([b"a", b"b"]), Feature("bytes")),
    (np.array(["a", None], object), Feature("str", optional=True)),
    (ps.Ragged(np.arange(3), [0, 1, 3]), Feature("int64", (None,))),
    (ps.Ragged(np.zeros((3, 2), np.uint8), [0, 1, 3]), Feature("uint8", (None, 2), encoding="raw")),
    (ps.Nullable(np.zeros((2, 3), np.float32), [True, False]), Feature("float32", (3,), optional=True)),
    (pa.array([[1], [2, 3]], pa.list_(pa.int32())), Feature("int32", (None,))),
    (pa.chunked_array([["a"], [None]]), Feature("str", optional=True)),
]


@pytest.mark.parametrize(("column", "feature"), COLUMNS)
def test_columns_have_these_features(tmp_path: Path, column: Any, feature: Feature):
    assert ps.write(tmp_path / "x", {"x": column}).schema == ps.Schema({"x": feature})


def test_nested_lists_are_stored_with_their_row_lengths(tmp_path: Path):
    rows = [{"x": [[1, 2], [], [3]]}, {"x": []}]
    manifest = ps.write(tmp_path / "x", rows)
    assert manifest.schema == ps.Schema({"x": Feature("int64", (None, None))})
    records = list(ps.RecordReader(tmp_path / manifest.shards[0].name))
    assert b"x/ragged_row_lengths_0" in records[0]
    assert ps.Decoder(manifest.schema).decode(records).to_list() == rows


REFUSED: list[tuple[list[Any], str]] = [
    (
        [np.zeros(2)],
        'float64 does not fit a FloatList: with the option float64, choose "float32" (rounded) or "raw" (unchanged)',
    ),
    ([np.float64(1)], "float64 does not fit a FloatList"),
    ([np.float32(1), np.float64(1)], "float64 does not fit a FloatList"),
    ([np.uint64(1)], 'Feature("uint64", (), encoding="raw")'),
    ([np.complex64(1)], "complex64 cannot be stored"),
    ([np.datetime64("2026-01-01")], "found datetime64[D] in rows: write a column of days"),
    ([datetime.date(2026, 1, 1)], "found date, which no feature can hold: convert it to numbers, str or bytes"),
    ([{"a": 1}], "found dict, which no feature can hold: make each of its items a feature"),
    ([np.ma.array([1, 2], mask=[False, True])], "a masked array would lose its mask"),
    ([[], []], "None or empty"),
    ([None], "None or empty"),
    ([1, "a"], "found int64 and str, which one feature cannot hold: row 1"),
    (["a", b"a"], "found str and bytes"),
    ([np.int32(1), 0.5], "found int32 and float32"),
    ([[1], 2], "found values of 0 and of 1 dimensions"),
    ([[1, None]], "found None inside a list"),
    ([{1, 2}], "found set"),
]


@pytest.mark.parametrize(("values", "message"), REFUSED)
def test_what_has_no_default_raises(tmp_path: Path, values: list[Any], message: str):
    with pytest.raises(ps.SchemaError) as caught:
        ps.write(tmp_path / "x", [{"x": value} for value in values])
    assert message in str(caught.value)
    assert 'feature "x"' in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("choice", "feature"), [("float32", Feature("float32", (2,))), ("raw", Feature("float64", (2,), encoding="raw"))]
)
def test_float64_is_stored_as_chosen(tmp_path: Path, choice: Any, feature: Feature):
    array = np.array([[0.1, 0.2], [0.3, 0.4]])
    for name, data in (("columns", {"x": array}), ("rows", [{"x": row} for row in array])):
        manifest = ps.write(tmp_path / name, data, float64=choice)
        assert manifest.schema == ps.Schema({"x": feature})
        records = list(ps.RecordReader(tmp_path / manifest.shards[0].name))
        found = ps.Decoder(manifest.schema).decode(records)["x"]
        np.testing.assert_array_equal(found, array.astype(feature.dtype))


def test_a_later_row_that_does_not_fit_says_where_the_schema_is_from(tmp_path: Path):
    rows = ({"x": i if i < 700 else None} for i in range(1000))
    with pytest.raises(
        ps.SchemaError, match=r"row 700, feature \"x\" \(the schema was inferred from the first 256 rows"
    ):
        ps.write(tmp_path / "x", rows)
