"""Keras takes a feed as it is, epoch after epoch."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest

import penstock as ps
import penstock.tf as tf
from penstock.frameworks import keras as feeds


class Seen(keras.layers.Layer):
    """Keeps the inputs of every batch."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[float]] = []

    def call(self, inputs: Any) -> Any:
        self.batches.append(np.asarray(inputs).ravel().tolist())
        return inputs

    def last(self, count: int) -> list[list[float]]:
        """Those that were not made up to build the model."""
        return self.batches[-count:]


def model_that_sees() -> tuple[keras.Model, Seen]:
    seen = Seen()
    model = keras.Sequential([seen, keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=True)
    return model, seen


def pairs(dataset: ps.Dataset) -> ps.Dataset:
    return dataset.batch(32).map(lambda batch: (batch["weight"][:, None], batch["weight"]))


def inputs_of(dataset: ps.Dataset) -> list[list[float]]:
    return [inputs.ravel().tolist() for inputs, _ in dataset]


def test_each_epoch_of_fit_is_an_epoch_of_the_dataset(dataset: ps.Dataset):
    shuffled = pairs(dataset.shuffle(seed=3))
    model, seen = model_that_sees()
    history = model.fit(feeds.feed(shuffled), epochs=2, verbose=0)
    assert len(history.history["loss"]) == 2
    assert seen.last(14) == inputs_of(shuffled.epoch(0)) + inputs_of(shuffled.epoch(1))


def test_evaluate_and_predict(dataset: ps.Dataset):
    feed = feeds.feed(pairs(dataset))
    model, seen = model_that_sees()
    assert model.evaluate(feed, verbose=0) >= 0
    assert model.predict(feed, verbose=0).shape == (len(dataset), 1)
    assert seen.last(14) == inputs_of(pairs(dataset)) * 2


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
@pytest.mark.parametrize("steps", [4, 5, 6])
def test_fit_goes_on_from_a_state(dataset: ps.Dataset, steps: int):
    shuffled = pairs(dataset.shuffle(seed=3))
    model, _ = model_that_sees()
    feed = feeds.feed(shuffled)
    model.fit(feed, steps_per_epoch=steps, verbose=0)
    again, (model, seen) = feeds.feed(shuffled), model_that_sees()
    again.load_state_dict(feed.state_dict(after=steps))
    model.fit(again, epochs=2, verbose=0)
    expected = inputs_of(shuffled.epoch(0))[steps:] + inputs_of(shuffled.epoch(1))
    assert seen.last(14 - steps) == expected
    assert len(seen.batches) <= len(expected) + 2  # and what the model was built with


def test_after_the_end_of_an_epoch_fit_continues_with_the_next(dataset: ps.Dataset):
    shuffled = pairs(dataset.shuffle(seed=3))
    model, _ = model_that_sees()
    feed = feeds.feed(shuffled)
    model.fit(feed, verbose=0)
    again, (model, seen) = feeds.feed(shuffled), model_that_sees()
    again.load_state_dict(feed.state_dict())
    model.fit(again, epochs=2, verbose=0)
    assert seen.last(14) == inputs_of(shuffled.epoch(1)) + inputs_of(shuffled.epoch(2))


def test_an_epoch_may_have_one_batch(dataset: ps.Dataset):
    shuffled = (
        dataset.shuffle(seed=3).batch(len(dataset)).map(lambda batch: (batch["weight"][:, None], batch["weight"]))
    )
    model, seen = model_that_sees()
    model.fit(feeds.feed(shuffled), epochs=3, verbose=0)
    assert seen.last(3) == [inputs_of(shuffled.epoch(number))[0] for number in range(3)]


def test_ragged_columns_are_padded_to_any_width(dataset: ps.Dataset):
    tokens = dataset.batch(3).map(lambda batch: (batch["tokens"], batch["weight"]))
    widths: list[int] = []

    class Widths(keras.layers.Layer):
        def call(self, inputs: Any) -> Any:
            widths.append(inputs.shape[1])
            return keras.ops.sum(keras.ops.cast(inputs, "float32"), axis=1, keepdims=True)

    model = keras.Sequential([Widths(), keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=True)
    model.evaluate(feeds.feed(tokens.take(3)), verbose=0)
    assert widths[-3:] == [2, 4, 3]


def test_fit_takes_datasets_of_penstock_tf_wherever_keras_comes_from():
    model, seen = model_that_sees()
    rows = np.arange(12, dtype=np.float32).reshape(6, 2)
    model.fit(tf.data.Dataset.from_tensor_slices((rows, rows[:, :1])).batch(3), verbose=0)
    assert seen.last(2) == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
