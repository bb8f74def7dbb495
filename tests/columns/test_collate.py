"""Rows of a user's making become columns of the type that the values have."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from penstock.columns import Batch, BytesColumn, Nullable, Ragged, collate


def column(*values: Any) -> Any:
    return collate([{"x": value} for value in values])["x"]


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float32", "bool", ml_dtypes.bfloat16])
def test_dtypes_stay(dtype: Any):
    scalars = column(np.zeros(1, dtype)[0], np.ones(1, dtype)[0])
    arrays = column(np.zeros((2, 3), dtype), np.ones((2, 3), dtype))
    unequal = column(np.zeros((2, 3), dtype), np.ones((1, 3), dtype))
    assert scalars.dtype == arrays.dtype == unequal.values.dtype == np.dtype(dtype)
    assert scalars.shape == (2,)
    assert arrays.shape == (2, 2, 3)
    assert unequal.lengths.tolist() == [2, 1]
    assert unequal.values.shape == (3, 3)


def test_python_numbers_are_what_numpy_makes_of_them():
    assert column(1, 2).dtype == np.int64
    assert column(1.5, 2).dtype == np.float64
    assert column(True, False).dtype == np.bool_
    assert column([1, 2], [3, 4]).tolist() == [[1, 2], [3, 4]]
    assert column([1, 2], [3]).to_list() == [[1, 2], [3]]


def test_strings_and_lists_of_them():
    assert column("a", "bc" * 20).to_list() == ["a", "bc" * 20]
    assert column("a").text
    assert not column(b"a").text
    assert column(["a", "b"], ["c", "d"]).shape == (2,)
    assert column(["a"], []).to_list() == [["a"], []]
    assert column(np.array(["a", "b"]), np.array(["c"])).to_list() == [["a", "b"], ["c"]]
    assert isinstance(column(np.array([b"a"], object)), BytesColumn)


def test_levels_of_lists_become_levels_of_ragged():
    values = [[[1], [2, 3]], [], [[4, 5, 6]]]
    assert column(*values).to_list() == values


def test_rows_that_are_all_empty_are_ragged():
    assert column([], []).to_list() == [[], []]


def test_none_is_absent():
    assert column(None, 3, None).to_list() == [None, 3, None]
    assert column(np.arange(2), None, np.arange(1)).to_list() == [[0, 1], None, [0]]
    assert column("a", None).to_list() == ["a", None]
    assert isinstance(column(None, None), Nullable)


def test_rows_of_a_batch_make_the_batch_again():
    batch = Batch(
        {
            "n": np.arange(3, dtype=np.uint8),
            "image": np.arange(12, dtype=np.float32).reshape(3, 2, 2),
            "tokens": Ragged.from_lengths(np.arange(3, dtype=np.int16), [2, 0, 1]),
            "name": collate(["a", "b", "a long name, longer than a view"]),
            "maybe": Nullable(np.zeros(3, np.float16), [True, False, True]),
        }
    )
    again = collate([batch.row(index) for index in range(3)])
    assert repr(again) == repr(batch)
    assert again.to_list() == batch.to_list()


def test_dicts_in_dicts_are_joined_names():
    assert collate([{"a": {"b": 1, "c": {"d": 2}}}]).to_list() == [{"a/b": 1, "a/c/d": 2}]
    with pytest.raises(ValueError, match="the same name"):
        collate([{"a": {"b": 1}, "a/b": 2}])


def test_rows_that_are_no_dicts():
    numbers, named = collate([(1, {"x": 2}), (3, {"x": 4})])
    assert numbers.tolist() == [1, 3]
    assert named.to_list() == [{"x": 2}, {"x": 4}]
    assert collate([np.arange(2), np.arange(2)]).shape == (2, 2)


def test_batches_are_rows_of_larger_ones():
    inner = Batch({"n": np.arange(2), "name": collate(["a", "b"])})
    outer = collate([inner, inner])
    assert outer.to_list() == [{"n": [0, 1], "name": ["a", "b"]}] * 2


@pytest.mark.parametrize(
    ("values", "cause"),
    [
        ([np.int32(1), np.int64(1)], "dtypes differ: int32, int64"),
        ([np.zeros((1, 2)), np.zeros((1, 3))], "more than the first dimension"),
        ([1, "a"], "cannot be combined to an array of numbers"),
        (["a", 1], "str in some rows only"),
        ([[1], 1], "sequences in some rows only"),
        ([2**63, -1], "cannot be combined to an array of numbers"),
        ([2**70], "cannot be combined to an array of numbers"),
        ([1, [1, 2]], "numbers in some rows and sequences in others"),
        ([object()], "are not supported"),
    ],
)
def test_what_makes_no_column_raises_by_name(values: list[Any], cause: str):
    with pytest.raises(ValueError, match=f"column 'x': .*{cause}"):
        column(*values)


def test_rows_of_different_names_raise():
    with pytest.raises(ValueError, match=r"different names: \['a'\] and \['b'\]"):
        collate([{"a": 1}, {"b": 1}])
    with pytest.raises(ValueError, match="different names"):
        collate([{"a": 1}, 3])
    with pytest.raises(ValueError, match="must be tuples of one length"):
        collate([(1, 2), (1,)])
    with pytest.raises(ValueError, match="no rows"):
        collate([])
