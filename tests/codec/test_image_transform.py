"""Pictures are cropped, resized, flipped and normalized in one step, as a full decode and NumPy would do it."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image
from PIL.Image import Resampling

import penstock as ps
from penstock import _core
from penstock.codec.image_transform import PictureTransformer
from penstock.codec.images import decode_image

ANY = (None, None, 3)
ROW = np.zeros(1, np.int64)


def photo(height: int, width: int, seed: int = 0) -> np.ndarray:
    """Return a smooth picture with a little grain."""
    random = np.random.default_rng(seed)
    coarse = Image.fromarray(random.integers(0, 256, (height // 16 + 2, width // 16 + 2, 3), np.uint8))
    smooth = np.asarray(coarse.resize((width, height), Resampling.BICUBIC), np.float64)
    return np.clip(smooth + random.normal(0, 4, smooth.shape), 0, 255).astype(np.uint8)


def encoded(pixels: np.ndarray, kind: str = "JPEG", **options: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind, **options)
    return file.getvalue()


def outcome(files: list[bytes], *, seed: int = 0, threads: int = 1, **options: Any) -> tuple[Any, dict[int, str]]:
    column, rows = ps.BytesColumn.from_values(files, text=False), np.arange(len(files))
    transform = PictureTransformer(ps.ImageTransform(**options), seed=seed, threads=threads)
    return transform(column, rows, np.zeros_like(rows))


def transformed(files: list[bytes], **options: Any) -> np.ndarray:
    result, faults = outcome(files, **options)
    assert isinstance(result, np.ndarray)
    assert not faults
    return result


def psnr(one: np.ndarray, other: np.ndarray) -> float:
    """Return the ratio of 255 to the noise between two pictures with pixels from 0 to 255, in dB."""
    return float(10 * np.log10(255**2 / max(np.mean((one.astype(float) - other) ** 2), 1e-9)))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "BMP"])
def test_without_antialiasing_it_is_a_full_decode_and_resize(kind: str):
    data = encoded(photo(75, 90), kind)
    whole = decode_image(data, dtype="uint8", shape=ANY)
    found = transformed([data], resize=(33, 41), antialias=False, exact=True)[0]
    np.testing.assert_allclose(found * 255, ps.image.resize(whole, (33, 41)), atol=0.01)


@pytest.mark.parametrize("size", [(33, 41), (75, 90), (120, 100), (10, 200)])
def test_with_antialiasing_it_is_what_pillow_does(size: tuple[int, int]):
    data = encoded(photo(75, 90))
    whole = Image.fromarray(decode_image(data, dtype="uint8", shape=ANY))
    found = transformed([data], resize=size, exact=True, dtype="uint8")[0]
    expected = np.asarray(whole.resize(size[::-1], Resampling.BILINEAR)).astype(int)
    assert np.abs(found - expected).max() <= 1  # Pillow rounds twice


def test_evaluation_resizes_the_shorter_side_and_crops_the_center():
    data = encoded(photo(90, 150))
    whole = Image.fromarray(decode_image(data, dtype="uint8", shape=ANY))
    resized = np.asarray(whole.resize((80, 48), Resampling.BILINEAR)).astype(int)
    found = transformed([data], resize=48, center_crop=32, dtype="uint8", exact=True)[0]
    assert np.abs(found - resized[8:40, 24:56]).max() <= 1


def test_a_center_alone_is_not_resized():
    data = encoded(photo(50, 61))
    whole = decode_image(data, dtype="uint8", shape=ANY)
    np.testing.assert_array_equal(
        transformed([data], center_crop=(20, 31), dtype="uint8", exact=True)[0], whole[15:35, 15:46]
    )
    assert "smaller than the part" in outcome([data], center_crop=51)[1][0]


# What docs/pictures.md says of the quality.
@pytest.mark.parametrize(
    ("height", "width", "options", "least"),
    [
        (375, 500, {"random_resized_crop": 224}, 45),
        (375, 500, {"random_resized_crop": 64}, 40),
        (375, 500, {"resize": 256, "center_crop": 224}, 45),
        (1500, 2000, {"random_resized_crop": 224}, 40),
    ],
)
def test_decoding_less_changes_pixels_little(height: int, width: int, options: dict[str, Any], least: float):
    files = [encoded(photo(height, width, seed), quality=85) for seed in range(2 if height > 1000 else 8)]
    quick = transformed(files, dtype="uint8", **options)
    exact = transformed(files, dtype="uint8", exact=True, **options)
    assert min(map(psnr, quick, exact)) > least


def test_layouts_and_dtypes_hold_the_same_pixels():
    data, options = encoded(photo(60, 80)), {"random_resized_crop": (24, 31), "flip": True}
    pixels = transformed([data], **options)[0]
    np.testing.assert_array_equal(transformed([data], layout="CHW", **options)[0], pixels.transpose(2, 0, 1))
    np.testing.assert_array_equal(transformed([data], dtype="float16", **options)[0], pixels.astype(np.float16))
    np.testing.assert_array_equal(
        transformed([data], dtype="uint8", **options)[0], np.floor(pixels.astype(np.float64) * 255 + 0.5)
    )
    mean, deviation = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    normalized = transformed([data], normalize=(mean, deviation), **options)[0]
    np.testing.assert_allclose(normalized, (pixels - np.array(mean)) / np.array(deviation), atol=1e-5)
    gray = transformed([data], channels=1, layout="CHW", **options)[0]
    assert gray.shape == (1, 24, 31)


def test_a_flip_mirrors_the_picture():
    data = encoded(photo(60, 80))
    plain, mirrored = (transformed([data], resize=(30, 40), flip=flip)[0] for flip in (0.0, 1.0))
    np.testing.assert_array_equal(mirrored, plain[:, ::-1])


def test_random_parts_depend_on_seed_epoch_and_row_alone():
    column = ps.BytesColumn.from_values([encoded(photo(60, 80))] * 40, text=False)
    transform = ps.ImageTransform(random_resized_crop=16, flip=True)
    rows, epochs = np.arange(40), np.zeros(40, np.int64)

    def run(seed: int, threads: int, rows: np.ndarray, epochs: np.ndarray) -> np.ndarray:
        result, _ = PictureTransformer(transform, seed=seed, threads=threads)(column[: len(rows)], rows, epochs)
        assert isinstance(result, np.ndarray)
        return result

    pictures = run(7, 1, rows, epochs)
    np.testing.assert_array_equal(run(7, 3, rows, epochs), pictures)
    np.testing.assert_array_equal(run(7, 1, rows[::-1].copy(), epochs), pictures[::-1])
    assert len({picture.tobytes() for picture in pictures}) == 40
    assert (run(8, 1, rows, epochs) != pictures).any(axis=(1, 2, 3)).all()
    assert (run(7, 1, rows, epochs + 1) != pictures).any(axis=(1, 2, 3)).all()


def test_random_parts_have_the_areas_and_ratios_that_are_asked_for():
    transform = ps.ImageTransform(random_resized_crop=16, scale=(0.2, 0.5), ratio=(0.5, 2), flip=0.25)
    native = PictureTransformer(transform, seed=1, threads=1)
    parts = np.array([native.choose(300, 400, row, 0) for row in range(4000)])
    top, left, height, width, flipped = parts.T
    assert (np.minimum(top, left) >= 0).all()
    assert ((top + height <= 300) & (left + width <= 400)).all()
    share = height * width / 300 / 400
    assert share.min() == pytest.approx(0.2, abs=0.01)
    assert share.max() == pytest.approx(0.5, abs=0.01)
    assert share.mean() == pytest.approx(0.35, abs=0.01)
    assert np.log(width / height).mean() == pytest.approx(0, abs=0.05)
    assert flipped.mean() == pytest.approx(0.25, abs=0.03)
    # Wider than any ratio that is allowed: the center.
    assert PictureTransformer(ps.ImageTransform(random_resized_crop=16), seed=1, threads=1).choose(10, 1000, 0, 0) == (
        0.0,
        493.0,
        10.0,
        13.0,
        False,
    )


@pytest.mark.parametrize("size", [(1, 1), (1, 40), (40, 1), (2, 3)])
def test_tiny_pictures_are_enlarged(size: tuple[int, int]):
    pixels = photo(*size)
    for options in ({"random_resized_crop": 8}, {"resize": (8, 9)}, {"resize": 12, "center_crop": 8}):
        assert np.isfinite(transformed([encoded(pixels, kind) for kind in ("PNG", "JPEG")], **options)).all()


def test_every_bad_picture_is_a_fault_of_its_row():
    good = encoded(photo(40, 40))
    for bad in (good[: len(good) // 2], b"", b"no picture", encoded(photo(40, 40), "PNG")[:-20]):
        pictures, faults = outcome([good, good, bad, good, bad], resize=(20, 20))
        assert list(faults) == [2, 4]
        np.testing.assert_array_equal(pictures[[0, 1, 3]], transformed([good] * 3, resize=(20, 20)))


@pytest.mark.skipif(not _core.DECODES_JPEG, reason="this build is without libjpeg-turbo")
def test_what_follows_the_part_may_be_missing_only_if_the_file_has_an_end():
    data = encoded(photo(400, 400))
    assert data.endswith(b"\xff\xd9")
    for cut in (2, 100, len(data) // 2):
        assert outcome([data[:-cut]] * 8, random_resized_crop=32)[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "none of them"),
        ({"random_resized_crop": 8, "resize": 8}, "random_resized_crop and resize"),
        ({"resize": 8}, "shorter side"),
        ({"resize": (8, 8), "center_crop": 8}, "one number"),
        ({"resize": 8, "center_crop": 9}, "larger than resize"),
        ({"resize": (0, 8)}, "1 or more"),
        ({"resize": (8, 8), "flip": 1.5}, "probability"),
        ({"resize": (8, 8), "channels": 4}, "channels"),
        ({"resize": (8, 8), "layout": "NCHW"}, "layout"),
        ({"resize": (8, 8), "dtype": "uint8", "normalize": ((0,) * 3, (1,) * 3)}, "normalize needs dtype"),
        ({"resize": (8, 8), "normalize": ((0, 0), (1, 1))}, "each of 3 channels"),
        ({"random_resized_crop": 8, "scale": (0.5, 0.1)}, "in order"),
    ],
)
def test_arguments_that_contradict_each_other_raise(options: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        ps.ImageTransform(**options)
