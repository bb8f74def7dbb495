"""Columns of equal length, by name."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from string_columns import strings

from penstock.columns import Batch, Nullable, Ragged, collate


def batch() -> Batch:
    return Batch(
        {
            "label": np.array([3, 1, 2], np.int32),
            "image": np.arange(12, dtype=np.uint8).reshape(3, 2, 2),
            "words": Ragged(strings(["a", "b", "c"]), [0, 2, 2, 3]),
            "score": Nullable(np.array([0.5, 0, 1], np.float32), [True, False, True]),
        }
    )


def test_has_its_columns_by_name() -> None:
    names = ["label", "image", "words", "score"]
    assert batch().column_names == list(batch().keys()) == [name for name, _ in batch().items()] == names
    assert list(dict(batch())) == list(dict(**batch())) == names
    assert batch()._ipython_key_completions_() == names
    assert "label" in batch()
    assert "other" not in batch()
    assert batch()["image"].shape == (3, 2, 2)


def test_its_length_is_the_number_of_rows() -> None:
    assert len(batch()) == batch().num_rows == 3
    assert len(Batch({}, num_rows=2)) == 2
    assert not batch().take([])


def test_a_loop_over_a_batch_raises_and_names_what_to_loop_over() -> None:
    with pytest.raises(TypeError, match=r"use batch.column_names .* batch.rows\(\)"):
        iter(batch())  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="not iterable"):
        list(batch())  # type: ignore[call-overload]


def test_rows_are_the_values_of_each_row() -> None:
    rows = list(batch().rows())
    for index, row in enumerate(rows):
        expected = batch().row(index)
        assert row.keys() == expected.keys()
        assert all(np.array_equal(value, expected[name]) for name, value in row.items())
    assert len(rows) == 3
    assert list(Batch({}, num_rows=2).rows()) == [{}, {}]


def test_a_long_repr_has_a_line_for_each_column() -> None:
    assert repr(Batch({"x": np.zeros((1, 2), np.float32)})) == "Batch(1 row; x: float32[1, 2])"
    lines = repr(batch()).splitlines()
    assert lines[:2] == ["Batch(3 rows;", "  label: int32[3],"]
    assert len(lines) == 5


def test_a_row_has_python_and_numpy_values() -> None:
    row = batch().row(1)
    assert row["label"] == 1
    assert row["image"].tolist() == [[4, 5], [6, 7]]
    assert row["words"] == []
    assert row["score"] is None
    assert batch().row(-1)["words"] == ["c"]
    with pytest.raises(IndexError):
        batch().row(3)


def test_to_list_is_a_dict_for_each_row() -> None:
    assert batch().to_list()[0] == {"label": 3, "image": [[0, 1], [2, 3]], "words": ["a", "b"], "score": 0.5}
    assert Batch({}, num_rows=2).to_list() == [{}, {}]


@pytest.mark.parametrize("rows", [slice(1, None), slice(None, None, -1), [2, 0], np.array([True, False, True])])
def test_take_picks_rows_of_every_column(rows: object) -> None:
    expected = np.array(batch().to_list(), object)[rows].tolist()  # type: ignore[index]
    assert batch().take(rows).to_list() == expected  # type: ignore[arg-type]
    assert Batch({}, num_rows=3).take(rows).num_rows == len(expected)  # type: ignore[arg-type]


def test_columns_are_added_and_replaced_in_a_new_batch() -> None:
    old = batch()
    new = old | {"label": [7, 8, 9], "weight": np.ones(3)}
    assert new["label"].tolist() == [7, 8, 9]
    assert "weight" not in old


def test_columns_of_different_lengths_raise() -> None:
    with pytest.raises(ValueError, match="expected 3 rows, but 'b' has 2"):
        Batch({"a": np.arange(3), "b": np.arange(2)})
    with pytest.raises(TypeError, match="at least one dimension"):
        Batch({"a": np.float32(1)})


def test_copies_and_pickles() -> None:
    assert batch().copy().to_list() == batch().to_list()
    assert pickle.loads(pickle.dumps(batch())).to_list() == batch().to_list()


def test_a_wrong_name_raises_with_the_right_ones():
    batch = Batch({"label": np.arange(3), "score": np.arange(3)})
    with pytest.raises(KeyError, match="no column 'lable': the batch has label, score"):
        batch["lable"]
    with pytest.raises(TypeError, match=r"batch.row\(index\)"):
        batch[0]
    with pytest.raises(TypeError, match=r"batch.take\(rows\)"):
        batch[:2]


def test_a_column_that_is_no_array_names_what_makes_one():
    batch = collate([{"tokens": [1], "name": "a"}, {"tokens": [1, 2], "name": "b"}])
    with pytest.raises(
        TypeError, match=r"a Ragged does not convert to an array implicitly: use to_padded\(\) or to_list\(\)"
    ):
        np.asarray(batch["tokens"])
    with pytest.raises(TypeError, match=r"to_numpy\(\) or to_list\(\)"):
        np.asarray(batch["name"])
