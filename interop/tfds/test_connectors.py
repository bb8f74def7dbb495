"""Every connector of TFDS, and random nestings of them: our values are those of TFDS."""

from __future__ import annotations

import io
import json
import random
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds
from PIL import Image
from tfds_values import assert_equal, plain

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.filterwarnings("default")

F = tfds.features


def rng_of(random_: random.Random) -> np.random.Generator:
    return np.random.default_rng(random_.getrandbits(32))


def array(r: random.Random, shape: tuple[int | None, ...], dtype: Any) -> np.ndarray:
    shape = tuple(r.randint(0, 3) if size is None else size for size in shape)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng_of(r).random(shape) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng_of(r).integers(info.min, info.max, shape, dtype, endpoint=True)
    return rng_of(r).normal(size=shape).astype(np.float32).astype(dtype)


def picture(r: random.Random, shape: tuple[int | None, ...], dtype: Any = np.uint8) -> np.ndarray:
    return array(r, tuple(r.randint(1, 6) if size is None else size for size in shape), dtype)


def jpeg(r: random.Random) -> io.BytesIO:
    file = io.BytesIO()
    Image.fromarray(picture(r, (16, 24, 3))).save(file, "JPEG")
    file.seek(0)
    return file


BFLOAT16 = __import__("ml_dtypes").bfloat16
LEAVES: dict[str, tuple[Any, Any]] = {
    "text": (F.Text(), lambda r: r.choice(["", "a", "snow \N{SNOWMAN}"])),
    "label": (F.ClassLabel(names=["a", "b", "c"]), lambda r: r.choice(["a", "b", "c"])),
    "bbox": (F.BBoxFeature(), lambda r: F.BBox(0.25, 0.5, 0.75, 1.0)),
    "free box": (F.BBoxFeature(bbox_format=None), lambda r: np.array([1, 2, 3, 4], np.float32)),
    "image": (F.Image(), lambda r: picture(r, (None, None, 3))),
    "fixed image": (F.Image(shape=(4, 5, 3)), lambda r: picture(r, (4, 5, 3))),
    "gray png": (F.Image(shape=(4, None, 1), encoding_format="png"), lambda r: picture(r, (4, None, 1))),
    "jpeg file": (F.Image(shape=(16, 24, 3)), jpeg),
    "uint16": (F.Image(shape=(3, 4, 1), dtype=np.uint16, encoding_format="png"), lambda r: picture(r, (3, 4, 1), "u2")),
    "depth": (F.Image(shape=(3, 4, 1), dtype=np.float32), lambda r: picture(r, (3, 4, 1), np.float32)),
    "any depth": (F.Image(shape=(None, None, 1), dtype=np.float32), lambda r: picture(r, (None, None, 1), np.float32)),
    "labels": (F.LabeledImage(labels=4, shape=(None, None, 1)), lambda r: picture(r, (None, None, 1))),
    "scalar": (F.Scalar(np.int32), lambda r: r.randint(-5, 5)),
    "audio": (F.Audio(shape=(6,)), lambda r: array(r, (6,), np.int64)),
}
for _dtype in ("bool", "int8", "uint8", "int16", "int32", "int64", "uint32", "uint64", "float16", "float32", "float64"):
    for _shape in ((), (3,), (2, 2)):
        for _encoding in ("none", "bytes", "zlib"):
            LEAVES[f"{_dtype}{_shape}{_encoding}"] = (
                F.Tensor(shape=_shape, dtype=np.dtype(_dtype), encoding=_encoding),
                lambda r, shape=_shape, dtype=_dtype: array(r, shape, dtype),
            )
LEAVES["bfloat16"] = F.Tensor(shape=(3,), dtype=BFLOAT16), lambda r: array(r, (3,), BFLOAT16)
LEAVES["bfloat16 bytes"] = F.Tensor(shape=(3,), dtype=BFLOAT16, encoding="bytes"), lambda r: array(r, (3,), BFLOAT16)
LEAVES["strings"] = F.Tensor(shape=(2,), dtype=np.str_), lambda r: np.array([b"a", b"\xff"], object)

# These cannot be in every sequence.
ALONE: dict[str, tuple[Any, Any]] = {
    "optional": (F.Tensor(shape=(2,), dtype=np.int32, optional=True), lambda r: r.choice([None, array(r, (2,), "i4")])),
    "optional scalar": (F.Scalar(np.float32, optional=True), lambda r: r.choice([None, 1.5])),
    "stereo": (F.Audio(shape=(None, 2), dtype=np.int32), lambda r: array(r, (None, 2), np.int32)),
    "audio zlib": (F.Audio(shape=(None,), encoding="zlib"), lambda r: array(r, (None,), np.int64)),
    "video": (F.Video(shape=(None, 4, 4, 3)), lambda r: picture(r, (r.randint(1, 3), 4, 4, 3))),
    "any video": (F.Video(shape=(None, None, None, 3)), lambda r: picture(r, (2, None, None, 3))),
    "translation": (F.Translation(["en", "fr"]), lambda r: {"en": "cat", "fr": "chat"}),
    "translations": (F.TranslationVariableLanguages(), lambda r: {"en": "cat", "fr": ["le chat", "la chatte"]}),
}
for _dtype in ("uint8", "uint64", "float32", "bool"):
    ALONE[f"ragged {_dtype}"] = (
        F.Tensor(shape=(None, 3), dtype=np.dtype(_dtype)),
        lambda r, dtype=_dtype: array(r, (None, 3), dtype),
    )
    ALONE[f"inner {_dtype}"] = (
        F.Tensor(shape=(3, None), dtype=np.dtype(_dtype)),
        lambda r, dtype=_dtype: array(r, (3, r.randint(1, 3)), dtype),
    )
    for _encoding in ("bytes", "zlib"):
        ALONE[f"unknown {_dtype} {_encoding}"] = (
            F.Tensor(shape=(None, 2, None), dtype=np.dtype(_dtype), encoding=_encoding),
            lambda r, dtype=_dtype: array(r, (None, 2, None), dtype),
        )
        ALONE[f"ragged {_dtype} {_encoding}"] = (
            F.Tensor(shape=(None, 3), dtype=np.dtype(_dtype), encoding=_encoding),
            lambda r, dtype=_dtype: array(r, (r.randint(1, 3), 3), dtype),
        )


FAILURES = (NotImplementedError, AttributeError, ValueError, TypeError, KeyError, tf.errors.InvalidArgumentError)


def check(feature: Any, examples: list[Any], *, first_only: bool = False) -> None:
    """Let TFDS store examples, and both read them: TFDS with TensorFlow and without, where it can.

    With ``first_only``, TFDS reads without TensorFlow where it cannot with it: it misreads nested lengths without.
    """
    features = F.FeaturesDict({"x": feature, "id": np.int64})
    try:
        records = [features.serialize_example({"x": value, "id": n}) for n, value in enumerate(examples)]
    except FAILURES as error:
        pytest.skip(f"TFDS cannot store it: {str(error)[:80]}")
    rows = list(ps.Decoder(ps.Schema.from_tfds(json.dumps(features.to_json()))).decode(records).rows())
    compared = 0
    for row, record in zip(rows, records, strict=True):
        for read in (features.deserialize_example, features.deserialize_example_np):
            try:
                theirs = dict(read(record))
                found = {name: value for name, value in theirs.items() if row[name] is not None or value is None}
                for name in theirs.keys() - found.keys():  # TensorFlow has no None
                    assert np.all(theirs[name] == feature._default_value())
                values = [(row[name], plain(value)) for name, value in found.items()]
            except FAILURES:
                continue
            compared += 1
            for ours, value in values:
                assert_equal(ours, value)
            if first_only:
                break
    if not compared:
        pytest.skip("TFDS cannot read it")


def skip_jpeg_without_library(name: str) -> None:
    """Without libjpeg-turbo, Pillow decodes JPEG, to pixels that are a few units off TensorFlow's."""
    if name == "jpeg file" and not _core.DECODES_JPEG:
        pytest.skip("this build is without libjpeg-turbo")


@pytest.mark.parametrize("name", [*LEAVES, *ALONE])
def test_every_connector_decodes_to_the_values_of_tfds(name: str):
    skip_jpeg_without_library(name)
    feature, make = (LEAVES | ALONE)[name]
    r = random.Random(name)
    # OpenCV has another transform for JPEG than TensorFlow.
    check(feature, [make(r) for _ in range(4)], first_only=name == "jpeg file")


@pytest.mark.parametrize("name", [name for name in LEAVES if name != "jpeg file"])
def test_every_connector_in_a_sequence(name: str):
    feature, make = LEAVES[name]
    r = random.Random(name)
    # TensorFlow needs images of one size.
    check(F.Sequence(feature), [[make(r)] * n for n in (2, 1, 3)] + [[make(r) for _ in range(3)]])


def nested(r: random.Random, depth: int, kinds: list[str]) -> tuple[Any, Any]:
    """Return a random nesting, and a function that makes an example of it."""
    kind = r.choice(kinds if depth else ["leaf"])
    if kind == "leaf":
        return LEAVES[r.choice(IN_NESTINGS)]
    if kind == "dict":
        children = {f"f{n}": nested(r, depth - 1, kinds) for n in range(r.randint(1, 3))}
        return (
            F.FeaturesDict({name: feature for name, (feature, _) in children.items()}),
            lambda s: {name: make(s) for name, (_, make) in children.items()},
        )
    # TFDS has no datasets in datasets or sequences, and cannot read fixed lengths beside other levels.
    inside = ["leaf", "dict"] if kind == "fixed" else ["leaf", "dict", "sequence"]
    feature, make = nested(r, depth - 1, inside)
    if kind == "steps":
        return F.Dataset({"step": feature}), lambda s: [{"step": make(s)} for _ in range(s.randint(1, 3))]
    if kind == "fixed":
        return F.Sequence(feature, length=2), lambda s: [make(s) for _ in range(2)]
    return F.Sequence(feature), lambda s: [make(s) for _ in range(s.randint(1, 3))]


# TFDS decodes raw uint32 without TensorFlow alone, and images of different sizes in a sequence not at all.
UNEQUAL = ("image", "gray png", "any depth", "labels", "jpeg file", "bfloat16")
IN_NESTINGS = [name for name in LEAVES if name not in UNEQUAL and not (name.startswith("uint32") and name[-1] != "e")]


@pytest.mark.parametrize("seed", range(60))
def test_random_nestings(seed: int):
    r = random.Random(seed)
    feature, make = nested(r, 3, ["leaf", "dict", "sequence", "fixed", "steps"])
    check(feature, [make(r) for _ in range(3)], first_only=True)
