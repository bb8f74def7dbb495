"""Every operation that decodes images, on files of every format, beside TensorFlow's."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from oracle import Oracle
from PIL import Image
from tf.expressions import evaluate, same

import penstock.tf
from penstock import _core

random = np.random.default_rng(3)
COLOR = random.integers(0, 256, (11, 14, 3), np.uint8)
RGBA = random.integers(0, 256, (11, 14, 4), np.uint8)


def encoded(kind: str, pixels: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    image.save(file, kind, **options)
    return file.getvalue()


def animated(**options: Any) -> bytes:
    """Return a GIF file of three frames, the last two of which change a part."""
    smooth = np.repeat(np.repeat(random.integers(0, 256, (3, 4, 3), np.uint8), 4, 0), 4, 1)
    frames = []
    for number in range(3):
        frame = smooth.copy()
        frame[2:5, number * 4 : number * 4 + 3] = 255
        frames.append(Image.fromarray(frame).convert("P", palette=Image.Palette.ADAPTIVE))
    return encoded("GIF", frames[0], save_all=True, append_images=frames[1:], **options)


JPEG, BMP = encoded("JPEG", COLOR), encoded("BMP", COLOR)
FILES = {
    "JPEG": JPEG,
    "gray JPEG": encoded("JPEG", COLOR[..., 0]),
    "progressive JPEG": encoded("JPEG", COLOR, progressive=True),
    "CMYK JPEG": encoded("JPEG", Image.fromarray(RGBA, "CMYK")),
    "half a JPEG": JPEG[: len(JPEG) // 2],
    "PNG": encoded("PNG", COLOR),
    "PNG with alpha": encoded("PNG", RGBA),
    "PNG of 16 bits": encoded("PNG", COLOR[..., 0].astype(np.uint16) * 300),
    "BMP": BMP,
    "gray BMP": encoded("BMP", COLOR[..., 0]),
    "BMP with alpha": encoded("BMP", RGBA),
    "half a BMP": BMP[: len(BMP) // 2],
    "GIF": encoded("GIF", COLOR[..., 0]),
    "animated GIF": animated(),
    "optimized GIF": animated(optimize=True),
    "GIF with transparency": encoded("GIF", Image.fromarray(COLOR).convert("P"), transparency=0),
    "WebP": encoded("WEBP", COLOR, quality=50),
    "WebP with alpha": encoded("WEBP", RGBA, lossless=True),
    "another file": b"another file",
    "nothing": b"",
}
DTYPES = ("uint8", "uint16", "int32", "float32", "float64")
WINDOWS = ([0, 0, 5, 5], [3, 4, 8, 10], [3, 4, 9, 10], [-1, 0, 3, 3], [0, 0, 0, 3], [2, 2, 1, 1], [1, 2, 3])


def expressions(name: str) -> Iterator[str]:
    for channels, operation in itertools.product((0, 1, 3, 4), ("decode_jpeg", "decode_png", "decode_bmp")):
        yield f"tf.io.{operation}(file, {channels})"
    for channels, dtype, expand in itertools.product((None, 1, 3, 4), DTYPES, (False, True)):
        yield f"tf.io.decode_image(file, {channels}, tf.{dtype}, expand_animations={expand})"
    yield "tf.io.decode_png(file, dtype=tf.uint16)"
    yield "tf.io.decode_gif(file)"
    yield "tf.io.extract_jpeg_shape(file)"
    yield "tf.io.extract_jpeg_shape(file, output_type=tf.int64)"
    yield "tf.image.is_jpeg(file)"
    for ratio in (2, 3, 4, 8):
        yield f"tf.io.decode_jpeg(file, ratio={ratio})"
    for method in ("INTEGER_ACCURATE", "INTEGER_FAST", "FLOAT"):
        yield f"tf.io.decode_jpeg(file, dct_method='{method}')"
    if not name.startswith("WebP"):  # of which TensorFlow returns all, wherever the window is
        for window in WINDOWS:
            yield f"tf.io.decode_and_crop_jpeg(file, {window})"
            yield f"tf.io.decode_and_crop_jpeg(file, {window}, channels=1, fancy_upscaling=False)"


@pytest.mark.skipif(not _core.DECODES_JPEG, reason="this build is without libjpeg-turbo")
@pytest.mark.parametrize("name", FILES)
def test_files_of_every_format_have_the_same_pixels(oracle: Oracle, name: str) -> None:
    sources, names = list(expressions(name)), {"file": FILES[name]}
    for source, theirs in zip(sources, oracle.evaluate(*((source, names) for source in sources)), strict=True):
        ours = evaluate(penstock.tf, source, names)
        assert same(ours, theirs), f"{source}: {ours}\n{theirs}"


PIPELINES = [
    "files.map(tf.io.decode_jpeg)",
    "files.map(lambda file: tf.io.decode_jpeg(file, channels=1, dct_method='INTEGER_ACCURATE')).batch(2)",
    "files.map(lambda file: tf.io.decode_image(file, channels=3, expand_animations=False))",
    "files.map(lambda file: tf.io.decode_and_crop_jpeg(file, [2, 3, 4, 5])).batch(3)",
    "files.map(lambda file: tf.io.decode_and_crop_jpeg(file, [0, 0, tf.strings.length(file) % 5, 5]))",
    "files.map(lambda file: tf.image.resize(tf.io.decode_jpeg(file, channels=3), [4, 4])).batch(4)",
]


@pytest.mark.skipif(not _core.DECODES_JPEG, reason="this build is without libjpeg-turbo")
@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("sizes", [[(11, 14)], [(11, 14), (9, 17)]])
def test_batches_of_files_have_the_same_pixels(oracle: Oracle, pipeline: str, sizes: list[tuple[int, int]]) -> None:
    pixels = [random.integers(0, 256, (*sizes[i % len(sizes)], 3), np.uint8) for i in range(6)]
    names = {"contents": np.array([encoded("JPEG", image, quality=50 + i) for i, image in enumerate(pixels)], object)}
    files = "tf.data.Dataset.from_tensor_slices(contents)"
    source = f"list(outcomes({pipeline.replace('files', files)}))"
    (theirs,) = oracle.evaluate((source, names))
    ours = evaluate(penstock.tf, source, names)
    assert same(ours, theirs), f"{ours}\n{theirs}"
