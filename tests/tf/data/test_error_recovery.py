"""What functions raise comes as an error in its place: nothing ends early, and what comes after it is not lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penstock.tf as tf

Dataset = tf.data.Dataset


def numbers(count: int, *, tracing: bool = True) -> Any:
    options = tf.data.Options()
    options.tracing = tracing
    return Dataset.range(count).with_options(options)


def outcomes(ds: Any) -> list[Any]:
    """Return values, and the types of errors in their places."""
    elements, found = iter(ds), list[Any]()
    while len(found) < 20:
        try:
            found.append(np.asarray(next(elements)).tolist())
        except StopIteration:
            return found
        except Exception as error:
            found.append(type(error))
    raise AssertionError(f"there is no end: {found}")


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
def test_a_function_that_raises_stop_iteration_ends_nothing(step: Any, expected: list[Any], f: Any, tracing: bool):
    assert outcomes(step(numbers(4, tracing=tracing), f)) == expected


@pytest.mark.parametrize("f", [plainly, in_python, in_numpy])
def test_reduce_does_not_return_what_came_before_a_stop_iteration(f: Any):
    with pytest.raises(tf.errors.OutOfRangeError, match="StopIteration"):
        numbers(4).reduce(np.int64(0), lambda total, x: total + f(x))


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
def test_errors_of_python_functions_are_tensorflows(call: Any, tracing: bool, error: Exception, mapped: type):
    ds = numbers(4, tracing=tracing).map(lambda x: call(raising(error), [x], tf.int64))
    assert outcomes(ds) == [0, 1, mapped, 3]
    assert outcomes(ds.ignore_errors()) == [0, 1, 3]
    with pytest.raises(mapped, match=f"{type(error).__name__}: bad") as raised:
        list(ds)
    assert raised.value.__cause__ is error


def test_outside_a_dataset_only_py_function_changes_what_is_raised():
    with pytest.raises(tf.errors.OutOfRangeError):
        tf.py_function(raising(StopIteration("bad")), [2], tf.int64)
    with pytest.raises(KeyError):
        tf.numpy_function(raising(KeyError("bad")), [2], tf.int64)


def test_ignore_errors_leaves_elements_out_and_shows_faults_of_the_code():
    assert outcomes(numbers(4).map(raising(OSError())).ignore_errors()) == [0, 1, 3]
    assert outcomes(numbers(4).map(raising(RuntimeError())).ignore_errors()) == [0, 1, 3]
    with pytest.raises(AttributeError):
        list(numbers(4).map(lambda x: np.no_such_function(x)).ignore_errors())


class Faulty:
    """An iterator that raises in the place of elements, and goes on."""

    def __init__(self) -> None:
        self._outcomes = iter([1, ValueError("two"), OSError("three"), 4, "five", [6], 7])

    def __iter__(self) -> Faulty:
        return self

    def __next__(self) -> Any:
        found = next(self._outcomes)
        if isinstance(found, Exception):
            raise found
        return found


def test_a_generator_goes_on_after_a_bad_element():
    ds = Dataset.from_generator(Faulty, output_signature=tf.TensorSpec([], tf.int64))
    assert outcomes(ds) == [1, INVALID, tf.errors.UnknownError, 4, INVALID, INVALID, 7]
    assert outcomes(ds.ignore_errors()) == [1, 4, 7]


def test_a_generator_that_cannot_begin_is_an_error_even_where_errors_are_ignored():
    def begin() -> Iterator[int]:
        raise KeyError("none")

    ds = Dataset.from_generator(begin, output_signature=tf.TensorSpec([], tf.int64)).ignore_errors()
    with pytest.raises(tf.errors.UnknownError, match="KeyError"):
        list(ds)
