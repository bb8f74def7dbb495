"""Trains with Keras, whatever its backend: straight on, and broken off and taken up again."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

import penstock as ps
from penstock.frameworks import keras as feeds

BATCHES = 7
"""Of an epoch."""


def weights_after(dataset: ps.Dataset, *, broken_off_after: int | None) -> list[np.ndarray[Any, Any]]:
    """Train for three epochs; return the weights, which show what batches came, and in which order."""
    pairs = dataset.shuffle(seed=3).batch(32).map(lambda batch: (batch["weight"][:, None] / 100, batch["weight"]))
    feed, model = feeds.feed(pairs), _model()
    if broken_off_after is not None:
        model.fit(feed, steps_per_epoch=broken_off_after, verbose=0)
        state, weights = feed.state_dict(after=broken_off_after), model.get_weights()
        feed, model = feeds.feed(pairs), _model()
        feed.load_state_dict(state)
        model.set_weights(weights)
    model.fit(feed, epochs=3, verbose=0)
    return [np.asarray(weight) for weight in model.get_weights()]


def _model() -> keras.Model:
    keras.utils.set_random_seed(5)
    model = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(4), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(1e-4), "mse")
    return model
