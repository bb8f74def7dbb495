"""``ps.image.resize``, with values that were computed by hand or by TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps


def test_centres_are_at_half_coordinates():
    image = np.array([[0, 10], [20, 30]], np.uint8)[..., None]
    expected = [[0, 2.5, 7.5, 10], [5, 7.5, 12.5, 15], [15, 17.5, 22.5, 25], [20, 22.5, 27.5, 30]]
    np.testing.assert_array_equal(ps.image.resize(image, (4, 4))[..., 0], expected)


def test_a_smaller_image_takes_two_neighbours_however_small():
    image = np.arange(8, dtype=np.float32).reshape(1, 8, 1) ** 2
    assert ps.image.resize(image, (1, 2)).ravel().tolist() == [2.5, 30.5]


def test_a_batch_is_its_images():
    images = np.random.default_rng(0).integers(0, 256, (3, 9, 5, 4), np.uint8)
    batch = ps.image.resize(images, (4, 11))
    assert batch.shape == (3, 4, 11, 4)
    for image, resized in zip(images, batch, strict=True):
        np.testing.assert_array_equal(ps.image.resize(image, (4, 11)), resized)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "float64"])
def test_the_same_size_is_the_same_image_as_float32(dtype: str):
    image = np.arange(24).reshape(2, 4, 3).astype(dtype)
    resized = ps.image.resize(image, (2, 4))
    assert resized.dtype == np.float32
    np.testing.assert_array_equal(resized, image.astype(np.float32))


def test_the_input_is_left_alone():
    image = np.ones((2, 2, 1), np.float32)
    ps.image.resize(image, (2, 2))[:] = 7
    assert image.max() == 1


def test_an_empty_batch_stays_empty():
    assert ps.image.resize(np.zeros((0, 4, 4, 3)), (2, 2)).shape == (0, 2, 2, 3)


@pytest.mark.parametrize(
    ("shape", "size", "reason"),
    [
        ((4, 4), (2, 2), "expected"),
        ((4, 0, 3), (2, 2), "must be at least 1"),
        ((4, 4, 3), (0, 2), "must be at least 1"),
    ],
)
def test_what_is_no_image_raises(shape: tuple[int, ...], size: tuple[int, int], reason: str):
    with pytest.raises(ValueError, match=reason):
        ps.image.resize(np.zeros(shape), size)


def test_an_unknown_method_raises():
    with pytest.raises(ValueError, match="bilinear"):
        ps.image.resize(np.zeros((2, 2, 1)), (1, 1), method="cubic")  # type: ignore[arg-type]
