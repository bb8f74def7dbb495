"""sort(): the order of NumPy and of Python, stable, with absent values last."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.dataset.transforms.sort import SortArrangement

values = st.integers(-3, 3) | st.sampled_from([-(2**63), 2**63 - 1])
texts = st.text(max_size=3) | st.sampled_from(["a" * 20, "a" * 20 + "b", "\U0010ffff", "\uffff"])


def order(batch: ps.Batch, *columns: str, descending: bool = False) -> list[int]:
    return SortArrangement(columns, descending).positions(batch)[0].tolist()


@given(st.lists(st.tuples(values, texts)), st.booleans())
def test_rows_are_in_the_order_of_tuples(rows: list[tuple[int, str]], descending: bool):
    column = ps.BytesColumn.from_values([text for _, text in rows], text=True)
    batch = ps.Batch({"a": np.array([value for value, _ in rows], np.int64), "b": column})
    expected = sorted(range(len(rows)), key=lambda i: rows[i], reverse=descending)
    if descending:  # reverse=True keeps equal keys in their order, too
        expected = sorted(range(len(rows)), key=lambda i: rows[i], reverse=True)
    assert order(batch, "a", "b", descending=descending) == expected


@given(st.lists(st.none() | st.floats(width=32)), st.booleans())
def test_absent_values_come_last(column: list[Any], descending: bool):
    def key(value: float | None) -> tuple[bool, bool, float]:
        if value is None:
            return not descending, False, 0.0
        return descending and False, math.isnan(value), 0.0 if math.isnan(value) else value

    valid = np.array([value is not None for value in column], np.bool_)
    numbers = np.array([0 if value is None else value for value in column], np.float32)
    present = sorted((i for i, ok in enumerate(valid) if ok), key=lambda i: key(column[i]), reverse=descending)
    absent = [i for i, ok in enumerate(valid) if not ok]
    assert order(ps.Batch({"x": ps.Nullable(numbers, valid)}), "x", descending=descending) == present + absent


def test_only_the_key_is_read_for_the_order(tmp_path: Path):
    schema = ps.Schema({"id": int, "image": ps.Feature("uint8", (2, 2, 3), encoding="png")})
    stored = ps.Encoder(ps.Schema({"id": int, "image": bytes})).encode({"id": [3, 1, 2], "image": [b"no image"] * 3})
    with ps.RecordWriter(tmp_path / "a.tfrecord") as writer:
        for record in stored:
            writer.write(record)
    ds = ps.Dataset(tmp_path / "a.tfrecord", schema=schema).sort("id")
    assert [row["id"] for row in ds.drop_columns(["image"])] == [1, 2, 3]
    assert ds.records([0, 1, 2]) == [stored[1], stored[2], stored[0]]


def test_keys_that_do_not_compare_are_errors(tmp_path: Path):
    ps.write(tmp_path / "a", {"id": [1, 2], "pair": [[1, 2], [3, 4]]})
    ds = ps.Dataset(tmp_path / "a")
    with pytest.raises(TypeError, match="rows of 'pair' hold several"):
        list(ds.sort("pair"))
    with pytest.raises(ps.SchemaError, match="no feature 'di'"):
        ds.sort("di")
    with pytest.raises(ValueError, match="needs a column"):
        ds.sort([])
    with pytest.raises(ValueError, match="needs a dataset that ends"):
        list(ds.repeat().sort("id"))
    assert repr(ds.sort(["id"], descending=True)).endswith("sort('id', descending=True)>")
    assert [int(row["id"]) for row in ds.repeat(2).sort("id")] == [1, 1, 2, 2]
