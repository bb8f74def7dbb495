"""Rows that may be absent."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from string_columns import strings

from penstock.columns import Nullable, Ragged


def test_absent_rows_are_none() -> None:
    column = Nullable(np.array([1, 2, 3]), [True, False, True])
    assert column.to_list() == [1, None, 3]
    assert column[1] is None
    assert column[2] == 3
    assert column.null_count == 1
    assert list(column) == [1, None, 3]


def test_absent_is_not_empty() -> None:
    assert Nullable(strings(["", ""]), [True, False]).to_list() == ["", None]
    assert Nullable(Ragged(np.arange(0), [0, 0, 0]), [True, False]).to_list() == [[], None]


def test_slices_and_gathers() -> None:
    column = Nullable(np.array([1, 2, 3]), [True, False, True])
    assert column[1:].to_list() == [None, 3]
    assert column[[2, 1]].to_list() == [3, None]
    assert pickle.loads(pickle.dumps(column)).to_list() == [1, None, 3]


def test_what_lies_in_an_absent_row_is_not_decoded() -> None:
    column = strings(["fine", "fine"])
    views = column.views.copy()
    views[1, 1] = -1
    broken = type(column)(views, column.buffers, text=True)
    assert Nullable(broken, [True, False]).to_list() == ["fine", None]


def test_fill_puts_a_value_into_absent_rows_of_a_copy() -> None:
    values = np.array([[1, 1], [2, 2]])
    filled = Nullable(values, [False, True]).fill(7)
    assert filled.tolist() == [[7, 7], [2, 2]]
    assert values.tolist() == [[1, 1], [2, 2]]


@pytest.mark.parametrize("value", ["", "short", "too long to lie in a view"])
def test_fill_of_text(value: str) -> None:
    column = Nullable(strings(["a text that lies in a buffer", "b", "c"]), [True, False, False])
    assert column.fill(value).to_list() == ["a text that lies in a buffer", value, value]
    shaped = Nullable(strings(["a", "b", "c", "d"], shape=(2,)), [False, True])
    assert shaped.fill(value).to_list() == [[value, value], ["c", "d"]]


def test_fill_of_another_type_raises() -> None:
    with pytest.raises(TypeError, match="expected str, found bytes"):
        Nullable(strings(["a"]), [False]).fill(b"a")
    with pytest.raises(TypeError, match="only be filled with"):
        Nullable(Ragged(np.arange(1), [0, 1]), [False]).fill([1])


def test_fill_empties_ragged_rows() -> None:
    column = Nullable(Ragged(np.arange(5), [0, 2, 3, 5]), [True, False, True])
    assert column.fill([]).to_list() == [[0, 1], [], [3, 4]]


@pytest.mark.parametrize("valid", [[True], [1, 0], [[True, False]]])
def test_a_mask_that_does_not_fit_raises(valid: list[object]) -> None:
    with pytest.raises(TypeError, match=r"valid must be bool\[2\]"):
        Nullable(np.arange(2), valid)  # type: ignore[arg-type]
