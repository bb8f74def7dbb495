"""Keras on torch goes on where a feed stood."""

from __future__ import annotations

import os

os.environ["KERAS_BACKEND"] = "torch"  # which Keras reads when it is imported

import keras
import numpy as np
import pytest
from keras_resume import BATCHES, weights_after

import penstock as ps


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
@pytest.mark.filterwarnings("ignore:__array__ implementation")  # of Keras
@pytest.mark.parametrize("steps", [1, 5, BATCHES - 1])
def test_fit_goes_on_from_a_state(dataset: ps.Dataset, steps: int):
    assert keras.backend.backend() == "torch"
    straight = weights_after(dataset, broken_off_after=None)
    resumed = weights_after(dataset, broken_off_after=steps)
    for weight, expected in zip(resumed, straight, strict=True):
        np.testing.assert_array_equal(weight, expected)
