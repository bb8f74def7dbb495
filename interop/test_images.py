"""Images, compared with ``tf.io.decode_image``."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from oracle import Oracle
from png_files import CHANNELS, GRAY, GRAY_ALPHA, PALETTE, RGB, RGBA, png

from penstock.codec.images import decode_image, encode_image

WIDTH, HEIGHT = 13, 11

DEPTHS = {GRAY: (1, 2, 4, 8, 16), RGB: (8, 16), PALETTE: (1, 2, 4, 8), GRAY_ALPHA: (8, 16), RGBA: (8, 16)}
KINDS = [(color, depth) for color, depths in DEPTHS.items() for depth in depths]


@pytest.mark.parametrize("transparent", [False, True])
@pytest.mark.parametrize(("color", "depth"), KINDS)
def test_every_png_has_the_same_pixels(oracle: Oracle, color: int, depth: int, transparent: bool) -> None:
    random = np.random.default_rng(depth)
    pixels = random.bytes(-(-WIDTH * CHANNELS[color] * depth // 8) * HEIGHT)
    chunks = {}
    if color == PALETTE:
        chunks[b"PLTE"] = random.bytes(3 << depth)
    if transparent:
        one = pixels[: CHANNELS[color] * depth // 8] if depth == 8 else bytes(CHANNELS[color])
        chunks |= {
            GRAY: {b"tRNS": b"\0" + one[:1]},
            RGB: {b"tRNS": b"".join(b"\0" + one[i : i + 1] for i in range(3))},
            PALETTE: {b"tRNS": random.bytes(1 << depth)},
        }.get(color, {})
    data = png(WIDTH, HEIGHT, pixels, depth=depth, color=color, chunks=chunks)

    for channels, dtype in itertools.product([0, 1, 3, 4], ["uint8", "uint16"]):
        if depth == 16 and color != GRAY and (dtype == "uint16" or channels < 3):
            continue  # Pillow has the upper 8 bits of them: uint16 is refused, and gray is weighed from those bits
        if depth < 8 and channels == 4 and b"tRNS" not in chunks:
            continue  # TensorFlow adds an alpha of 1, 3 or 15, which is almost transparent
        (theirs,) = oracle.decode_images((data, channels, dtype))
        ours = decode_image(data, dtype=dtype, shape=(HEIGHT, WIDTH, channels or None))
        np.testing.assert_array_equal(ours, theirs, err_msg=f"{channels} channels, {dtype}")


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_tensorflow_reads_the_png_files_that_are_written(oracle: Oracle, channels: int) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, channels), np.uint8)
    (theirs,) = oracle.decode_images((encode_image(pixels, "png"), 0, "uint8"))
    np.testing.assert_array_equal(pixels, theirs)


# By default TensorFlow takes libjpeg's fast transform, up to 9 units off on noise; Pillow takes the accurate one.
@pytest.mark.parametrize("stored", [1, 3])
@pytest.mark.parametrize("channels", [0, 1, 3])
def test_jpeg_has_the_same_pixels_by_the_accurate_transform(oracle: Oracle, stored: int, channels: int) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, stored), np.uint8)
    data = encode_image(pixels, "jpeg")
    (theirs,) = oracle.decode_jpegs((data, channels))
    ours = decode_image(data, dtype="uint8", shape=(HEIGHT, WIDTH, channels or None))
    np.testing.assert_array_equal(ours, theirs)
