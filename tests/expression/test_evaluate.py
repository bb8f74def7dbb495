"""The rows that a condition matches."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.expression import RowCondition

ROWS = [
    {"label": 0, "score": 0.5, "name": "a", "tokens": [1], "ok": True},
    {"label": 1, "score": 1.0, "name": "Bb", "tokens": [], "ok": False},
    {"label": None, "score": 2.0, "name": None, "tokens": [], "ok": None},
    {"label": 3, "score": float("nan"), "name": "ä", "tokens": [2, 3], "ok": True},
]
BATCH = ps.Batch(
    {
        "label": ps.Nullable([0, 1, 77, 3], [True, True, False, True]),
        "score": np.array([0.5, 1, 2, np.nan], np.float32),
        "name": ps.Nullable(ps.BytesColumn.from_values(["a", "Bb", "?", "ä"], text=True), [True, True, False, True]),
        "tokens": ps.Ragged([1, 2, 3], [0, 1, 1, 1, 3]),
        "ok": ps.Nullable([True, False, True, True], [True, True, False, True]),
        "big": np.array([2**63, 1, 2, 3], np.uint64),
        "image/height": np.array([7, 8, 9, 10], np.uint8),
        "raw": ps.BytesColumn.from_values([b"a", b"\xff", b"b", b""], text=False),
    }
)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("label == 3", [3]),
        ("label != 3", [0, 1]),
        ("not (label == 3)", [0, 1]),
        ("label == 3 or label is null", [2, 3]),
        ("label is not null", [0, 1, 3]),
        ("label in (1, 3)", [1, 3]),
        ("label not in [1, 3]", [0]),
        ("score > 0.5", [1, 2]),
        ("score == score", [0, 1, 2]),
        ("3 > label", [0, 1]),
        ("ok", [0, 3]),
        ("not ok", [1]),
        ("ok == false", [1]),
        ("ok or score > 1", [0, 2, 3]),
        ("ok and score > 1", []),
        ("label > 5 and ok", []),
        ("name == 'a'", [0]),
        ('"b" < name', [3]),
        ("lower(name) == 'bb'", [1]),
        ("len(name) == 1", [0, 3]),
        ("starts_with(name, 'B') or ends_with(name, 'a')", [0, 1]),
        ("contains(raw, 'a') or raw == 'b'", [0, 2]),
        ("len(tokens) > 0", [0, 3]),
        ("label * 2 + 1 >= 3", [1, 3]),
        ("label % 2 == 1", [1, 3]),
        ("6 / label == 2", [3]),
        ("-label < 0", [1, 3]),
        ("raw == name or raw in ('b', 'c')", [0, 2]),
        ("big > 5", [0]),
        ("big == 9223372036854775808", [0]),
        ("image/height == 300 or image/height * image/height == 64", [1]),
        ("image/height == -1", []),
        ("true", [0, 1, 2, 3]),
    ],
)
def test_the_rows_that_match(text: str, rows: list[int]):
    assert np.flatnonzero(RowCondition(text).matches(BATCH)).tolist() == rows


def test_a_number_that_does_not_fit_is_an_error():
    with pytest.raises(ps.ExpressionError, match="does not fit 64 bits"):
        RowCondition("x * x > 0").matches({"x": np.array([2**62])})


def test_columns_without_rows():
    assert RowCondition("x > 1 and name == 'a'").matches(BATCH.take([]) | {"x": np.zeros(0)}).tolist() == []


_NUMBERS = st.one_of(st.none(), st.integers(-3, 3))
_SIGNS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@st.composite
def _conditions(draw: st.DrawFn, depth: int = 3):
    """Return a condition as text, and a function from a row to True, False or None."""
    kind = draw(
        st.sampled_from(["compare", "null", "in", "text", "not", "and", "or"] if depth else ["compare", "text"])
    )
    if kind == "compare":
        sign, number, name = draw(st.sampled_from(list(_SIGNS))), draw(st.integers(-3, 3)), draw(st.sampled_from("xy"))
        return f"{name} {sign} {number}", lambda row: None if row[name] is None else _SIGNS[sign](row[name], number)
    if kind == "text":
        sign, text = draw(st.sampled_from(list(_SIGNS))), draw(st.text("ab", max_size=2))
        return f"t {sign} '{text}'", lambda row: None if row["t"] is None else _SIGNS[sign](row["t"], text)
    if kind == "null":
        return "x is null", lambda row: row["x"] is None
    if kind == "in":
        values = draw(st.lists(st.integers(-3, 3), min_size=1, max_size=3))
        return f"y in ({', '.join(map(str, values))})", lambda row: None if row["y"] is None else row["y"] in values
    one, test = draw(_conditions(depth - 1))
    if kind == "not":
        return f"not ({one})", lambda row: None if test(row) is None else not test(row)
    two, other = draw(_conditions(depth - 1))

    def both(row):
        found, decisive = {test(row), other(row)}, kind == "or"
        return decisive if decisive in found else None if None in found else not decisive

    return f"({one}) {kind} ({two})", both


@given(
    _conditions(),
    st.lists(st.fixed_dictionaries({"x": _NUMBERS, "y": _NUMBERS, "t": st.none() | st.text("ab", max_size=2)})),
)
def test_conditions_follow_a_model_in_plain_python(condition, rows):
    text, model = condition
    columns = {
        name: ps.Nullable(
            np.array([row[name] or 0 for row in rows], np.int64),
            np.array([row[name] is not None for row in rows], bool),
        )
        for name in "xy"
    }
    texts = ps.BytesColumn.from_values([row["t"] or "" for row in rows], text=True)
    columns["t"] = ps.Nullable(texts, np.array([row["t"] is not None for row in rows], bool))
    assert RowCondition(text).matches(columns).tolist() == [model(row) is True for row in rows]
