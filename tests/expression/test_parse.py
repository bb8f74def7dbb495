"""The grammar of conditions: what is understood, and what the messages point at."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.expression import RowCondition
from penstock.expression.parse import parse


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("", "the condition is empty", 0),
        ("label = 3", "'=' is no operator: write '=='", 6),
        ("a == 1 && b == 2", "write 'and'", 7),
        ("(label == 3", r"ends where '\)' is missing", 11),
        ("name == 'abc", "this quote is not closed", 8),
        ("a $ b", r"unexpected character '\$'", 2),
        ("label == null", "null equals nothing: write 'is null'", 9),
        ("label != null", "write 'is not null'", 9),
        ("1 < x < 3", "comparisons are not chained", 6),
        ("label == 3 4", "expected 'and', 'or' or the end, found '4'", 11),
        ("size(x) > 3", "no function 'size': there are len, lower", 0),
        ("len(x, y) > 3", r"len\(\) takes 1 value, not 2", 0),
        ("x in ()", r"expected a value, found '\)'", 6),
        ("x in (1, y)", "a list holds numbers", 9),
        ("x == 99999999999999999999999", "an integer is less than", 5),
        (r"x == 'a\q'", "unknown escape", 7),
        ("x is 3", "expected 'null', found '3'", 5),
        ("not", "ends where a value is missing", 3),
    ],
)
def test_a_message_shows_what_is_wrong_and_where(text: str, message: str, caret: int):
    with pytest.raises(ps.ExpressionError, match=message) as caught:
        parse(text)
    assert caught.value.position == caret
    assert str(caught.value).splitlines()[-1] == "  " + " " * caret + "^"
    assert pickle.loads(pickle.dumps(caught.value)).position == caret


def test_names_have_dots_slashes_or_quotes():
    condition = RowCondition("image/height > 3 and `two words` == 1 and a.b < 2 and x / y > 2 and größe > 1")
    assert condition.names == ("image/height", "two words", "a.b", "x", "y", "größe")


def test_the_place_is_shown_in_a_long_condition():
    with pytest.raises(ps.ExpressionError) as caught:
        parse("label == 1 or " * 50 + "label = 2")
    _, shown, caret = str(caught.value).splitlines()
    assert shown[caret.index("^")] == "="


@pytest.mark.parametrize(
    "text", ["(" * 5000, "not " * 2000 + "x", "-" * 5000 + "1 > 0", "1+" * 4000 + "1 > 0", "x" * 20_000]
)
def test_text_of_a_stranger_does_not_exhaust_the_stack(text: str):
    try:
        parse(text)
    except ps.ExpressionError:
        pass


@given(st.text(alphabet="ab1.'\"`()[]<>=!&|+-*/% \\notandrisul,", max_size=60))
def test_any_text_is_a_condition_or_an_error(text: str):
    try:
        parse(text)
    except ps.ExpressionError as error:
        assert 0 <= error.position <= len(text)
