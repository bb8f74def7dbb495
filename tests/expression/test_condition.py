"""What a condition says about columns before it is evaluated."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.expression import RowCondition

SCHEMA = ps.Schema(
    {
        "label": int,
        "name": str,
        "ok": bool,
        "tokens": ps.Feature("int64", (None,)),
        "image": ps.Feature("uint8", (None, None, 3), encoding="jpeg", optional=True),
        **{f"column{number}": int for number in range(500)},
    }
)


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("ok and lable == 3", "no column 'lable': did you mean 'label'", 7),
        ("label/name > 3", "a division has spaces around it", 0),
        ("label == 'three'", "a number cannot be compared with text: text is written in quotes", 6),
        ("name in ('a', 3)", "text cannot be compared with a number", 14),
        ("ok == 1", "true or false cannot be compared with a number", 3),
        ("label", "expected a condition, found a number", 0),
        ("tokens == 3", r"use len\(\)", 0),
        ("image == 'x'", "only 'is null' is possible", 0),
        ("name + 1 > 2", "expected a number, found text", 0),
        ("len(label) > 1", r"len\(\) takes a text or a list", 4),
        ("contains(name, name)", "looks for a text in quotes", 15),
        ("label == 1 is null", "expected 'and'", 11),
        ("label + 1 is null", "a column is null", 10),
    ],
)
def test_a_condition_that_does_not_fit_the_columns(text: str, message: str, caret: int):
    with pytest.raises(ps.ExpressionError, match=message) as caught:
        RowCondition(text).check(SCHEMA)
    assert caught.value.position == caret


def test_an_unknown_column_does_not_list_hundreds():
    with pytest.raises(ps.ExpressionError) as caught:
        RowCondition("zzz == 1").check(SCHEMA)
    assert len(str(caught.value)) < 200
