"""TensorFlow: pictures decoded, and cropped, resized and flipped, in a parallel map."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}

import tensorflow as tf
from picture_code import BATCH, CROP, decoded


def full(path: str) -> int:
    return sum(len(images) for images in _full(path))


@cache  # the graph is built once, in the check, which is not timed
def _full(path: str) -> Any:
    return decoded(tf, path).prefetch(tf.data.AUTOTUNE)


def cropped(path: str) -> int:
    return sum(len(images) for images in _cropped(path))


@cache
def _cropped(path: str) -> Any:
    def crop(record: Any) -> Any:
        data = tf.io.parse_single_example(record, {"image": tf.io.FixedLenFeature([], tf.string)})["image"]
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.io.extract_jpeg_shape(data),
            tf.zeros([1, 0, 4]),
            min_object_covered=0.0,
            area_range=(0.08, 1.0),
            aspect_ratio_range=(3 / 4, 4 / 3),
            use_image_if_no_bounding_boxes=True,
        )
        window = tf.concat([begin[:2], size[:2]], 0)
        image = tf.io.decode_and_crop_jpeg(data, window, channels=3)
        return tf.image.random_flip_left_right(tf.image.resize(image, [CROP, CROP])) / 255.0

    records = tf.data.TFRecordDataset(path, buffer_size=8 << 20).map(crop, num_parallel_calls=tf.data.AUTOTUNE)
    return records.batch(BATCH).prefetch(tf.data.AUTOTUNE)
