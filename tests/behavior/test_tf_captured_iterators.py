"""Iterators in functions of datasets: each element takes the next value, traced or not, and the end is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock.tf as tf

Dataset = tf.data.Dataset


def numbers(*bounds: int, tracing: bool = True) -> Any:
    options = tf.data.Options()
    options.tracing = tracing
    return Dataset.range(*bounds).with_options(options)


def values(ds: Any) -> list[Any]:
    return [np.asarray(element).tolist() for element in ds]


@pytest.mark.parametrize("tracing", [True, False])
@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (lambda ds, it: ds.map(lambda x: x * 100 + next(it)), [10, 111, 212]),
        (lambda ds, it: ds.map(lambda x: x * 100 + it.get_next()).batch(2), [[10, 111], [212]]),
        (lambda ds, it: ds.map(lambda x: tf.stack([next(it), next(it)])), [[10, 11], [12, 13], [14, 15]]),
        (lambda ds, it: ds.map(lambda x: next(it) if x > 0 else x), [0, 10, 11]),
        (lambda ds, it: ds.map(lambda x: int(x) + next(it)), [10, 12, 14]),
        (lambda ds, it: ds.filter(lambda x: next(it) != 11), [0, 2]),
        (lambda ds, it: ds.flat_map(lambda x: Dataset.from_tensors(next(it))), [10, 11, 12]),
        (lambda ds, it: ds.scan(np.int64(0), lambda s, x: (s, next(it))), [10, 11, 12]),
        (lambda ds, it: ds.map(lambda x: next(it)).repeat(2), [10, 11, 12, 13, 14, 15]),
    ],
)
def test_each_element_takes_the_next_value(step: Callable[..., Any], expected: list[Any], tracing: bool):
    assert values(step(numbers(3, tracing=tracing), iter(Dataset.range(10, 20)))) == expected


@pytest.mark.parametrize("tracing", [True, False])
def test_another_iteration_reads_on_and_nothing_is_read_ahead(tracing: bool):
    it = iter(Dataset.range(10, 20))
    ds = numbers(3, tracing=tracing).map(lambda x: next(it))
    assert (int(next(it)), values(ds), values(ds), int(next(it))) == (10, [11, 12, 13], [14, 15, 16], 17)


@pytest.mark.parametrize("tracing", [True, False])
def test_an_iterator_at_its_end_is_an_error_and_not_the_end(tracing: bool):
    it = iter(Dataset.range(2))
    elements = iter(numbers(3, tracing=tracing).map(lambda x: next(it)))
    assert [int(next(elements)), int(next(elements))] == [0, 1]
    with pytest.raises(tf.errors.InvalidArgumentError):
        next(elements)
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        it.get_next()


def test_structures_and_specs_are_known_without_reading():
    it = iter(Dataset.range(4).map(lambda x: {"a": x, "b": (tf.range(x), tf.cast(x, tf.float32))}))
    ds = Dataset.range(3).map(lambda x: next(it))
    assert "traced" in ds.explain()
    assert ds.element_spec["b"][0].shape.as_list() == [None]
    assert ds.element_spec["b"][1].dtype == tf.float32
    assert [int(element["a"]) for element in ds] == [0, 1, 2]


def test_iterators_of_unknown_elements_arrays_and_loops_are_read_for_each_element():
    it = iter(Dataset.range(10, 20).map(lambda x: np.int64(int(x))))
    assert values(Dataset.range(3).map(lambda x: x + next(it))) == [10, 12, 14]
    arrays = Dataset.range(10, 20).as_numpy_iterator()
    assert values(Dataset.range(3).map(lambda x: x + next(arrays))) == [10, 12, 14]
    rest = iter(Dataset.range(4))
    assert values(Dataset.range(2).map(lambda x: x + sum(int(value) for value in rest))) == [6, 1]
