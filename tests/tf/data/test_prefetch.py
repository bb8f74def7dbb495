"""``prefetch`` of batches."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import penstock.tf as tf

Dataset = tf.data.Dataset


def test_batches_are_computed_on_a_thread_and_errors_keep_their_position():
    makers = set()

    def check(batch: Any) -> Any:
        makers.add(threading.get_ident())
        if batch.numpy()[0] == 6:
            raise tf.errors.InvalidArgumentError("six")
        return batch

    ds = Dataset.range(10).batch(2).map(check).prefetch(2)
    elements = iter(ds)
    assert [next(elements).numpy().tolist() for _ in range(3)] == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="six"):
        next(elements)
    assert threading.get_ident() not in makers


def test_results_of_python_functions_are_prefetched():
    called = threading.Event()

    def note(x: int) -> int:
        if x == 2:
            called.set()
        return x

    dataset = tf.data.Dataset.range(5).map(lambda x: tf.numpy_function(note, [x], tf.int64)).prefetch(2)
    elements = iter(dataset)
    assert int(next(elements)) == 0
    assert called.wait(60)
    assert [int(element) for element in elements] == [1, 2, 3, 4]
