"""Each row of a batch belongs to one key, NaN and null too, and different keys have datasets of different names."""

from __future__ import annotations

import struct
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engines.parts import check_same_key, name_of_key, rows_by_key

NAN = float("nan")
OTHER_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000001))[0]


@pytest.mark.parametrize(
    "keys",
    [
        pa.array([NAN, 1.0, None, NAN, -0.0, 0.0, OTHER_NAN, 1.0]),
        pa.array([NAN, 1.0, None, NAN], pa.float32()),
        pa.chunked_array([["a", None], ["None", "a"], []], pa.string()),
        pa.array(["a", None, "b", "a"]).dictionary_encode(),
        pa.array([True, None, False, True]),
        pa.nulls(3),
        pa.chunked_array([], pa.int64()),
    ],
    ids=["double", "float", "chunks", "dictionary", "bool", "null", "empty"],
)
@pytest.mark.parametrize("kind", [pa.table, pa.record_batch])
def test_each_row_belongs_to_one_key(keys: Any, kind: Any):
    if kind is pa.record_batch and isinstance(keys, pa.ChunkedArray):
        keys = keys.combine_chunks()
    batch = kind({"key": keys, "row": pa.array(range(len(keys)), pa.int64())})
    names: dict[int, str] = {}
    for key, rows in rows_by_key(batch, batch.column("key")):
        for row in rows.column("row").to_pylist():
            assert row not in names
            names[row] = name_of_key(key)
    assert [names[row] for row in range(len(keys))] == [name_of_key(key) for key in keys.to_pylist()]


def test_null_and_texts_like_it_have_different_names():
    keys = [None, "None", "", "null", "__HIVE_DEFAULT_PARTITION__", "%5F_HIVE_DEFAULT_PARTITION__", "a/b", "a%2Fb"]
    names = [name_of_key(key) for key in keys]
    assert len(set(names)) == len(keys)
    assert names[0] == "__HIVE_DEFAULT_PARTITION__"
    assert [unquote(name) for name in names[1:]] == keys[1:]


@given(st.text(st.characters(codec="utf-8")))
def test_names_can_be_turned_back_into_texts(key: str):
    name = name_of_key(key)
    assert unquote(name) == key
    assert name != name_of_key(None)
    assert not set("/\\.*?[") & set(name)


def test_keys_that_share_a_name_are_told_apart():
    for key, other in [(1, "1"), (None, "x"), (b"a", "b'a'"), (NAN, "nan"), (True, "True")]:
        with pytest.raises(ValueError, match="would share a dataset"):
            check_same_key(key, other)
    for key, other in [(1, 1), (NAN, NAN), (NAN, OTHER_NAN), (None, None), ("a", "a")]:
        check_same_key(key, other)
