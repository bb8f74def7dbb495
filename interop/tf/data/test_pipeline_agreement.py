"""Pipelines beside TensorFlow's: the same elements in the same order, or refused by both."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import Oracle
from tf.expressions import evaluate, same

import penstock.tf as tf

PIPELINES = Path(__file__).with_name("exact_pipelines.txt").read_text().splitlines()


def example(number: int) -> bytes:
    message = tf.train.Example()
    message.features.feature["x"].int64_list.value.append(number)
    message.features.feature["n"].int64_list.value.extend(range(number % 4))
    message.features.feature["image"].bytes_list.value.append(hashlib.sha256(bytes([number])).digest())
    return bytes(message.SerializeToString())


def write(path: Path, records: list[bytes], compression: str = "") -> str:
    with tf.io.TFRecordWriter(path, compression) as writer:
        for record in records:
            writer.write(record)
    return str(path)


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("pipelines")
    numbers = iter(range(100))
    counts = (1, 4, 2, 3, 1)
    paths = [
        write(folder / f"part-{part}.tfrecord", [example(next(numbers)) for _ in range(count)])
        for part, count in enumerate(counts)
    ]
    damaged = Path(write(folder / "damaged", [example(n) for n in range(5)]))
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    random = np.random.default_rng(1)
    return {
        "paths": paths,
        "pattern": str(folder / "part-*.tfrecord"),
        "zipped": write(folder / "zipped", [example(n) for n in range(3)], "GZIP"),
        "damaged": str(damaged),
        "mixed": write(folder / "mixed", [example(1), b"no example", example(2)]),
        "f": random.standard_normal((3, 4)).astype(np.float32),
        "i": random.integers(-9, 9, (3, 4)).astype(np.int32),
        "s": np.array([b"one", b"Two", b"", b"four"], object),
    }


# Descriptions are made by the library that parses.
FEATURES = "{'x': tf.io.FixedLenFeature([], tf.int64), 'image': tf.io.FixedLenFeature([], tf.string)}"


def source_of(pipeline: str) -> str:
    return f"(lambda features: {pipeline})({FEATURES})"


@pytest.fixture(scope="module")
def theirs(oracle: Oracle, names: dict[str, Any]) -> dict[str, Any]:
    answers = oracle.evaluate(*((source_of(pipeline), names) for pipeline in PIPELINES))
    return dict(zip(PIPELINES, answers, strict=True))


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_the_same_elements_in_the_same_order(theirs: dict[str, Any], names: dict[str, Any], pipeline: str) -> None:
    ours = evaluate(tf, source_of(pipeline), names)
    assert same(ours, theirs[pipeline]), f"{ours}\n{theirs[pipeline]}"
