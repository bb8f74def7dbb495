"""Computing many rows at once: its errors are those of a row, and its bugs cost no element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import pytest

import penstock.tf as tf
from penstock.tf.registry import OPERATIONS

Dataset = tf.data.Dataset


def magnitudes(ds: Any) -> Any:
    return ds.map(lambda x: tf.abs(x))


PIPELINES: list[Callable[[Any], Any]] = [
    magnitudes,
    lambda ds: magnitudes(ds).batch(3),
    lambda ds: ds.map(lambda x: tf.py_function(int, [tf.abs(x)], tf.int64)),
    lambda ds: ds.map(lambda x: int(tf.abs(x))),
]


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> NoReturn:
        raise KeyError("a bug")

    monkeypatch.setitem(OPERATIONS, "abs", replace(OPERATIONS["abs"], batch=fail))


@pytest.mark.usefixtures("faulty")
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_bug_in_a_batch_rule_warns_and_costs_no_element(pipeline: Callable[[Any], Any]):
    ds = pipeline(Dataset.range(-4, 5))
    with pytest.warns(RuntimeWarning, match="KeyError: 'a bug'.* bug in penstock.tf"):
        found = list(ds)
    flat = [int(value) for element in found for value in (element if element.ndim else [element])]
    assert flat == [4, 3, 2, 1, 0, 1, 2, 3, 4]


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_an_error_of_a_row_does_not_warn(pipeline: Callable[[Any], Any]):
    ds = pipeline(Dataset.range(-4, 5).map(lambda x: 12 // x)).ignore_errors()
    assert len(list(ds)) > 1  # a warning would be an error


def test_only_requested_elements_are_computed():
    made = []

    def generate() -> Any:
        for number in range(100):
            made.append(number)
            yield number

    ds = Dataset.from_generator(generate, output_signature=tf.TensorSpec([], tf.int64))
    assert [int(x) for x in ds.map(lambda x: x + 1).take(3)] == [1, 2, 3]
    assert len(made) == 3
