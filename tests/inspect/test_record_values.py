"""The values of records that differ."""

from __future__ import annotations

import numpy as np
from schema_examples import example, sequence_example

import penstock as ps
from penstock.inspect.record_values import RecordValues, changed_values

STORED = RecordValues(None)


def test_only_features_that_differ_are_returned():
    found = changed_values(STORED, example(a=1, b="x", c=1), STORED, example(a=1, b="y", d=2.5))
    assert found == {"b": (b"x", b"y"), "c": (1, None), "d": (None, 2.5)}


def test_features_have_the_names_and_types_of_the_schema():
    schema = ps.Schema({"matrix": ps.Feature("uint8", (2, 2), encoding="raw", key="m")})
    values = RecordValues(schema)
    ((name, (a, b)),) = changed_values(values, example(m=b"\1\2\3\4"), values, example(m=b"\1\2\3\5")).items()
    assert (name, a.tolist(), b.tolist()) == ("matrix", [[1, 2], [3, 4]], [[1, 2], [3, 5]])


def test_a_record_that_does_not_fit_the_schema_is_shown_as_stored():
    values = RecordValues(ps.Schema({"x": int}))
    a, b = changed_values(values, example(x=1), values, example(x=[1, 2]))["x"]
    assert (a, b.tolist()) == (1, [1, 2])


def test_steps_of_a_sequence():
    found = changed_values(STORED, sequence_example({}, {"s": [[1], []]}), STORED, sequence_example({}, {"s": [[2]]}))
    before, after = found["s"]
    assert (before[0], before[1].tolist(), after) == (1, [], [2])


def test_a_record_that_is_no_example_is_its_bytes():
    assert changed_values(STORED, b"text", STORED, b"other") == {"": (b"text", b"other")}
    assert np.array_equal(list(changed_values(STORED, b"text", STORED, example(x=1))), ["", "x"])
