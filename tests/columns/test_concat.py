"""Batches joined: the rows of all, one after another, in columns of the same kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.columns import Batch, BytesColumn, Nullable, Ragged, collate, concat

strings = st.text(max_size=20)


def batch_of(rows: list[tuple[int, list[int], str, bytes | None]]) -> Batch:
    numbers = [number for number, *_ in rows]
    lists = [values for _, values, *_ in rows]
    flat = np.array([value for values in lists for value in values], np.int32)
    nested = Ragged(Ragged.from_lengths(flat, [len(values) for values in lists]), np.arange(len(rows) + 1))
    return Batch(
        {
            "dense": np.array(numbers, np.int16).reshape(-1, 1).repeat(2, axis=1),
            "ragged": Ragged.from_lengths(flat, [len(values) for values in lists]),
            "nested": nested,
            "text": collate([text for *_, text, _ in rows])
            if rows
            else BytesColumn(np.empty((0, 4), np.int32), [], text=True),
            "maybe": Nullable(np.array(numbers, np.float32), np.array([value is not None for *_, value in rows], bool)),
        }
    )


rows = st.lists(
    st.tuples(st.integers(0, 99), st.lists(st.integers(0, 9), max_size=3), strings, st.none() | st.just(b"")),
    max_size=5,
)


@given(st.lists(rows, min_size=1, max_size=4), st.data())
def test_the_rows_of_all_batches_follow_one_another(parts: list[Any], data: st.DataObject):
    batches = [batch_of(part) for part in parts]
    # Parts of a batch share its memory, and begin in its middle.
    batches = [batch.take(slice(data.draw(st.integers(0, batch.num_rows)), None)) for batch in batches]
    joined = concat(batches)
    assert joined.to_list() == [row for batch in batches for row in batch.to_list()]
    assert joined["dense"].dtype == np.int16


def test_parts_of_one_column_share_its_buffers():
    column = collate(["a string of some length", "another one of these strings"])
    batch = Batch({"text": column})
    joined = concat([batch.take(slice(1, 2)), batch.take(slice(0, 1)), batch])
    assert len(joined["text"].buffers) == 1
    assert [text[0] for text in joined["text"]] == ["a", "a", "a", "a"]
    assert joined["text"].to_list()[:2] == column.to_list()[::-1]


def test_a_column_that_is_nullable_in_one_batch_is_in_all():
    joined = concat([Batch({"n": np.array([1])}), Batch({"n": Nullable(np.array([2]), [False])})])
    assert joined["n"].to_list() == [1, None]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.zeros(1, np.int32), np.zeros(1, np.int64)),
        (np.zeros((1, 2)), np.zeros((1, 3))),
        (np.zeros(1), Ragged([0.0], [0, 1])),
        (Ragged(np.zeros(1, np.int8), [0, 1]), Ragged(np.zeros(1, np.int16), [0, 1])),
        (collate(["a"]), collate([b"a"])),
    ],
)
def test_columns_that_differ_raise_by_name(first: Any, second: Any):
    with pytest.raises(ValueError, match=r"column 'x': cannot concatenate"):
        concat([Batch({"x": first}), Batch({"x": second})])


def test_names_that_differ_raise():
    with pytest.raises(ValueError, match="different columns"):
        concat([Batch({"a": np.zeros(1)}), Batch({"b": np.zeros(1)})])


def test_views_that_point_nowhere_raise():
    views = np.array([[20, 0, 7, 0]], np.int32)
    wrong = BytesColumn(views, [np.zeros(20, np.uint8)])
    with pytest.raises(ValueError, match="a buffer that does not exist"):
        concat([Batch({"x": wrong}), Batch({"x": wrong})])
