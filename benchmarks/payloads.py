"""The payloads of the workloads: seeded, and like what people keep in TFRecord files."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from wire import bytes_feature, example, float_feature, int64_feature, sequence_example

Generator = Callable[[np.random.Generator], Iterator[bytes]]

_WORDS = 20_000


def images(rng: np.random.Generator) -> Iterator[bytes]:
    """20,000 small pictures: smooth shapes and a little noise; gzip takes a tenth off, as of photos."""
    steps = np.linspace(0, 3, 32)
    left = np.minimum(steps.astype(int), 2)
    weights = np.zeros((32, 4))
    weights[np.arange(32), left] = 1 - (steps - left)
    weights[np.arange(32), left + 1] = steps - left
    for _ in range(20_000):
        coarse = rng.uniform(-150, 405, (4, 4, 3))
        smooth = np.einsum("yi,xj,ijc->yxc", weights, weights, coarse)
        pixels = np.clip(smooth + rng.normal(0, 0.7, smooth.shape), 0, 255).astype(np.uint8)
        yield example({"image": bytes_feature(pixels.tobytes()), "label": int64_feature([int(rng.integers(10))])})


def floats(rng: np.random.Generator) -> Iterator[bytes]:
    """8,000 FloatLists of 4096."""
    for _ in range(8_000):
        values = rng.standard_normal(4096, np.float32)
        yield example({"image": float_feature(values), "label": int64_feature([int(rng.integers(10))])})


def raw_floats(rng: np.random.Generator) -> Iterator[bytes]:
    """8,000 times 64 * 64 float32 as raw bytes."""
    for _ in range(8_000):
        values = rng.standard_normal((64, 64), np.float32)
        yield example({"image": bytes_feature(values.tobytes()), "label": int64_feature([int(rng.integers(10))])})


def tabular(rng: np.random.Generator) -> Iterator[bytes]:
    """200,000 rows of 13 floats and 26 categories, as in click logs."""
    for _ in range(200):
        numbers = rng.lognormal(1, 2, (1000, 13)).astype(np.float32)
        categories = rng.integers(0, 1 << 20, (1000, 26)).tolist()
        labels = rng.integers(0, 2, 1000).tolist()
        for row in range(1000):
            features = {"label": int64_feature([labels[row]])}
            features |= {f"I{i + 1}": float_feature(numbers[row, i : i + 1]) for i in range(13)}
            features |= {f"C{i + 1}": int64_feature([categories[row][i]]) for i in range(26)}
            yield example(features)


def ragged_text(rng: np.random.Generator) -> Iterator[bytes]:
    """100,000 texts of 20 to 400 bytes with 20 to 200 tokens; words are as rare as in a language."""
    letters = rng.integers(97, 123, (_WORDS, 12), dtype=np.uint8)
    words = [bytes(letters[i, : 2 + i % 10]) for i in range(_WORDS)]
    for _ in range(100_000):
        tokens = (rng.zipf(1.3, int(rng.integers(20, 201))) % 50_000).tolist()
        text = b" ".join(words[token % _WORDS] for token in tokens)[: int(rng.integers(20, 401))]
        features = {"label": int64_feature([int(rng.integers(5))]), "text": bytes_feature(text)}
        yield example(features | {"tokens": int64_feature(tokens)})


def blobs(rng: np.random.Generator) -> Iterator[bytes]:
    """2,000 blobs of about 110 KB that do not compress, as JPEG files are."""
    for _ in range(2_000):
        blob = rng.bytes(int(rng.integers(100_000, 120_001)))
        yield example({"image": bytes_feature(blob), "label": int64_feature([int(rng.integers(1000))])})


def sequences(rng: np.random.Generator) -> Iterator[bytes]:
    """20,000 SequenceExamples of 30 steps with 128 floats each."""
    for number in range(20_000):
        frames = rng.standard_normal((30, 128), np.float32)
        labels = rng.integers(0, 4000, int(rng.integers(1, 6))).tolist()
        context = {"id": bytes_feature(b"video-%06d" % number), "labels": int64_feature(labels)}
        yield sequence_example(context, {"rgb": map(float_feature, frames)})


WORKLOADS: dict[str, Generator] = {
    "w1": images,
    "w2": floats,
    "w2b": raw_floats,
    "w3": tabular,
    "w4": ragged_text,
    "w5": blobs,
    "w6": sequences,
}
