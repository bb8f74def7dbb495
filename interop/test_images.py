"""Images, compared with ``tf.io.decode_image``."""

from __future__ import annotations

import io
import itertools
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from oracle import Oracle
from PIL import Image
from png_files import CHANNELS, GRAY, GRAY_ALPHA, PALETTE, RGB, RGBA, png

from penstock import _core
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
        (theirs,) = oracle.decode_images((data, channels, dtype))
        ours = decode_image(data, dtype=dtype, shape=(HEIGHT, WIDTH, channels or None))
        np.testing.assert_array_equal(ours, theirs, err_msg=f"{channels} channels, {dtype}")


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_tensorflow_reads_the_png_files_that_are_written(oracle: Oracle, channels: int) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, channels), np.uint8)
    (theirs,) = oracle.decode_images((encode_image(pixels, "png"), 0, "uint8"))
    np.testing.assert_array_equal(pixels, theirs)


def files_of_jpeg() -> dict[str, bytes]:
    """Return JPEG files of every kind that Pillow writes, and CMYK as other programs store it."""
    random = np.random.default_rng(0)
    files = {}
    for (height, width), progressive in itertools.product([(1, 1), (HEIGHT, WIDTH), (16, 16), (50, 67)], [False, True]):
        name = f"{height}x{width} {'progressive' if progressive else 'baseline'}"
        pixels = random.integers(0, 256, (height, width, 4), np.uint8)
        options: dict[str, Any] = {"quality": 70, "progressive": progressive}
        files[f"{name} gray"] = jpeg(pixels[..., 0], **options)
        for subsampling in (0, 1, 2):
            files[f"{name} color {subsampling}"] = jpeg(pixels[..., :3], subsampling=subsampling, **options)
        files[f"{name} restarts"] = jpeg(pixels[..., :3], restart_marker_blocks=2, **options)
        files[f"{name} RGB"] = jpeg(pixels[..., :3], keep_rgb=True, **options)
        cmyk = jpeg(Image.fromarray(pixels, "CMYK"), **options)
        adobe = cmyk.index(b"\xff\xee")
        files[f"{name} CMYK of Adobe"] = cmyk
        files[f"{name} CMYK"] = cmyk[:adobe] + cmyk[adobe + 16 :]
        files[f"{name} YCCK"] = cmyk[: adobe + 15] + b"\2" + cmyk[adobe + 16 :]
    return files


def jpeg(pixels: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    image.save(file, "JPEG", **options)
    return file.getvalue()


needs_libjpeg = pytest.mark.skipif(not _core.DECODES_JPEG, reason="this build is without libjpeg-turbo")

OPTIONS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"dct_method": "INTEGER_FAST"}, {}),
    ({"dct_method": "INTEGER_ACCURATE"}, {"accurate_dct": True}),
    ({"fancy_upscaling": False}, {"fancy_upscaling": False}),
    ({"channels": 1}, {"channels": 1}),
    ({"channels": 3}, {"channels": 3}),
    ({"ratio": 2}, {"ratio": 2}),
    ({"ratio": 8}, {"ratio": 8}),
    ({"try_recover_truncated": True}, {"recover_truncated": True}),
    ({"acceptable_fraction": 0.25}, {"acceptable_fraction": 0.25}),
]


@needs_libjpeg
@pytest.mark.parametrize(("theirs", "ours"), OPTIONS)
def test_every_jpeg_has_the_same_pixels(oracle: Oracle, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    files = files_of_jpeg()
    decoded = _core.ImageDecoder(max_pixels=1 << 29, **ours).decode_list(list(files.values()), None)[1]
    expected = oracle.decode_jpegs(*((data, theirs) for data in files.values()))
    for name, found, pixels in zip(files, decoded.values(), expected, strict=True):
        assert isinstance(found, np.ndarray) == (pixels is not None), f"{name}: {found}"
        if pixels is not None:
            np.testing.assert_array_equal(found, pixels, err_msg=name)


@needs_libjpeg
@pytest.mark.parametrize(("theirs", "ours"), [option for option in OPTIONS if "dct_method" not in option[0]])
def test_damaged_jpegs_are_refused_or_have_the_same_pixels(
    oracle: Oracle, theirs: dict[str, Any], ours: dict[str, Any]
) -> None:
    files = list(damaged(list(files_of_jpeg().values())[-20:], 10))
    decoded = _core.ImageDecoder(max_pixels=1 << 29, **ours).decode_list(files, None)[1]
    check_equal(list(decoded.values()), oracle.decode_jpegs(*((data, theirs) for data in files)))


def test_damaged_pngs_are_refused_or_have_the_same_pixels(oracle: Oracle) -> None:
    random = np.random.default_rng(0)
    whole = [
        png(WIDTH, HEIGHT, random.bytes(WIDTH * HEIGHT * 3), color=RGB),
        png(WIDTH, HEIGHT, random.bytes(WIDTH * HEIGHT), color=PALETTE, chunks={b"PLTE": random.bytes(300)}),
        png(WIDTH, HEIGHT, bytes(WIDTH * HEIGHT), chunks={b"tRNS": b"\0\0", b"tEXt": b"Title\0one"}),
    ]
    cut_or_flipped = list(damaged(whole, 60))
    files = cut_or_flipped + [with_right_checksums(data) for data in cut_or_flipped]
    decoded = _core.ImageDecoder(max_pixels=1 << 29).decode_list(files, None)[1]
    check_equal(list(decoded.values()), oracle.decode_images(*((data, 0, "uint8") for data in files)))


def damaged(files: list[bytes], times: int) -> Iterator[bytes]:
    """Cut files, and change bytes of them."""
    random = np.random.default_rng(1)
    for data in files:
        for _ in range(times):
            yield data[: random.integers(len(data))]
            changed = bytearray(data)
            for place in random.integers(8, len(data), random.integers(1, 4)):
                changed[place] = random.integers(256)
            yield bytes(changed)


def with_right_checksums(data: bytes) -> bytes:
    """Fix the checksums of the chunks of a PNG file."""
    fixed, at = bytearray(data), 8
    while at + 12 <= len(fixed):
        stop = at + 8 + int.from_bytes(fixed[at : at + 4], "big")
        if stop + 4 > len(fixed):
            break
        fixed[stop : stop + 4] = zlib.crc32(fixed[at + 4 : stop]).to_bytes(4, "big")
        at = stop + 4
    return bytes(fixed)


def check_equal(ours: list[Any], theirs: list[Any]) -> None:
    assert 0 < sum(pixels is not None for pixels in theirs) < len(theirs)
    for found, pixels in zip(ours, theirs, strict=True):
        assert isinstance(found, np.ndarray) == (pixels is not None), found
        if pixels is not None:
            np.testing.assert_array_equal(found, pixels)
