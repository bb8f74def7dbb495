"""``from_generator``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock.tf as tf

Dataset = tf.data.Dataset


def test_elements_of_a_generator_are_checked_against_the_signature():
    signature = {"a": tf.TensorSpec([None], tf.float32)}
    good = Dataset.from_generator(lambda: iter([{"a": [1, 2]}, {"a": np.zeros(0)}]), output_signature=signature)
    assert [element["a"].shape.as_list() for element in good] == [[2], [0]]
    assert good.element_spec == signature
    for wrong in ({"a": 1.0}, {"b": [1.0]}, [1.0]):
        bad = Dataset.from_generator(lambda wrong=wrong: iter([wrong]), output_signature=signature)
        with pytest.raises((TypeError, ValueError)):
            list(bad)


INVALID, INTERNAL = tf.errors.InvalidArgumentError, tf.errors.InternalError


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


def test_a_generator_continues_after_a_bad_element():
    ds = Dataset.from_generator(Faulty, output_signature=tf.TensorSpec([], tf.int64))
    assert outcomes(ds) == [1, INVALID, tf.errors.UnknownError, 4, INVALID, INVALID, 7]
    assert outcomes(ds.ignore_errors()) == [1, 4, 7]


def test_a_generator_that_fails_to_start_raises_even_with_ignore_errors():
    def begin() -> Iterator[int]:
        raise KeyError("none")

    ds = Dataset.from_generator(begin, output_signature=tf.TensorSpec([], tf.int64)).ignore_errors()
    with pytest.raises(tf.errors.UnknownError, match="KeyError"):
        list(ds)
