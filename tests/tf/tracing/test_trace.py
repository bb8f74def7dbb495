"""Conditions on tensors are traced: rows take their own branch, and results are those of the function."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import penstock.tf as tf
from penstock.tf.tracing.recording import INPUT, Untraceable
from penstock.tf.tracing.trace import Trace

Dataset = tf.data.Dataset


def if_else(x: Any) -> Any:
    return tf.cast(x, tf.float32) if x > 3 else tf.cast(-x, tf.float32)


def one_side(x: Any) -> Any:
    image = tf.fill([2, 3], x)
    if x % 2 == 0:
        x = -x
    return {"image": image, "x": x}


def many_paths(x: Any) -> Any:
    kind = "even" if x % 2 == 0 else "odd"
    if x > 2 and not (x > 6 and x < 8):
        return x * 10, kind, tf.constant(1.5)
    elif x < 1 or x == 7:
        return x, "edge", tf.constant(2.5)
    return x + 100, kind, tf.constant(3.5)


def the_same_condition_twice(x: Any) -> Any:
    large = x > 4
    low = tf.zeros([], tf.int64) if large else x
    return (low, x) if large else (low, -x)


def by_cond(x: Any) -> Any:
    return tf.cond(x % 3 == 0, lambda: x, lambda: tf.cond(x > 5, lambda: x * 2, lambda: -x))


def other_shapes(x: Any) -> Any:
    return tf.range(x) if x > 5 else tf.zeros([2, 2], tf.int64)


def sparse_on_one_side(x: Any) -> Any:
    found = tf.RaggedTensor.from_row_lengths(tf.range(3), [1, 2])
    return found if x > 5 else tf.ragged.constant([[7], [8, 9]], dtype=tf.int32)


def condition_on_a_number(x: Any) -> Any:
    return x if x else x - 1


def a_value_that_is_used_after_a_condition(x: Any) -> Any:
    y = x * 2
    y = y + 1 if x > 4 else y - 1
    return tf.stack([x, y]) * 3


FUNCTIONS = [
    if_else,
    one_side,
    many_paths,
    the_same_condition_twice,
    by_cond,
    other_shapes,
    sparse_on_one_side,
    condition_on_a_number,
    a_value_that_is_used_after_a_condition,
]


def as_called(ds: Any) -> Any:
    options = tf.data.Options()
    options.tracing = False
    return ds.with_options(options)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_traced_and_called_functions_return_the_same(function: Callable[..., Any]):
    ds = Dataset.range(10)
    traced = ds.map(function)
    assert "paths through its conditions" in traced.explain()
    assert repr(list(traced)) == repr(list(as_called(ds).map(function)))


def test_all_rows_may_take_the_same_branch():
    small, large = (list(Dataset.range(*bounds).map(one_side).batch(4)) for bounds in ((0, 1), (1, 2)))
    assert small[0]["x"].numpy().tolist() == [0]
    assert large[0]["x"].numpy().tolist() == [1]


def test_an_error_is_raised_only_for_rows_that_take_its_branch():
    def inverse(x: Any) -> Any:
        if x > 2:
            return 60 // (x - 5)
        return x

    ds = Dataset.range(10).map(inverse)
    assert "traced" in ds.explain()
    elements = iter(ds)
    assert [int(next(elements)) for _ in range(5)] == [0, 1, 2, -30, -60]
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
        next(elements)
    assert [int(rest) for rest in elements] == [60, 30, 20, 15]
    assert next(iter(ds.batch(5))).numpy().tolist() == [0, 1, 2, -30, -60]


def test_an_exception_of_the_function_is_raised_only_for_its_rows():
    def checked(x: Any) -> Any:
        if x == 3:
            raise ValueError("three")
        return x * 2

    ds = Dataset.range(6).map(checked)
    assert "for each element where it raises" in ds.explain()
    elements = iter(ds)
    assert [int(next(elements)) for _ in range(3)] == [0, 2, 4]
    with pytest.raises(ValueError, match="three"):
        next(elements)
    assert [int(rest) for rest in elements] == [8, 10]
    assert [int(x) for x in ds.ignore_errors()] == [0, 2, 4, 8, 10]


def doubled(x: Any) -> Any:
    while x < 1000:
        x = x * 2 + 1
    return x


def counted_down(x: Any) -> Any:
    turns = tf.constant(0)
    done = x < 0
    while not done:
        x = x - 1
        turns = turns + 1
        done = x < 0
    return {"turns": turns, "x": x}


def left_early(x: Any) -> Any:
    total = x
    while True:
        total = total + x
        if total > 20 or x == 0:
            return total
        if total % 7 == 0:
            break
    return -total


def by_while_loop(x: Any) -> Any:
    return tf.while_loop(lambda y, n: y < 1000, lambda y, n: (y * 2 + 1, n + 1), (x, 0))


@pytest.mark.parametrize("function", [doubled, counted_down, left_early, by_while_loop])
@pytest.mark.parametrize("count", [12, 90])
def test_loops_are_traced_as_far_as_rows_iterate(function: Callable[..., Any], count: int):
    ds = Dataset.range(count)
    traced = ds.map(function)
    assert "or more paths through its conditions" in traced.explain()
    expected = repr(list(as_called(ds).map(function)))
    assert repr(list(traced)) == expected
    assert repr(list(traced)) == expected
    assert repr(list(traced.batch(count))) == repr(list(as_called(ds).map(function).batch(count)))


def test_rows_with_too_many_iterations_call_the_function():
    def turned(x: Any) -> Any:
        turns = tf.constant(0, tf.int64)
        while turns < x:
            turns = turns + 1
        return turns

    ds = Dataset.from_tensor_slices(np.array([3, 500, 0, 70, 64, 63], np.int64)).map(turned)
    assert "traced" in ds.explain()
    assert next(iter(ds.batch(6))).numpy().tolist() == [3, 500, 0, 70, 64, 63]


def test_a_path_found_late_may_be_untraceable():
    def asking(x: Any) -> Any:
        turns = tf.constant(0, tf.int64)
        while turns < x:
            turns = turns + 1
        return tf.constant(int(x), tf.int64) if turns > 40 else turns

    ds = Dataset.range(50).map(asking).batch(50)
    assert next(iter(ds)).numpy().tolist() == list(range(50))


def test_several_threads_may_explore_paths_at_once():
    ds = Dataset.range(60).map(counted_down).batch(60)
    expected = list(range(1, 61))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: next(iter(ds))["turns"].numpy().tolist(), range(8)))
    assert found == [expected] * 8


def test_a_function_that_differs_from_call_to_call_is_not_traced():
    numbers = itertools.count()

    def counting(x: Any) -> Any:
        y = x + next(numbers)
        return y if y > 3 else -y

    with pytest.raises(Untraceable, match="on each call"):
        Trace(counting, (INPUT,))


def test_results_of_different_structures_are_not_traced():
    with pytest.raises(Untraceable, match="different structures"):
        Trace(lambda x: (x, x) if x > 0 else x, (INPUT,))


def test_a_function_may_modify_its_own_lists_and_dicts():
    def changing(x: Any) -> Any:
        parts = [x, x + 1]
        pair = tf.stack(parts)
        parts.append(x)
        halves = tf.split(pair, 2)
        halves[0] = halves[0] * 10
        return tf.concat(halves, 0)

    ds = Dataset.range(3).map(changing)
    assert "traced" in ds.explain()
    assert [x.numpy().tolist() for x in ds] == [[0, 1], [10, 2], [20, 3]]


def test_conditions_on_strings_and_whole_tensors():
    def named(name: Any, box: Any) -> Any:
        return (1 if tf.reduce_all(box > 0.5) else 2) if name == "a" else 3

    ds = Dataset.from_tensor_slices((["a", "b", "a"], np.array([[1, 1], [1, 1], [0, 1]], np.float32))).map(named)
    assert "traced" in ds.explain()
    assert [int(x) for x in ds] == [1, 3, 2]
