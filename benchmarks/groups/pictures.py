"""Pictures: JPEGs decoded in full into batches, and random parts of them cropped, resized and flipped."""

from __future__ import annotations

import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from contest import Bench, Entry, Goal
from findings import Finding
from PIL import Image
from PIL.Image import Resampling
from workloads import DATA

import penstock as ps

_DISTINCT = 200


def run(bench: Bench) -> Iterator[Finding]:
    yield full(bench)
    yield cropped(bench, 375, 500, 2000, 1.5)
    yield cropped(bench, 1500, 2000, 200, 1.4)


def full(bench: Bench) -> Finding:
    arguments = {"path": str(_pictures(375, 500, 2000))}
    entries = [
        Entry("penstock", "penstock", "full", arguments, 2000, 2000),
        Entry("penstock.tf", "penstock", "full_in_tf", arguments, 2000, 2000),
        Entry("TF, decode_jpeg", "tensorflow", "full", arguments, 2000, 2000),
        Entry("bare libjpeg-turbo", "floor", "full", arguments, 2000, 2000),
    ]
    goals = [
        Goal("penstock", ("TF, decode_jpeg",), 1.15),
        Goal("penstock", ("bare libjpeg-turbo",), 0.9),
        Goal("penstock.tf", ("TF, decode_jpeg",), 1),
    ]
    return bench.contest("Decode JPEGs", "500 x 375", "images/s", entries, goals)


def cropped(bench: Bench, height: int, width: int, count: int, goal: float) -> Finding:
    arguments = {"path": str(_pictures(height, width, count))}
    entries = [
        Entry("penstock, map_images", "penstock", "cropped", arguments, count, count),
        Entry("TF, decode_and_crop_jpeg", "tensorflow", "cropped", arguments, count, count),
    ]
    goals = [Goal("penstock, map_images", ("TF, decode_and_crop_jpeg",), goal)]
    title = "Random resized crop to 224, flip, float32"
    return bench.contest(title, f"{width} x {height}", "images/s", entries, goals)


def _pictures(height: int, width: int, count: int) -> Path:
    """Write JPEGs of smooth shapes and grain; of 500 x 375, about 42 KB each."""
    path = DATA / f"pictures-{width}x{height}.tfrecord"
    if path.exists():
        return path

    def picture(number: int) -> bytes:
        random = np.random.default_rng(number)
        coarse = Image.fromarray(random.integers(0, 256, (12, 16, 3), np.uint8))
        smooth = np.asarray(coarse.resize((width, height), Resampling.BICUBIC), np.float32)
        grain = random.normal(0, 7, smooth.shape).astype(np.float32)
        file = io.BytesIO()
        Image.fromarray(np.clip(smooth + grain, 0, 255).astype(np.uint8)).save(file, "JPEG", quality=85)
        return file.getvalue()

    DATA.mkdir(exist_ok=True)
    with ThreadPoolExecutor() as pool:
        files = list(pool.map(picture, range(min(count, _DISTINCT))))
    rows = {"image": [files[number % len(files)] for number in range(count)]}
    with ps.RecordWriter(path) as writer:
        writer.write_many(ps.Encoder(ps.Schema({"image": "bytes"})).encode(rows))
    return path
