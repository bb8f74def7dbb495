"""Columns from Arrow data."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.columns import Batch, BytesColumn, Nullable, Ragged, batches_from_arrow, from_arrow
from penstock.errors import SchemaError

LONG = "a text that lies in a buffer"
WORDS = ["", "short", LONG, "ünï", "zwölf bytes", LONG * 3]
INTS = list(range(20, 26))
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]

ARRAYS = {
    **{name: pa.array(INTS, name) for name in INTEGERS},
    **{name: pa.array([float(i) for i in INTS], name) for name in ("float32", "float64")},
    "float16": pa.array(np.array(INTS, np.float16)),
    "bool": pa.array([True, False, False, True, True, False]),
    **{str(kind): pa.array(WORDS, kind) for kind in (pa.utf8(), pa.large_utf8(), pa.string_view())},
    **{
        str(kind): pa.array([word.encode() for word in WORDS], kind)
        for kind in (pa.binary(), pa.large_binary(), pa.binary_view())
    },
    "fixed_size_binary": pa.array([b"%05d" % i for i in INTS], pa.binary(5)),
    "dictionary": pa.array(["a", "b", "a", "b", "c", "c"]).dictionary_encode(),
    "list": pa.array([[1, 2], [], [3], [], [4, 5, 6], [7]]),
    "large_list": pa.array([[1, 2], [], [3], [], [4, 5, 6], [7]], pa.large_list(pa.int16())),
    "list of text": pa.array([["a", LONG], [], [LONG], [], ["b"], ["c"]]),
    "list of lists": pa.array([[[1], []], [], [[2, 3]], [], [[4]], [[]]]),
    "fixed_size_list": pa.array([[i, i + 1] for i in INTS], pa.list_(pa.float32(), 2)),
    "fixed lists of fixed lists": pa.array([[[i], [i + 1]] for i in INTS], pa.list_(pa.list_(pa.int8(), 1), 2)),
    "fixed lists of text": pa.array([[word, "b"] for word in WORDS], pa.list_(pa.utf8(), 2)),
    "fixed lists of lists": pa.array([[[i], []] for i in INTS], pa.list_(pa.list_(pa.int8()), 2)),
    "list of fixed lists": pa.array(
        [[[1, 2]], [], [[3, 4], [5, 6]], [], [], [[7, 8]]], pa.list_(pa.list_(pa.int8(), 2))
    ),
}


def with_nulls(array: pa.Array) -> pa.Array:
    values = array.to_pylist()
    return pa.array([values[0], None, *values[2:4], None, values[5]], array.type)


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("nulls", [False, True], ids=["whole", "nulls"])
@pytest.mark.parametrize("part", [slice(0, 6), slice(2, 5), slice(3, 3)], ids=["all", "slice", "empty"])
def test_values_nulls_and_slices_come_through(name: str, nulls: bool, part: slice) -> None:
    array = with_nulls(ARRAYS[name]) if nulls else ARRAYS[name]
    array = array[part]
    column = from_arrow(pa.table({"x": array}))["x"]
    assert isinstance(column, Nullable) == bool(array.null_count)
    assert (column.tolist() if isinstance(column, np.ndarray) else column.to_list()) == array.to_pylist()


def test_kinds_of_columns() -> None:
    batch = from_arrow(pa.table({name: ARRAYS[name] for name in ARRAYS}))
    assert batch["float16"].dtype == np.float16
    assert batch["bool"].dtype == np.bool_
    assert batch["fixed_size_list"].shape == (6, 2)
    assert batch["fixed lists of fixed lists"].shape == (6, 2, 1)
    assert isinstance(batch["list"], Ragged)
    assert batch["list of fixed lists"].values.shape == (4, 2)
    text = batch["fixed lists of text"]
    assert isinstance(text, BytesColumn)
    assert text.shape == (2,)
    assert text.text
    assert not batch["fixed_size_binary"].text


def test_memory_is_shared_where_the_layouts_agree() -> None:
    table = pa.table({name: ARRAYS[name] for name in ("int32", "large_string", "string_view", "large_list")})
    batch = from_arrow(table)
    buffers = {name: table[name].chunk(0).buffers() for name in table.column_names}
    assert batch["int32"].ctypes.data == buffers["int32"][1].address
    assert batch["large_string"].buffers[0].ctypes.data == buffers["large_string"][2].address
    assert batch["string_view"].views.ctypes.data == buffers["string_view"][1].address
    assert batch["large_list"].offsets.ctypes.data == buffers["large_list"][1].address


def test_nulls_inside_lists_stay_nulls() -> None:
    rows = [[1, None], [], None, [None]]
    assert from_arrow(pa.table({"x": pa.array(rows)}))["x"].to_list() == rows
    fixed = [[1, None], [2, 3], None]
    assert from_arrow(pa.table({"x": pa.array(fixed, pa.list_(pa.int32(), 2))}))["x"].to_list() == fixed


def test_rows_that_are_null_leave_the_others_an_array() -> None:
    for kind, row in ((pa.list_(pa.int32(), 2), [2, 3]), (pa.list_(pa.list_(pa.utf8(), 1), 2), [["a"], ["b"]])):
        column = from_arrow(pa.table({"x": pa.array([None, row, None, row], kind)}).slice(1))["x"]
        assert column.to_list() == [row, None, row]
        assert isinstance(column.values, np.ndarray | BytesColumn)  # and no column of lists of what may be absent


def table_in_chunks() -> pa.Table:
    return pa.concat_tables(
        [pa.table({"a": [1, 2], "s": ["x", LONG]}), pa.table({"a": [3], "s": [LONG]}), pa.table({"a": [4], "s": ["y"]})]
    )


def test_chunks_of_views_and_of_lists_of_them() -> None:
    kind = pa.list_(pa.string_view())
    chunks = [
        pa.table({"s": pa.array([word], pa.string_view()), "l": pa.array([[word, LONG]], kind)}) for word in WORDS
    ]
    table = pa.concat_tables(chunks)
    assert from_arrow(table).to_list() == table.to_pylist()


def test_chunks_become_one_batch_or_a_batch_each() -> None:
    table = table_in_chunks()
    assert from_arrow(table).to_list() == table.to_pylist()
    batches = list(batches_from_arrow(table))
    assert [batch.num_rows for batch in batches] == [2, 1, 1]
    assert [row for batch in batches for row in batch.to_list()] == table.to_pylist()


def test_a_table_without_chunks_or_columns() -> None:
    schema = pa.schema({"a": pa.int32(), "s": pa.utf8(), "l": pa.list_(pa.int8()), "b": pa.bool_()})
    batch = from_arrow(schema.empty_table())
    assert batch.num_rows == 0
    assert batch.to_list() == []
    assert from_arrow(pa.table(schema.empty_table(), schema=schema).select([])).to_list() == []


class OnlyArray:
    """Speaks ``__arrow_c_array__`` and nothing else."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self.batch.__arrow_c_array__(requested_schema)


def test_takes_whatever_speaks_arrow() -> None:
    table = table_in_chunks().combine_chunks()
    rows = table.to_pylist()
    assert from_arrow(table.to_reader()).to_list() == rows
    for source in (table.to_batches()[0], OnlyArray(table.to_batches()[0]), Batch({"a": from_arrow(table)["a"]})):
        expected = [{name: row[name] for name in from_arrow(source).column_names} for row in rows]
        assert from_arrow(source).to_list() == expected
        assert [row for batch in batches_from_arrow(source) for row in batch.to_list()] == expected


def test_a_type_without_a_column_names_the_column() -> None:
    table = pa.table({"a": pa.nulls(1, pa.month_day_nano_interval()), "b": [1], "c": pa.nulls(1, pa.duration("s"))})
    with pytest.raises(SchemaError, match=r"column 'a' of type .*interval.* cast it"):
        from_arrow(table)


def test_dates_and_structs_are_columns_of_what_is_stored() -> None:
    batch = from_arrow(pa.table({"when": [datetime.date(1970, 1, 3)], "s": [{"x": 1, "y": None}]}))
    assert batch.to_list() == [{"when": 2, "s": None, "s/x": 1, "s/y": None}]


def test_two_columns_of_one_name_raise() -> None:
    with pytest.raises(ValueError, match="need distinct names"):
        from_arrow(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]))


def test_what_is_no_table_raises() -> None:
    with pytest.raises((TypeError, ValueError)):
        from_arrow(7)


def test_dictionaries_of_views_are_decoded():
    array = pa.DictionaryArray.from_arrays(pa.array([1, None, 0]), pa.array(["a", "b"], pa.string_view()))
    assert from_arrow(pa.table({"x": array}))["x"].to_list() == ["b", None, "a"]
