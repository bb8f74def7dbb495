"""How ``map`` runs a function, and what ``explain`` says of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

import penstock.tf as tf

Dataset = tf.data.Dataset


def test_a_partial_is_explained_by_the_name_of_its_function():
    def add(x: Any, much: int) -> Any:
        return x + much

    assert "map(add): traced" in Dataset.range(2).map(functools.partial(add, much=2)).explain()


@pytest.mark.parametrize(
    ("function", "how"),
    [
        (lambda x: x + 1, "traced, for many elements in one call"),
        (lambda x: x if x > 1 else -x, "traced, for many elements in one call, 2 paths through its conditions"),
        (
            lambda x: x + tf.random.uniform([], 0, 9, tf.int64),
            "traced, for many elements in one call; tf.random.uniform for each, in order",
        ),
        (
            lambda x: int(tf.abs(x)),
            "for each element, because of int() of a tensor; before that, for many in one call: tf.abs",
        ),
        (lambda x: int(x), "for each element, because of int() of a tensor"),
    ],
)
def test_explain_names_how_a_function_is_run(function: Callable[..., Any], how: str):
    assert Dataset.range(3).map(function).explain().splitlines()[1] == f"map(<lambda>): {how}"


def test_explain_names_why_a_function_is_not_traced():
    options = tf.data.Options()
    options.tracing = False
    called = "map(abs): for each element, because of"
    assert f"{called} the option tracing=False" in Dataset.range(3).with_options(options).map(tf.abs).explain()
    assert f"{called} elements that are already computed" in Dataset.from_tensors(1).map(tf.abs).explain()
    windows = Dataset.range(3).window(2).map(lambda window: window.cardinality())
    assert "because of elements whose structure is not known in advance" in windows.explain()
