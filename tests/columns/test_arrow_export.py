"""Columns in Arrow: the same memory, the right nulls, and buffers that live exactly as long as they are needed."""

from __future__ import annotations

import ctypes
import gc
import tracemalloc
import weakref
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from string_columns import strings

from penstock.columns import Batch, BytesColumn, Nullable, Ragged
from penstock.columns.column import AnyColumn

DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
LONG = "a text that lies in a buffer"


def to_arrow(column: AnyColumn) -> pa.Array:
    """Export a column of any kind as the only one of a batch."""
    table = pa.table(Batch({"column": column}))
    table.validate(full=True)
    return table["column"].chunk(0)


def address(array: np.ndarray) -> int:
    return int(array.ctypes.data)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dense_numbers_are_the_same_memory(dtype: str) -> None:
    array = np.arange(6).astype(dtype)
    arrow = to_arrow(array)
    assert arrow.type == pa.from_numpy_dtype(array.dtype)
    assert arrow.buffers()[1].address == address(array)
    assert arrow.to_pylist() == array.tolist()


def test_dense_arrays_are_fixed_size_lists_over_the_same_memory() -> None:
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    arrow = to_arrow(array)
    assert arrow.type.list_size == 3
    assert arrow.type.value_type.list_size == 4
    assert arrow.values.values.buffers()[1].address == address(array)
    assert arrow.to_pylist() == array.tolist()


def test_bool_is_packed() -> None:
    array = np.arange(22).reshape(11, 2) % 3 == 0
    assert to_arrow(array).to_pylist() == array.tolist()


@pytest.mark.parametrize(
    "array",
    [
        np.arange(10)[::2],
        np.arange(12).reshape(3, 4).T,
        np.arange(3).astype(">i4"),
        np.frombuffer(bytes(13), np.int32, 3, offset=1),
    ],
    ids=["strided", "transposed", "big-endian", "unaligned"],
)
def test_arrays_of_another_layout_keep_their_values(array: np.ndarray) -> None:
    assert to_arrow(array).to_pylist() == array.tolist()


def test_a_dtype_without_an_arrow_type_raises() -> None:
    with pytest.raises(TypeError, match="complex64"):
        Batch({"x": np.zeros(2, np.complex64)}).__arrow_c_stream__()


def test_ragged_shares_offsets_and_values() -> None:
    column = Ragged(np.arange(6, dtype=np.int32), [0, 2, 2, 6])
    arrow = pa.array(column)
    assert arrow.type.value_type == pa.int32()
    assert pa.types.is_large_list(arrow.type)
    assert arrow.buffers()[1].address == address(column.offsets)
    assert arrow.values.buffers()[1].address == address(column.values)
    assert arrow.to_pylist() == column.to_list()


def test_strings_share_views_and_buffers() -> None:
    column = strings(["", "short", LONG, "ünï", LONG * 2])
    arrow = pa.array(column)
    arrow.validate(full=True)
    assert arrow.type == pa.string_view()
    _, views, *data = arrow.buffers()
    assert views.address == address(column.views)
    assert [buffer.address for buffer in data] == [address(buffer) for buffer in column.buffers]
    assert arrow.to_pylist() == column.to_list()
    assert pa.array(strings([b"\xff", b"\xff" * 20])).type == pa.binary_view()


def test_a_shape_of_strings_and_text_in_nested_rows() -> None:
    shaped = strings(["a", LONG, "c", "d"], shape=(2,))
    assert to_arrow(shaped).to_pylist() == shaped.to_list()
    nested = Ragged(Ragged(strings(["a", LONG, "c"]), [0, 2, 2, 3]), [0, 1, 3])
    assert to_arrow(nested).to_pylist() == [[["a", LONG]], [[], ["c"]]]


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 70])
def test_the_validity_bitmap_marks_absent_rows(rows: int) -> None:
    valid = np.arange(rows) % 3 != 1
    for values in (
        np.arange(rows),
        np.ones((rows, 2)),
        strings([LONG] * rows),
        Ragged(np.arange(rows), range(rows + 1)),
    ):
        column = Nullable(values, valid)
        arrow = to_arrow(column)
        assert arrow.null_count == column.null_count
        assert arrow.is_valid().to_pylist() == valid.tolist()
        assert arrow.to_pylist() == column.to_list()


def columns() -> dict[str, AnyColumn]:
    return {
        "dense": np.arange(10).reshape(5, 2),
        "bool": np.arange(5) > 2,
        "text": strings(["", "a", LONG, "b", LONG]),
        "ragged": Ragged(np.arange(9), [0, 2, 2, 5, 8, 9]),
        "nullable": Nullable(np.arange(5), np.arange(5) != 3),
        "deep": Nullable(Ragged(strings([LONG] * 9), [0, 2, 2, 5, 8, 9]), np.arange(5) != 1),
    }


@pytest.mark.parametrize("name", columns())
@pytest.mark.parametrize("rows", [slice(1, 4), slice(3, None), slice(2, 2), slice(None, None, -2)], ids=str)
def test_slices_export_their_rows(name: str, rows: slice) -> None:
    column = columns()[name]
    expected = to_arrow(column).to_pylist()
    assert to_arrow(column[rows]).to_pylist() == expected[rows]


def test_a_slice_of_strings_is_still_the_same_memory() -> None:
    column = strings(["a", LONG, "b"])
    assert pa.array(column[1:]).buffers()[1].address == address(column.views) + 16


@pytest.mark.parametrize(
    "column",
    [
        np.empty(0, np.int8),
        np.empty((0, 3)),
        np.empty((3, 0)),
        strings([]),
        strings([], shape=(0,), rows=2),
        Ragged(np.empty(0), [0]),
        Ragged(strings([]), [0, 0]),
        Nullable(strings([]), np.empty(0, bool)),
    ],
    ids=repr,
)
def test_empty_columns(column: AnyColumn) -> None:
    arrow = to_arrow(column)
    assert len(arrow) == len(column)
    assert arrow.to_pylist() == (column.tolist() if isinstance(column, np.ndarray) else column.to_list())


def test_a_batch_is_a_table_and_a_record_batch() -> None:
    batch = Batch(columns())
    assert pa.table(batch).to_pylist() == batch.to_list()
    assert pa.record_batch(batch).to_pylist() == batch.to_list()
    assert pa.RecordBatchReader.from_stream(batch).read_all().to_pylist() == batch.to_list()
    assert pa.schema(batch).names == batch.column_names
    assert [field.nullable for field in pa.schema(batch)] == [False, False, False, False, True, True]
    assert pa.table(Batch({}, num_rows=3)).num_columns == 0


def test_text_that_is_not_utf8_is_not_handed_out() -> None:
    column = strings([b"bad \xff", b"\xff" * 20])
    text = BytesColumn(column.views, column.buffers, text=True)
    with pytest.raises(UnicodeDecodeError, match="value 0"):
        pa.array(text)


def test_the_arrow_array_outlives_the_column() -> None:
    arrow = pa.array(Ragged(strings([LONG] * 100), range(0, 101, 10)))
    gc.collect()
    assert arrow.to_pylist() == [[LONG] * 10] * 10


def test_memory_goes_when_the_last_arrow_array_goes() -> None:
    values = np.arange(1000)
    alive = weakref.ref(values)
    arrow = pa.table(Batch({"a": Ragged(values, [0, 10, 1000])}))
    part = arrow["a"].chunk(0).values.slice(5, 5)
    del values, arrow
    gc.collect()
    assert alive() is not None
    assert part.to_pylist() == [5, 6, 7, 8, 9]
    del part
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("method", ["__arrow_c_schema__", "__arrow_c_array__", "__arrow_c_stream__"])
def test_a_capsule_that_nobody_takes_releases_its_memory(method: str) -> None:
    values = np.arange(1000)
    alive = weakref.ref(values)
    capsule: Any = getattr(Batch({"a": values}), method)()
    del values, capsule
    gc.collect()
    assert alive() is None


class ArrowArray(ctypes.Structure):
    """The structure of the specification, to release one by hand as a consumer does."""


RELEASE = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))
ArrowArray._fields_ = [
    *[(name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")],
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.c_void_p),
    ("release", RELEASE),
    ("private_data", ctypes.c_void_p),
]


def pointer_of(capsule: object) -> Any:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype = ctypes.POINTER(ArrowArray)
    get.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, b"arrow_array")


def test_a_consumer_releases_once_and_the_capsule_does_not_again() -> None:
    values = np.arange(1000)
    alive = weakref.ref(values)
    _, capsule = Ragged(values, [0, 1000]).__arrow_c_array__()
    del values
    array = pointer_of(capsule)
    array.contents.release(array)
    gc.collect()
    assert alive() is None
    assert not array.contents.release
    del capsule


def test_a_child_that_was_moved_out_outlives_its_parent() -> None:
    values = np.arange(1000)
    alive = weakref.ref(values)
    _, capsule = Ragged(values, [0, 1000]).__arrow_c_array__()
    del values
    parent = pointer_of(capsule)
    child = ArrowArray()
    ctypes.memmove(ctypes.byref(child), parent.contents.children[0], ctypes.sizeof(ArrowArray))
    parent.contents.children[0].contents.release = RELEASE()
    parent.contents.release(parent)
    gc.collect()
    assert alive() is not None
    child.release(ctypes.byref(child))
    gc.collect()
    assert alive() is None


def test_many_exports_leak_nothing() -> None:
    batch = Batch(columns())
    pa.table(batch)
    tracemalloc.start()
    for _ in range(1000):
        pa.table(batch)
        batch.__arrow_c_array__()
    gc.collect()
    left, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert left < 50_000  # one leaked object for each export would be more
