"""Images are decoded one by one and in batches, with the options of TensorFlow; interop compares the pixels."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

import penstock.tf as tf
from penstock import _core

PIXELS = np.random.default_rng(0).integers(0, 256, (16, 24, 3), np.uint8)

needs_libjpeg = pytest.mark.skipif(not _core.DECODES_JPEG, reason="this build is without libjpeg-turbo")


def encoded(kind: str, pixels: Any = PIXELS, **options: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind, **options)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "BMP", "GIF", "WEBP"])
def test_every_format_is_decoded(kind: str):
    gray = np.repeat(PIXELS[..., :1], 3, -1)
    data = encoded(kind, gray, lossless=True)
    image = tf.io.decode_image(data, expand_animations=False)
    np.testing.assert_array_equal(image.numpy(), gray)
    assert tf.io.decode_image(data).shape.rank == (4 if kind in ("GIF", "WEBP") else 3)


@needs_libjpeg
def test_a_window_has_the_pixels_of_the_whole_image():
    data = encoded("JPEG", subsampling=0)
    whole = tf.io.decode_jpeg(data).numpy()
    np.testing.assert_array_equal(tf.io.decode_and_crop_jpeg(data, [3, 8, 7, 11]).numpy(), whole[3:10, 8:19])
    with pytest.raises(tf.errors.InvalidArgumentError, match="window"):
        tf.io.decode_and_crop_jpeg(data, [3, 8, 14, 11])


@needs_libjpeg
def test_options_are_used():
    data = encoded("JPEG")
    assert tf.io.decode_jpeg(data, ratio=4, channels=1).shape == (4, 6, 1)
    fast, accurate = (tf.io.decode_jpeg(data, dct_method=f"INTEGER_{name}").numpy() for name in ("FAST", "ACCURATE"))
    assert 0 < np.abs(fast.astype(int) - accurate).max() < 20
    cut = data[: len(data) * 3 // 4]
    with pytest.raises(tf.errors.InvalidArgumentError, match="truncated"):
        tf.io.decode_jpeg(cut)
    assert tf.io.decode_jpeg(cut, try_recover_truncated=True).shape == PIXELS.shape
    with pytest.raises(tf.errors.InvalidArgumentError):  # in the header, where TensorFlow never returns
        tf.io.decode_jpeg(data[:100], try_recover_truncated=True)
    for options in ({"ratio": 3}, {"dct_method": "FLOAT"}, {"channels": 4}):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.io.decode_jpeg(data, **options)


def test_the_shape_comes_from_the_header():
    assert tf.io.extract_jpeg_shape(encoded("JPEG")).numpy().tolist() == [16, 24, 3]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.io.extract_jpeg_shape(encoded("PNG"))


@pytest.mark.parametrize("tracing", [False, True])
@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_a_batch_equals_its_rows(kind: str, tracing: bool):
    files = [encoded(kind, PIXELS[: 9 + i % 2]) for i in range(10)]
    rows = [tf.io.decode_image(file).numpy() for file in files]
    options = tf.data.Options()
    options.tracing = tracing
    dataset = tf.data.Dataset.from_tensor_slices(files).with_options(options)
    decoded = dataset.map(lambda file: tf.io.decode_image(file, 3, expand_animations=False))
    for image, row in zip(decoded.as_numpy_iterator(), rows, strict=True):
        np.testing.assert_array_equal(image, row)
    one_size = dataset.shard(2, 0).map(lambda file: tf.io.decode_image(file, 3, expand_animations=False))
    np.testing.assert_array_equal(next(iter(one_size.batch(5))).numpy(), rows[::2])


def test_a_bad_file_raises_after_those_before_it():
    files = [encoded("PNG"), encoded("PNG"), encoded("PNG")[:-20]]
    decoded = iter(tf.data.Dataset.from_tensor_slices(files).map(tf.io.decode_png))
    assert next(decoded).shape == next(decoded).shape == PIXELS.shape
    with pytest.raises(tf.errors.InvalidArgumentError, match="truncated"):
        next(decoded)
