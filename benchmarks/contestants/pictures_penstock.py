"""Penstock: pictures decoded into batches, transformed, and decoded by TensorFlow's data code."""

from __future__ import annotations

from picture_code import BATCH, CROP, decoded

import penstock as ps
import penstock.tf as tf


def full(path: str) -> int:
    schema = ps.Schema({"image": ps.Feature("uint8", (375, 500, 3), encoding="jpeg")})
    return sum(len(batch["image"]) for batch in ps.Dataset(path, schema=schema).batch(BATCH))


def full_in_tf(path: str) -> int:
    return sum(len(images) for images in decoded(tf, path))


def cropped(path: str) -> int:
    transform = ps.ImageTransform(random_resized_crop=CROP, flip=True)
    schema = ps.Schema({"image": ps.Feature("uint8", (None, None, 3), encoding="jpeg")})
    pictures = ps.Dataset(path, schema=schema).map_images(transform)
    return sum(len(batch["image"]) for batch in pictures.batch(BATCH))
