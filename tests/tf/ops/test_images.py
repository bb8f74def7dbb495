"""Operations on images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tf_examples import assert_operation

import penstock.tf as tf

IMAGE = [[[1.0], [2.0]], [[3.0], [4.0]]]
CASES: list[tuple[Callable[..., Any], list[Any], Any]] = [
    (lambda x: tf.image.resize(x, [1, 2], "nearest"), [IMAGE], [[[3.0], [4.0]]]),
    (lambda x: tf.image.resize(x, [1, 1]), [IMAGE], [[[2.5]]]),
    (lambda x: tf.image.resize(x, [1, 1], "area"), [IMAGE], [[[2.5]]]),
    (lambda x: tf.image.flip_left_right(x), [IMAGE], [[[2.0], [1.0]], [[4.0], [3.0]]]),
    (lambda x: tf.image.flip_up_down(x), [IMAGE], [[[3.0], [4.0]], [[1.0], [2.0]]]),
    (lambda x: tf.image.rot90(x), [IMAGE], [[[2.0], [4.0]], [[1.0], [3.0]]]),
    (lambda x: tf.image.adjust_brightness(x, 0.5), [IMAGE], [[[1.5], [2.5]], [[3.5], [4.5]]]),
    (lambda x: tf.image.adjust_contrast(x, 2.0), [IMAGE], [[[-0.5], [1.5]], [[3.5], [5.5]]]),
    (lambda x: tf.image.grayscale_to_rgb(x)[0, 0], [IMAGE], [1.0, 1.0, 1.0]),
    (lambda x: tf.image.central_crop(x, 0.5), [np.zeros((4, 4, 1))], np.zeros((2, 2, 1))),
    (lambda x: tf.image.crop_to_bounding_box(x, 1, 0, 1, 2), [IMAGE], [[[3.0], [4.0]]]),
    (lambda x: tf.image.pad_to_bounding_box(x, 0, 1, 2, 3)[1], [IMAGE], [[0.0], [3.0], [4.0]]),
    (lambda x: tf.image.resize_with_crop_or_pad(x, 1, 4), [IMAGE], [[[0.0], [1.0], [2.0], [0.0]]]),
    (lambda x: tf.image.convert_image_dtype(x, tf.float32), [np.array([0, 255], np.uint8)], [0.0, 1.0]),
    (lambda x: tf.image.per_image_standardization(x)[0, 0], [np.zeros((2, 2, 1), np.float32)], [0.0]),
]


@pytest.mark.parametrize(("function", "args", "expected"), CASES)
def test_values_are_those_of_tensorflow(function: Callable[..., Any], args: list[Any], expected: Any):
    assert_operation(function, args, tf.constant(expected))


def test_a_random_flip_decides_for_each_image_of_a_batch():
    images = tf.constant(np.arange(200 * 2, dtype=np.float32).reshape(200, 1, 2, 1))
    flipped = tf.image.random_flip_left_right(images).numpy()
    rows = {tuple(int(value) % 2 for value in image.ravel()) for image in flipped}
    assert rows == {(0, 1), (1, 0)}
