"""Comparisons of columns, value by value, and the masks that they make."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from string_columns import stray_views, strings, view_of

import penstock as ps
from penstock.columns import Batch, BytesColumn, Nullable, Ragged, collate

COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
WORDS = ["cat", "", "ca", "cat\0", "cät", "dog", "a text that lies in a buffer", "a text that lies in another", "猫"]

compared = pytest.mark.parametrize("compare", COMPARISONS, ids=lambda compare: compare.__name__)
# Short alphabets, so that values are often equal, and often differ only after the part that lies in a view.
texts = st.text("aä\0", max_size=3) | st.text("ab", min_size=12, max_size=15) | st.text(max_size=20)
datas = st.binary(max_size=3) | texts.map(str.encode) | st.binary(max_size=20)


def column_of(values: list[Any], text: bool) -> BytesColumn:
    return strings(values) if values else BytesColumn(np.zeros((0, 4), np.int32), [], text=text)


@compared
@pytest.mark.parametrize("word", WORDS)
def test_text_compares_with_a_str_as_python_does(compare: Callable[..., Any], word: str) -> None:
    found = compare(strings(WORDS), word)
    assert found.dtype == np.bool_
    assert found.tolist() == [compare(value, word) for value in WORDS]
    encoded = [value.encode() for value in WORDS]
    assert compare(strings(encoded), word.encode()).tolist() == [compare(value, word.encode()) for value in encoded]


@compared
def test_a_scalar_or_an_array_may_stand_on_the_left(compare: Callable[..., Any]) -> None:
    expected = [compare("cat", value) for value in WORDS]
    assert compare("cat", strings(WORDS)).tolist() == expected
    assert compare(np.str_("cat"), strings(WORDS)).tolist() == expected
    assert compare(np.array(["cat"] * len(WORDS)), strings(WORDS)).tolist() == expected
    assert compare(np.array([1, 5]), Nullable(np.array([2, 5]), [True, True])).tolist() == [
        compare(1, 2),
        compare(5, 5),
    ]


@compared
def test_columns_compare_row_by_row(compare: Callable[..., Any]) -> None:
    others = WORDS[1:] + WORDS[:1]
    expected = [compare(*pair) for pair in zip(WORDS, others, strict=True)]
    for other in (strings(others), others, tuple(others), np.array(others, object)):
        assert compare(strings(WORDS), other).tolist() == expected
    assert (strings(WORDS) == strings(WORDS)).all()
    assert (strings(WORDS) == strings(WORDS).compact()).all()


@given(st.lists(st.tuples(texts, texts)) | st.lists(st.tuples(datas, datas)), st.data())
def test_comparisons_agree_with_python(pairs: list[tuple[Any, Any]], data: st.DataObject) -> None:
    text = not pairs or isinstance(pairs[0][0], str)
    left, right = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    valid = np.array(data.draw(st.lists(st.booleans(), min_size=len(left), max_size=len(left))), bool)
    scalar = data.draw(st.sampled_from(right) if right else st.just(""))
    wanted = data.draw(st.lists(st.sampled_from(left + right) if left else st.just("")))
    column, other = column_of(left, text), column_of(right, text)
    nullable = Nullable(column, valid)
    for compare in COMPARISONS:
        rows = [compare(a, b) for a, b in zip(left, right, strict=True)]
        assert compare(column, other).tolist() == rows
        assert compare(column, scalar).tolist() == [compare(a, scalar) for a in left]
        assert compare(nullable, other).tolist() == [here and row for here, row in zip(valid, rows, strict=True)]
        assert compare(column, Nullable(other, valid)).tolist() == compare(nullable, other).tolist()
    assert column.isin(wanted).tolist() == [a in wanted for a in left]
    mask = column == scalar
    assert column[mask].to_list() == [a for a in left if a == scalar]
    assert nullable[mask].to_list() == [a for a, row in zip(nullable.to_list(), mask, strict=True) if row]
    assert Batch({"x": column, "n": np.arange(len(left))})[mask]["n"].tolist() == np.flatnonzero(mask).tolist()


def test_rows_with_a_shape_compare_value_by_value() -> None:
    column = strings(["a", "b", "c", "a"], shape=(2,))
    assert (column == "a").tolist() == [[True, False], [False, True]]
    assert (column == [["a", "x"], ["c", "a"]]).tolist() == [[True, False], [True, True]]
    assert column.isin(["b", "c"]).tolist() == [[False, True], [True, False]]
    with pytest.raises(ValueError, match=r"rows of shape \(2,\) cannot be compared with rows of shape \(\)"):
        column == ["a", "b"]  # noqa: B015
    assert (strings([], shape=(0,), rows=3) == b"a").shape == (3, 0)


@compared
@pytest.mark.parametrize("other", [b"cat", 3, None, [b"a"], np.array([1]), [None], strings([b"a"]), np.float32(1)])
def test_text_compares_with_nothing_but_str(compare: Callable[..., Any], other: object) -> None:
    with pytest.raises(TypeError, match="a column of str"):
        compare(strings(["cat"]), other)


def test_bytes_compare_with_nothing_but_bytes() -> None:
    with pytest.raises(
        TypeError, match=r"expected bytes, found str; encode\(\) str to bytes, or read the feature as str"
    ):
        strings([b"cat"]) == "cat"  # noqa: B015
    with pytest.raises(TypeError, match="a column of bytes cannot be compared with one of str"):
        strings([b"cat"]) != strings(["cat"])  # noqa: B015


@pytest.mark.parametrize("other", [["a"], strings(["a"]), Nullable(strings(["a"]), [True]), np.array(["a", "b", "c"])])
def test_other_lengths_raise(other: object) -> None:
    for column in (strings(["a", "b"]), Nullable(strings(["a", "b"]), [True, False])):
        with pytest.raises(ValueError, match="lengths must be equal"):
            column == other  # noqa: B015


@compared
def test_absent_rows_compare_false(compare: Callable[..., Any]) -> None:
    numbers = Nullable(np.array([1, 2, 3, 2]), [True, False, True, True])
    expected = [value is not None and compare(value, 2) for value in numbers.to_list()]
    assert compare(numbers, 2).tolist() == expected
    assert compare(numbers, np.full(4, 2)).tolist() == compare(numbers, [2] * 4).tolist() == expected
    words = Nullable(strings(["a", "b", "c"]), [True, False, True])
    assert compare(words, "b").tolist() == [compare("a", "b"), False, compare("c", "b")]
    assert compare(words, Nullable(strings(["a", "b", "c"]), [True, True, False])).tolist() == [
        compare("a", "a"),
        False,
        False,
    ]


def test_what_lies_in_an_absent_row_is_not_compared() -> None:
    column = Nullable(
        BytesColumn(np.frombuffer(view_of(b"a") + stray_views()["no such buffer"], np.int32).reshape(-1, 4), []),
        [True, False],
    )
    assert (column == b"a").tolist() == [True, False]
    assert column.isin([b"a"]).tolist() == [True, False]


@pytest.mark.parametrize("other", ["cat", b"cat", None, ["a", "b"], strings(["a", "b"])])
def test_numbers_do_not_compare_with_strings(other: object) -> None:
    with pytest.raises(TypeError, match=r"numbers|a column of str"):
        Nullable(np.arange(2), [True, True]) == other  # noqa: B015


def test_shapes_are_not_broadcast() -> None:
    column = Nullable(np.ones((2, 2)), [True, False])
    assert (column == 1).tolist() == [[True, True], [False, False]]
    with pytest.raises(ValueError, match=r"rows of shape \(2,\)"):
        column == np.ones(2)  # noqa: B015


@compared
@pytest.mark.parametrize("other", [1, "a", None, [1, 2], np.arange(2)])
def test_ragged_rows_are_not_compared(compare: Callable[..., Any], other: object) -> None:
    ragged = Ragged(np.arange(3), [0, 1, 3])
    for column in (ragged, Nullable(ragged, [True, True])):
        for left, right in ((column, other), (column, column), (other, column)):
            with pytest.raises(TypeError, match=r"column\.values.*to_padded"):
                compare(left, right)
    with pytest.raises(TypeError, match=r"column\.values"):
        compare(strings(["a", "b"]), ragged)


def test_arrays_of_different_shapes_cannot_be_compared() -> None:
    rows = np.empty(2, object)
    rows[:] = [np.ones((1, 2)), np.ones((2, 1))]
    with pytest.raises(TypeError, match="different shapes"):
        Nullable(rows, [True, False]) == 1  # noqa: B015


def test_isin() -> None:
    column = strings(WORDS)
    assert column.isin({"cat", "猫", "a text that lies in a buffer"}).tolist() == [
        value in ("cat", "猫", "a text that lies in a buffer") for value in WORDS
    ]
    assert column.isin(value for value in WORDS).all()
    assert column.isin(strings(WORDS)).all()
    assert not column.isin([]).any()
    assert Nullable(column, np.zeros(len(WORDS), bool)).isin(WORDS).tolist() == [False] * len(WORDS)
    assert Nullable(np.arange(3), [True, False, True]).isin([1, 2]).tolist() == [False, False, True]


@pytest.mark.parametrize("values", ["cat", b"cat", 3])
def test_isin_takes_several_values(values: Any) -> None:
    for column in (strings(["c"]), Nullable(np.arange(1), [True])):
        with pytest.raises(TypeError, match=r"several values: write isin\(\["):
            column.isin(values)


def test_isin_takes_values_of_the_column_s_kind() -> None:
    with pytest.raises(TypeError, match="expected str, found bytes"):
        strings(["c"]).isin([b"c"])
    with pytest.raises(TypeError, match="a column of str cannot be compared with one of bytes"):
        strings(["c"]).isin(strings([b"c"]))
    with pytest.raises(TypeError, match="numbers"):
        Nullable(np.arange(1), [True]).isin(["c"])
    with pytest.raises(TypeError, match=r"column\.lengths"):
        Ragged(np.arange(3), [0, 1, 3]).isin([1])


def test_text_that_is_not_utf8_is_equal_to_no_text() -> None:
    column = BytesColumn(np.frombuffer(view_of(b"bad \xff"), np.int32).reshape(-1, 4), [], text=True)
    assert (column == "bad \ufffd").tolist() == [False]


@pytest.mark.parametrize("name", stray_views())
def test_a_view_outside_the_buffers_raises(name: str) -> None:
    column = BytesColumn(np.frombuffer(stray_views()[name], np.int32).reshape(-1, 4), [np.zeros(32, np.uint8)])
    for look in (lambda: column == b"a", lambda: column.isin([b"a"]), lambda: strings([b"a"]) < column):
        with pytest.raises(ValueError, match="view of value 0"):
            look()


def test_columns_are_not_hashable() -> None:
    for column in (strings(["a"]), Nullable(np.arange(1), [True]), Ragged(np.arange(1), [0, 1])):
        with pytest.raises(TypeError, match="unhashable"):
            hash(column)


def test_a_mask_picks_rows_of_a_batch() -> None:
    batch = collate([{"name": name, "n": n} for n, name in enumerate(["cat", "dog", "cat"])])
    assert isinstance(batch, Batch)
    assert batch[batch["name"] == "cat"].to_list() == [{"name": "cat", "n": 0}, {"name": "cat", "n": 2}]
    assert batch[(batch["name"] == "cat") & (batch["n"] > 0)].to_list() == [{"name": "cat", "n": 2}]
    assert batch[np.array([2, 0])]["n"].tolist() == [2, 0]
    assert batch[batch["name"] == "bird"].to_list() == []
    assert Batch({}, num_rows=3)[np.array([True, False, True])].num_rows == 2


@pytest.mark.parametrize("length", [0, 1, 4])
def test_a_mask_of_another_length_raises(length: int) -> None:
    mask = np.ones(length, bool)
    picks: list[Callable[[], object]] = [
        lambda: Batch({"n": np.arange(3)})[mask],
        lambda: Batch({}, num_rows=3).take(mask),
        lambda: strings(["a", "b", "c"])[mask],
        lambda: Ragged(np.arange(3), [0, 1, 2, 3])[mask],
    ]
    for pick in picks:
        with pytest.raises(IndexError, match=f"one value for each of the 3 rows, found {length}"):
            pick()


def test_decoded_columns_compare(tmp_path) -> None:
    rows = [{"label": label, "score": score} for label, score in zip(WORDS, [0.5, None, 1.5] * 3, strict=True)]
    schema = ps.Schema({"label": str, "score": ps.Feature("float32", optional=True)})
    batch = ps.Decoder(schema).decode(ps.Encoder(schema).encode(rows))
    assert batch[batch["label"] == "dog"].to_list() == [rows[5]]
    assert batch[batch["score"] < 1]["label"].to_list() == WORDS[::3]
