"""Images: what was encoded comes back, channels are as asked, and damage has one kind of error."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from png_files import GRAY_ALPHA, PALETTE, RGB, RGBA, png
from schema_examples import sequence_example

import penstock as ps
from penstock import _core
from penstock.codec.images import decode_image, encode_image

ANY = (None, None, None)
PIXELS = np.random.default_rng(0).integers(0, 256, (9, 7, 4), np.uint8)


@pytest.mark.parametrize("encoding", ["png", "image"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png_keeps_every_bit(encoding: str, channels: int):
    data = encode_image(PIXELS[..., :channels], encoding)
    for shape in [ANY, (9, 7, channels)]:
        decoded = decode_image(data, dtype="uint8", shape=shape)
        np.testing.assert_array_equal(decoded, PIXELS[..., :channels])
        assert decoded.flags.writeable


@pytest.mark.parametrize("order", ["<u2", ">u2"])
def test_png_keeps_every_bit_of_uint16(order: str):
    pixels = np.random.default_rng(0).integers(0, 65536, (9, 7, 1)).astype(order)
    decoded = decode_image(encode_image(pixels, "png"), dtype="uint16", shape=(9, 7, 1))
    assert decoded.dtype == np.uint16
    np.testing.assert_array_equal(decoded, pixels)


@pytest.mark.parametrize("channels", [1, 3])
def test_jpeg_is_near(channels: int):
    ramp = np.linspace(0, 255, 64).astype(np.uint8)
    pixels = np.stack([np.add.outer(ramp // 2, ramp // 2)] * channels, axis=-1)
    decoded = decode_image(encode_image(pixels, "jpeg"), dtype="uint8", shape=(64, 64, channels))
    assert np.abs(decoded.astype(int) - pixels).max() <= 4


def test_a_lower_quality_is_smaller():
    assert len(encode_image(PIXELS[..., :3], "jpeg", quality=10)) < len(encode_image(PIXELS[..., :3], "jpeg"))


@pytest.mark.parametrize(
    ("data", "channels", "expected"),
    [
        pytest.param(png(1, 1, b"\x10"), 3, [16, 16, 16], id="gray is repeated"),
        pytest.param(png(1, 1, b"\x10"), 4, [16, 16, 16, 255], id="alpha is opaque"),
        pytest.param(png(1, 1, b"\x10", chunks={b"tRNS": b"\0\x10"}), 2, [16, 0], id="a transparent gray"),
        pytest.param(png(2, 1, b"\x40", depth=1), 1, [0, 255], id="black and white"),
        pytest.param(png(2, 1, b"\x4f", depth=4), 1, [68, 255], id="gray of 4 bits"),
        pytest.param(png(1, 1, b"\x10\x20\x30", color=RGB), 1, [29], id="color is weighed"),
        pytest.param(png(1, 1, b"\x10\x20\x30\x40", color=RGBA), 3, [16, 32, 48], id="alpha is dropped"),
        pytest.param(png(1, 1, b"\x10\x20", color=GRAY_ALPHA), 4, [16, 16, 16, 32], id="alpha is kept"),
        pytest.param(png(1, 1, b"\0", color=PALETTE, chunks={b"PLTE": b"abc"}), None, [97, 98, 99], id="a palette"),
        pytest.param(
            png(1, 1, b"\0", color=PALETTE, chunks={b"PLTE": b"abc", b"tRNS": b"\x80"}),
            None,
            [97, 98, 99, 128],
            id="a palette with alpha",
        ),
        pytest.param(png(1, 1, b"\x12\x34", depth=16), 1, [0x12], id="16 bits keep the upper 8"),
        pytest.param(png(1, 1, b"\x12\x34", depth=16), 4, [0x12, 0x12, 0x12, 255], id="16 bits with alpha"),
    ],
)
def test_channels_are_as_asked(data: bytes, channels: int | None, expected: list[int]):
    assert decode_image(data, dtype="uint8", shape=(None, None, channels)).ravel().tolist() == expected


@pytest.mark.parametrize(("color", "channels"), [(RGB, 3), (GRAY_ALPHA, 2), (RGBA, 4)])
def test_png_keeps_16_bits_of_every_channel(color: int, channels: int):
    pixels = np.random.default_rng(0).integers(0, 65536, (5, 3, channels)).astype(">u2")
    data = png(3, 5, pixels.tobytes(), depth=16, color=color)
    np.testing.assert_array_equal(decode_image(data, dtype="uint16", shape=ANY), pixels)
    np.testing.assert_array_equal(decode_image(data, dtype="uint8", shape=ANY), pixels >> 8)


def test_8_bits_fill_16():
    assert decode_image(png(2, 1, b"\x10\xff"), dtype="uint16", shape=ANY).ravel().tolist() == [0x1010, 0xFFFF]


@pytest.mark.parametrize("kind", ["GIF", "BMP", "WEBP", "TIFF", "PPM"])
def test_other_formats_are_read(kind: str):
    file = io.BytesIO()
    Image.fromarray(np.full((4, 6, 3), 255, np.uint8)).save(file, kind, lossless=True)
    np.testing.assert_array_equal(decode_image(file.getvalue(), dtype="uint8", shape=(4, 6, 3)), 255)


EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 4 4\n%%EndComments\nshowpage\n%%EOF\n"


@pytest.mark.parametrize(
    ("data", "dtype", "shape", "reason"),
    [
        (b"", "uint8", ANY, "format is unknown"),
        (b"no image", "uint8", ANY, "format is unknown"),
        (EPS, "uint8", ANY, "format is unknown"),
        (png(4, 4, bytes(16))[:-30], "uint8", ANY, "cannot be decoded"),
        (png(4, 4, bytes(16)), "uint8", (4, 5, 1), r"expected an image of shape \(4, 5, 1\), found .* \(4, 4\)"),
        (png(3, 1, b"", color=PALETTE), "uint8", ANY, "no palette"),
        (png(1_000_001, 1, b""), "uint8", ANY, "header is invalid"),
        (encode_image(PIXELS[..., :3], "jpeg"), "uint16", ANY, "from PNG and TIFF, found JPEG"),
    ],
)
def test_what_does_not_fit_raises(data: bytes, dtype: str, shape: tuple[int | None, ...], reason: str):
    with pytest.raises(ps.MalformedExampleError, match=reason):
        decode_image(data, dtype=dtype, shape=shape)


# Beyond the limit Pillow warns, beyond twice the limit it raises.
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("side", [10_000, 60_000])
def test_a_bomb_raises_before_it_is_decoded(side: int):
    with pytest.raises(ps.MalformedExampleError, match="pixels"):
        decode_image(png(side, side, b""), dtype="uint8", shape=ANY)


def test_an_image_that_the_schema_has_no_room_for_raises_before_it_is_decoded():
    # Below Pillow's limit, and without the pixels that its header promises: decoding it would report these.
    with pytest.raises(ps.MalformedExampleError, match="found height and width"):
        decode_image(png(5000, 5000, b""), dtype="uint8", shape=(9, 7, 3))


@pytest.mark.filterwarnings("ignore::UserWarning")  # Pillow's, about metadata
@pytest.mark.parametrize("encoding", ["png", "jpeg"])
@settings(max_examples=60)
@given(data=st.data())
def test_damage_gives_an_image_or_one_kind_of_error(encoding: str, data: st.DataObject):
    damaged = bytearray(encode_image(PIXELS[..., :3], encoding))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        decode_image(damaged[: data.draw(st.integers(0, len(damaged)))], dtype="uint8", shape=(9, 7, 3))
    except ps.MalformedExampleError:
        pass


@pytest.mark.parametrize("encoding", ["png", "jpeg", "image"])
@pytest.mark.parametrize(
    "array",
    [np.zeros((2, 2), np.uint8), np.zeros((2, 2, 5), np.uint8), np.zeros((2, 0, 3), np.uint8), np.ones((2, 2, 3))],
)
def test_arrays_that_are_no_images_raise(encoding: str, array: np.ndarray):
    with pytest.raises(ps.SchemaError, match=rf'encoding="{encoding}" takes'):
        encode_image(array, encoding)


@pytest.mark.parametrize("encoding", ["png", "jpeg"])
@pytest.mark.parametrize("progressive", [False, True])
def test_a_truncated_file_raises_wherever_it_ends(encoding: str, progressive: bool):
    file = io.BytesIO()
    Image.fromarray(PIXELS[..., :3]).save(file, encoding, progressive=progressive)
    data = file.getvalue()
    for size in range(len(data)):
        with pytest.raises(ps.MalformedExampleError):
            decode_image(data[:size], dtype="uint8", shape=ANY)


native_jpeg = pytest.mark.skipif(not _core.DECODES_JPEG, reason="this build is without libjpeg-turbo")


def jpeg(**options: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(PIXELS[..., 0]).save(file, "JPEG", **options)
    return file.getvalue()


@native_jpeg
def test_a_jpeg_image_without_tables_of_its_own_does_not_use_those_of_another():
    data = jpeg()
    start = data.index(b"\xff\xdb")
    stop = start + 2 + int.from_bytes(data[start + 2 : start + 4], "big")
    with pytest.raises(ps.MalformedExampleError, match="record 1"):
        column([data, data[:start] + data[stop:]], ANY)


@native_jpeg
def test_a_jpeg_image_of_very_many_scans_raises():
    data = jpeg(progressive=True)
    last = data.rindex(b"\xff\xda")
    scan = data[last:-2]
    decode_image(data[:-2] + 20 * scan + data[-2:], dtype="uint8", shape=ANY)
    with pytest.raises(ps.MalformedExampleError, match="100 scans"):
        decode_image(data[:-2] + 200 * scan + data[-2:], dtype="uint8", shape=ANY)


@native_jpeg
def test_a_jpeg_bomb_raises_before_it_is_decoded():
    data = jpeg()
    size = data.index(b"\xff\xc0") + 5
    with pytest.raises(ps.MalformedExampleError, match="too many pixels"):
        decode_image(data[:size] + b"\x7f\xff" * 2 + data[size + 4 :], dtype="uint8", shape=ANY)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_jpeg_channels_are_as_asked(channels: int):
    color = decode_image(encode_image(PIXELS[..., :3], "jpeg"), dtype="uint8", shape=(9, 7, channels))
    gray = decode_image(jpeg(), dtype="uint8", shape=(9, 7, channels))
    if channels % 2 == 0:
        assert (color[..., -1] == 255).all()
        assert (gray[..., -1] == 255).all()
    if channels >= 3:
        assert (gray[..., 0] == gray[..., 2]).all()
        assert (color[..., 0] != color[..., 2]).any()


def test_the_limit_of_pixels_is_that_of_pillow(monkeypatch: pytest.MonkeyPatch):
    data = png(20, 5, bytes(100))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 99)
    with pytest.raises(ps.MalformedExampleError, match="MAX_IMAGE_PIXELS is 99"):
        decode_image(data, dtype="uint8", shape=ANY)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    assert decode_image(data, dtype="uint8", shape=ANY).shape == (5, 20, 1)


@pytest.mark.parametrize("threads", [1, 3])
def test_every_number_of_threads_gives_the_same_column(threads: int):
    rows = [encode_image(PIXELS[:, : 3 + i % 4, :3], "jpeg" if i % 2 else "png") for i in range(200)]
    schema = ps.Schema({"image": ps.Feature("uint8", (9, None, 3), encoding="image")})
    records = ps.Encoder(ps.Schema({"image": "bytes"})).encode([{"image": row} for row in rows])
    images = ps.Decoder(schema, threads=threads).decode(records)["image"]
    for row, image in zip(rows, images, strict=True):
        np.testing.assert_array_equal(image, decode_image(row, dtype="uint8", shape=ANY))


def column(rows: list[bytes], shape: tuple[int | None, ...]) -> np.ndarray:
    """Decode a column of images."""
    records = ps.Encoder(ps.Schema({"image": "bytes"})).encode([{"image": row} for row in rows])
    decoder = ps.Decoder(ps.Schema({"image": ps.Feature("uint8", shape, encoding="image")}))
    return decoder.decode(records)["image"]


def test_many_images_keep_their_order():
    images = column([png(1, 1, bytes([number])) for number in range(100)], (1, 1, 1))
    assert images.ravel().tolist() == list(range(100))


def test_images_of_several_sizes_are_an_array_of_arrays():
    images = column([png(width, 1, bytes(width)) for width in range(1, 9)], (None, None, 3))
    assert [image.shape for image in images] == [(1, width, 3) for width in range(1, 9)]


def test_no_images_are_an_empty_column():
    assert column([], (2, 3, 1)).shape == (0, 2, 3, 1)


def test_the_first_bad_image_is_named():
    rows = [png(1, 1, b"a"), b"no image", png(1, 1, b"b"), b"none either"]
    with pytest.raises(ps.MalformedExampleError, match="record 1") as caught:
        column(rows, ANY)
    assert (caught.value.record, caught.value.feature) == (1, "image")


def test_the_record_of_a_bad_image_among_the_steps_of_many_is_named():
    schema = ps.Schema({}, sequence={"frames": ps.Feature("uint8", (1, 1, 1), encoding="png")})
    frames = [[b"\x10"], [], [b"\x20", b"\x30"], [b"\x40", b"bad", b"\x50"], [b"\x60"]]
    records = [
        sequence_example({}, {"frames": [data if data == b"bad" else png(1, 1, data) for data in steps]})
        for steps in frames
    ]
    with pytest.raises(ps.MalformedExampleError, match="record 3") as caught:
        ps.Decoder(schema).decode(records)
    assert (caught.value.record, caught.value.feature) == (3, "frames")


def test_without_pillow_other_formats_name_the_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    assert decode_image(png(1, 1, b"a"), dtype="uint8", shape=ANY).shape == (1, 1, 1)
    with pytest.raises(ps.MissingExtraError, match=r"penstock\[image\]"):
        decode_image(b"GIF89a", dtype="uint8", shape=ANY)
    with pytest.raises(ps.MissingExtraError, match=r"penstock\[image\]"):
        column([b"GIF89a"] * 10, ANY)


@pytest.mark.parametrize("name", ["a.jpg", Path("a.jpg")])
def test_the_name_of_a_file_is_no_image(name: str | Path):
    schema = ps.Schema({"image": ps.Feature("uint8", (None, None, 3), encoding="jpeg")})
    with pytest.raises(ps.SchemaError, match=r"bytes of a jpeg file, found \w+; .* Path\(name\)\.read_bytes\(\)"):
        ps.Encoder(schema).encode([{"image": name}])
