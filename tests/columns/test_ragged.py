"""Rows of unequal length."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from string_columns import strings

from penstock.columns import Nullable, Ragged

ROWS = [[1, 2], [], [3], [4, 5, 6], []]


def ragged() -> Ragged:
    return Ragged.from_lengths(np.arange(1, 7, dtype=np.int32), [2, 0, 1, 3, 0])


def nested() -> Ragged:
    return Ragged(ragged(), [0, 2, 2, 5])


def test_gives_its_rows() -> None:
    column = ragged()
    assert len(column) == 5
    assert column.to_list() == ROWS
    assert [row.tolist() for row in column] == ROWS
    assert column[3].tolist() == [4, 5, 6]
    assert column[-1].tolist() == []
    assert column.lengths.tolist() == [2, 0, 1, 3, 0]


def test_rows_and_slices_share_the_values() -> None:
    column = ragged()
    assert np.shares_memory(column[0], column.values)
    assert column[2:4].values is column.values
    assert column[2:4].to_list() == ROWS[2:4]
    assert column[4:1].to_list() == []


def test_gathers_rows_in_any_order() -> None:
    assert ragged()[::-1].to_list() == ROWS[::-1]
    assert ragged()[[3, 3, 0]].to_list() == [ROWS[3], ROWS[3], ROWS[0]]
    assert nested()[[2, 0]].to_list() == [[[3], [4, 5, 6], []], [[1, 2], []]]


def test_nests() -> None:
    column = nested()
    assert column.to_list() == [[[1, 2], []], [], [[3], [4, 5, 6], []]]
    assert column[2].to_list() == [[3], [4, 5, 6], []]
    assert column[2:].to_list() == [[[3], [4, 5, 6], []]]


def test_holds_text_and_values_with_a_shape() -> None:
    words = Ragged(strings(["a", "a longer piece of text", "b"]), [0, 2, 2, 3])
    assert words.to_list() == [["a", "a longer piece of text"], [], ["b"]]
    boxes = Ragged(np.arange(12.0).reshape(3, 4), [0, 1, 3])
    assert boxes[1].shape == (2, 4)
    assert boxes.to_padded().shape == (2, 2, 4)


def test_pads_to_the_longest_row() -> None:
    padded = ragged().to_padded()
    assert padded.dtype == np.int32
    assert padded.tolist() == [[1, 2, 0], [0, 0, 0], [3, 0, 0], [4, 5, 6], [0, 0, 0]]
    assert ragged()[:3].to_padded(-1).tolist() == [[1, 2], [-1, -1], [3, -1]]


def test_pads_and_cuts_to_a_length() -> None:
    assert ragged().to_padded(length=2).tolist() == [[1, 2], [0, 0], [3, 0], [4, 5], [0, 0]]
    assert ragged()[2:].to_padded(length=4).tolist() == [[3, 0, 0, 0], [4, 5, 6, 0], [0, 0, 0, 0]]
    assert ragged().to_padded(length=0).shape == (5, 0)


def test_pads_all_levels() -> None:
    column = nested()
    assert column.to_padded().tolist() == [
        [[1, 2, 0], [0, 0, 0], [0, 0, 0]],
        [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
        [[3, 0, 0], [4, 5, 6], [0, 0, 0]],
    ]
    assert column.to_padded(length=(1, 2)).tolist() == [[[1, 2]], [[0, 0]], [[3, 0]]]
    assert column.to_padded(length=(None, 1)).shape == (3, 3, 1)


def test_pads_text_with_empty_text() -> None:
    column = Ragged(strings(["a", "b", "c"]), [0, 1, 3])
    assert column.to_padded().tolist() == [["a", ""], ["b", "c"]]
    assert column.to_padded("?").tolist() == [["a", "?"], ["b", "c"]]


def test_pads_absent_values_as_well() -> None:
    column = Ragged(Nullable(np.array([1, 2, 3]), [True, False, True]), [0, 2, 3])
    assert column.to_padded(-1).tolist() == [[1, -1], [3, -1]]


def test_a_column_of_no_rows() -> None:
    column = Ragged(np.empty((0, 2), np.float32), [0])
    assert column.to_list() == []
    assert column.to_padded().shape == (0, 0, 2)
    assert column.copy().to_list() == []


@given(st.lists(st.lists(st.lists(st.integers(0, 99)))))
def test_nested_lists_round_trip(rows: list[list[list[int]]]) -> None:
    inner = [values for row in rows for values in row]
    flat = np.array([value for values in inner for value in values], np.int64)
    column = Ragged.from_lengths(Ragged.from_lengths(flat, [len(v) for v in inner]), [len(row) for row in rows])
    assert column.to_list() == rows
    assert column[1:].copy().to_list() == rows[1:]
    assert column[::-1].to_list() == rows[::-1]


def test_copy_detaches_and_keeps_the_rows_alone() -> None:
    part = ragged()[2:4]
    own = part.copy()
    assert own.to_list() == part.to_list()
    assert len(own.values) == 4
    assert not np.shares_memory(own.values, part.values)
    assert pickle.loads(pickle.dumps(part)).to_list() == part.to_list()


@pytest.mark.parametrize("offsets", [[0, 7], [-1, 2], [0, 3, 2], [5, 4], [2**62, 2**62]])
def test_offsets_outside_the_values_raise(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="offsets must not decrease"):
        Ragged(np.arange(6), offsets)


@pytest.mark.parametrize("offsets", [[], [[0, 1]], [0.0, 1.0], ["0"]])
def test_offsets_that_are_none_raise(offsets: list[object]) -> None:
    with pytest.raises(TypeError, match="offsets must be integers"):
        Ragged(np.arange(6), offsets)  # type: ignore[arg-type]


def test_offsets_cannot_be_changed_from_outside() -> None:
    with pytest.raises(ValueError, match="read-only"):
        ragged().offsets[0] = 3


def test_numpy_does_not_convert_it_by_itself() -> None:
    with pytest.raises(TypeError, match="Ragged"):
        np.asarray(ragged())
