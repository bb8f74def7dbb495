"""An error of one element comes in its place, and the iteration continues after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock.tf as tf

Dataset = tf.data.Dataset


def numbers(ds: Any) -> list[int]:
    return [int(element) for element in ds.as_numpy_iterator()]


def number_range(count: int, *, tracing: bool = True) -> Any:
    options = tf.data.Options()
    options.tracing = tracing
    return Dataset.range(count).with_options(options)


def outcomes(ds: Any) -> list[Any]:
    """Return the values, with the type of each error in its place."""
    elements, found = iter(ds), list[Any]()
    while len(found) < 20:
        try:
            found.append(np.asarray(next(elements)).tolist())
        except StopIteration:
            return found
        except Exception as error:
            found.append(type(error))
    raise AssertionError(f"the iteration does not end: {found}")


def raising(error: Exception, bad: int = 2) -> Callable[[Any], Any]:
    def function(number: Any) -> Any:
        if int(number) == bad:
            raise error
        return np.int64(number)

    return function


def plainly(x: Any) -> Any:
    return raising(StopIteration())(x)


def in_python(x: Any) -> Any:
    return tf.py_function(raising(StopIteration()), [x], tf.int64)


def in_numpy(x: Any) -> Any:
    return tf.numpy_function(raising(StopIteration()), [x], tf.int64)


INVALID, INTERNAL = tf.errors.InvalidArgumentError, tf.errors.InternalError


@pytest.mark.parametrize("tracing", [True, False])
@pytest.mark.parametrize("f", [plainly, in_python, in_numpy])
@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (lambda ds, f: ds.map(f), [0, 1, INVALID, 3]),
        (lambda ds, f: ds.map(lambda x: f(x + 0)).shuffle(1), [0, 1, INVALID, 3]),
        (lambda ds, f: ds.filter(lambda x: f(x) >= 0), [0, 1, INTERNAL, 3]),
        (lambda ds, f: ds.take_while(lambda x: f(x) >= 0), [0, 1, INTERNAL, 3]),
        (lambda ds, f: ds.scan(np.int64(0), lambda s, x: (s, f(x))), [0, 1, INVALID, 3]),
        (lambda ds, f: ds.flat_map(lambda x: Dataset.from_tensors(f(x))), [0, 1, INTERNAL, 3]),
        (lambda ds, f: ds.interleave(lambda x: Dataset.from_tensors(f(x)), 1), [0, 1, INTERNAL, 3]),
        (lambda ds, f: ds.group_by_window(f, lambda key, window: window, 1), [0, 1, INTERNAL, 3]),
        (lambda ds, f: ds.group_by_window(lambda x: x, lambda key, window: window.map(f), 1), [0, 1, INVALID, 3]),
        (lambda ds, f: ds.map(f).cache().repeat(2), [0, 1, INVALID, 3, 0, 1, 3]),
        (lambda ds, f: Dataset.zip(ds.map(f), ds).map(lambda a, b: a), [0, 1, INVALID, 3]),
        (lambda ds, f: ds.map(f).ignore_errors(), [0, 1, 3]),
    ],
)
def test_stop_iteration_of_a_function_does_not_end_the_iteration(step: Any, expected: list[Any], f: Any, tracing: bool):
    assert outcomes(step(number_range(4, tracing=tracing), f)) == expected


@pytest.mark.parametrize("f", [plainly, in_python, in_numpy])
def test_reduce_raises_on_stop_iteration(f: Any):
    with pytest.raises(tf.errors.OutOfRangeError, match="StopIteration"):
        number_range(4).reduce(np.int64(0), lambda total, x: total + f(x))


MAPPED = [
    (ValueError("bad"), tf.errors.InvalidArgumentError),
    (TypeError("bad"), tf.errors.InvalidArgumentError),
    (MemoryError("bad"), tf.errors.ResourceExhaustedError),
    (NotImplementedError("bad"), tf.errors.UnimplementedError),
    (OSError("bad"), tf.errors.UnknownError),
    (RuntimeError("bad"), tf.errors.UnknownError),
    (AttributeError("bad"), tf.errors.UnknownError),
    (tf.errors.InvalidArgumentError("bad"), tf.errors.UnknownError),
]


@pytest.mark.parametrize(("error", "mapped"), MAPPED)
@pytest.mark.parametrize("tracing", [True, False])
@pytest.mark.parametrize("call", [tf.py_function, tf.numpy_function])
def test_errors_of_python_functions_have_tensorflows_types(call: Any, tracing: bool, error: Exception, mapped: type):
    ds = number_range(4, tracing=tracing).map(lambda x: call(raising(error), [x], tf.int64))
    assert outcomes(ds) == [0, 1, mapped, 3]
    assert outcomes(ds.ignore_errors()) == [0, 1, 3]
    with pytest.raises(mapped, match=f"{type(error).__name__}: bad") as raised:
        list(ds)
    assert raised.value.__cause__ is error


def test_outside_a_dataset_only_py_function_converts_errors():
    with pytest.raises(tf.errors.OutOfRangeError):
        tf.py_function(raising(StopIteration("bad")), [2], tf.int64)
    with pytest.raises(KeyError):
        tf.numpy_function(raising(KeyError("bad")), [2], tf.int64)


def test_ignore_errors_skips_elements_but_raises_errors_of_the_code():
    assert outcomes(number_range(4).map(raising(OSError())).ignore_errors()) == [0, 1, 3]
    assert outcomes(number_range(4).map(raising(RuntimeError())).ignore_errors()) == [0, 1, 3]
    with pytest.raises(AttributeError):
        list(number_range(4).map(lambda x: np.no_such_function(x)).ignore_errors())


def unless_two(x: Any) -> Any:
    if x == 2:
        raise tf.errors.InvalidArgumentError("two")
    return x


@pytest.mark.parametrize("tracing", [True, False])
def test_ignore_errors_skips_failures_of_every_transformation(tracing: bool):
    options = tf.data.Options()
    options.tracing = tracing
    ds = Dataset.range(6).with_options(options).map(unless_two)
    assert numbers(ds.ignore_errors()) == [0, 1, 3, 4, 5]
    assert numbers(ds.filter(lambda x: x != 3).ignore_errors()) == [0, 1, 4, 5]
    batches = [batch.numpy().tolist() for batch in ds.batch(2).prefetch(2).ignore_errors()]
    assert batches == ([[0, 1], [4, 5]] if tracing else [[0, 1], [3, 4], [5]])
    assert [int(pair[1]) for pair in Dataset.zip(ds, Dataset.range(6)).ignore_errors()] == [0, 1, 3, 4, 5]
    assert sorted(numbers(ds.shuffle(3).repeat(2).ignore_errors())) == [0, 0, 1, 1, 3, 3, 4, 4, 5, 5]
    assert numbers(ds.take(5).ignore_errors().skip(3))[0] == 4


def test_skipped_elements_are_logged_on_request(caplog: pytest.LogCaptureFixture):
    assert len(list(Dataset.range(3).map(unless_two).batch(3).ignore_errors(log_warning=True))) == 0
    assert "two" in caplog.text


def test_element_spec_is_that_of_an_element_without_an_error():
    ds = Dataset.range(2, 5).map(lambda x: [unless_two(x)]).ignore_errors()
    assert ds.element_spec == (tf.TensorSpec([], tf.int64),)


def test_an_iteration_continues_after_a_caught_error():
    batches = iter(Dataset.range(6).map(unless_two).batch(2))
    assert next(batches).numpy().tolist() == [0, 1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="two"):
        next(batches)
    assert next(batches).numpy().tolist() == [4, 5]
