"""cast(): values are the same numbers in another dtype, or an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flows import Source, check_resumes, elements_of, plain, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.dataset.transforms.cast import CastStage

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@relaxed
@given(sources())
def test_values_of_flows_get_their_dtype(source: Source):
    stage = CastStage.of(None, {"n": "float32", "tokens": "int32", "name": "bytes"})
    expected = [{**row, "name": row["name"].encode()} for row in source.rows()]
    assert elements_of(stage, source) == expected
    check_resumes(stage, source)


@given(st.sampled_from([*INTEGERS, "bool", "float32", "float64"]), st.sampled_from([*INTEGERS, "bool"]), st.data())
def test_integers_are_the_same_or_an_error(before: str, after: str, data: st.DataObject):
    edges = [0, 1, 2, -1, 127, 128, -128, 255, 256, 2**31, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, -(2**63)]
    fits = np.dtype(before).kind == "f" or before == "bool" or None
    low, high = (np.iinfo(before).min, np.iinfo(before).max) if fits is None else (-(2**24), 2**24)
    low, high = (0, 1) if before == "bool" else (low, high)
    number = data.draw(st.integers(low, high) | st.sampled_from([edge for edge in edges if low <= edge <= high]))
    held = (0, 1) if after == "bool" else (np.iinfo(after).min, np.iinfo(after).max)
    column = ps.Batch({"x": np.array([number], before)})
    stage = CastStage.of(None, {"x": after})
    if held[0] <= number <= held[1]:
        found = stage.change(column)["x"]
        assert found.dtype == after
        assert int(found[0]) == number
    else:
        with pytest.raises(ps.SchemaError, match="does not hold"):
            stage.change(column)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (np.array([0.5]), "int32"),
        (np.array([np.nan]), "int64"),
        (np.array([np.inf]), "uint8"),
        (np.array([2.0**63]), "int64"),
        (np.array([2**53 + 1]), "float64"),
        (np.array([2**24 + 1]), "float32"),
        (np.array([2**63 - 1]), "float32"),
        (np.array([2**64 - 1], np.uint64), "float64"),
        (np.array([2**63 + 1], np.uint64), "float64"),
        (np.array([1e300]), "float32"),
        (np.array([1e5], np.float32), "float16"),
        (ps.Ragged.from_lengths(np.array([1, 300]), [1, 1]), "uint8"),
        (ps.BytesColumn.from_values([b"ok", b"\xff"], text=False), "str"),
    ],
)
def test_values_that_do_not_fit_are_errors(values: Any, dtype: str):
    with pytest.raises(ps.SchemaError, match=r"cast\(\): 'x' has"):
        CastStage.of(None, {"x": dtype}).change(ps.Batch({"x": values}))


@pytest.mark.parametrize(
    ("dtype", "value"), [("uint64", 2**63), ("uint64", 2**64 - 2**11), ("int64", -(2**63)), ("uint64", 2**53)]
)
def test_large_integers_that_a_float_holds_are_cast(dtype: str, value: int):
    found = CastStage.of(None, {"x": "float64"}).change(ps.Batch({"x": np.array([value], dtype)}))["x"]
    assert [int(number) for number in found] == [value]


def test_floats_are_rounded_to_floats():
    values = np.array([0.1, np.nan, np.inf, -0.0])
    found = CastStage.of(None, {"x": "float32"}).change(ps.Batch({"x": values}))["x"]
    assert found.tobytes() == values.astype(np.float32).tobytes()


def test_absent_and_nested_values_stay_where_they_are():
    nested = ps.Ragged.from_lengths(ps.Ragged.from_lengths(np.arange(5), [2, 0, 3]), [2, 1])
    absent = ps.Nullable(np.array([2**40, 3]), np.array([False, True]))
    garbage = ps.Nullable(ps.BytesColumn.from_values([b"\xff", b"b"], text=False), np.array([False, True]))
    tensors = np.empty(2, object)
    tensors[:] = [np.ones((1, 2)), np.zeros((2, 1))]
    batch = ps.Batch({"nested": nested, "absent": absent, "garbage": garbage, "tensors": tensors})
    dtypes = {"nested": "float32", "absent": "uint8", "garbage": "str", "tensors": "int8"}
    found = CastStage.of(None, dtypes).change(batch)
    assert plain(found) == [
        {"nested": [[0.0, 1.0], []], "absent": None, "garbage": None, "tensors": [[1, 1]]},
        {"nested": [[2.0, 3.0, 4.0]], "absent": 3, "garbage": "b", "tensors": [[0], [0]]},
    ]
    assert found["absent"].values.dtype == "uint8"
    assert found["tensors"][0].dtype == "int8"


def test_the_new_dtype_is_written_and_the_rest_is_copied(tmp_path: Path):
    schema = ps.Schema(
        {
            "id": int,
            "size": ps.Feature("float32", default=2.0),
            "image": ps.Feature("uint8", (2, 2, 3), encoding="png"),
            "half": ps.Feature("float16", (2,), encoding="raw", optional=True),
            "name": bytes,
        }
    )
    rows = [
        {"id": 1, "image": np.ones((2, 2, 3), np.uint8), "half": None, "name": b"a"},
        {"id": 2, "size": 3.0, "image": np.zeros((2, 2, 3), np.uint8), "half": np.ones(2, np.float16), "name": b"b"},
    ]
    ps.write(tmp_path / "old", rows, schema=schema)
    old = ps.Dataset(tmp_path / "old")
    ds = old.cast({"id": np.uint8, "size": float, "half": "float64", "name": str}).cast({"size": "float64"})
    pictures = ps.Schema({"image": bytes})
    for name, data in (("rows", ds), ("batches", ds.batch(1)), ("mapped", ds.map(lambda row: row))):
        ps.write(tmp_path / name, data)
        new = ps.Dataset(tmp_path / name)
        if name != "mapped":
            assert new.schema == ds.schema
        assert new.schema["id"] == ps.Feature("uint8")
        assert new.schema["name"] == ps.Feature("str")
        assert new.schema["half"] == ps.Feature("float64", (2,), encoding="raw", optional=True)
        found = new.batch(2)[0]
        assert found["size"].tolist() == [2.0, 3.0]
        assert [row["image"] for row in ps.Dataset(new.files, schema=pictures)] == [
            row["image"] for row in ps.Dataset(old.files, schema=pictures)
        ]


def test_what_cannot_be_cast_is_an_error_when_it_is_asked_for(tmp_path: Path):
    schema = ps.Schema({"id": int, "image": ps.Feature("uint8", (2, 2, 3), encoding="png"), "name": str})
    ps.write(tmp_path / "a", [{"id": 1, "image": np.ones((2, 2, 3), np.uint8), "name": "a"}], schema=schema)
    ds = ps.Dataset(tmp_path / "a")
    for dtypes, message in [
        ({"image": "float32"}, "is an image"),
        ({"name": int}, r"text to numbers with map\(\)"),
        ({"id": str}, r"numbers to text with map\(\)"),
        ({"id": "int33"}, "unknown dtype"),
    ]:
        with pytest.raises(ps.SchemaError, match=message):
            ds.cast(dtypes)
    with pytest.raises(ps.SchemaError, match="no column 'di'"):
        list(ds.cast({"di": int}))
    with pytest.raises(TypeError, match="mapping of names to dtypes"):
        ds.cast("int32")
    assert repr(ds.cast({"id": "int8"})).endswith("cast({'id': 'int8'})>")
