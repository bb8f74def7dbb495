"""Pipelines compared with TensorFlow's: the same elements, order, errors and specs."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import Oracle
from tf.expressions import REFUSED, evaluate, same

import penstock.tf as tf

PIPELINES = Path(__file__).with_name("exact_pipelines.txt").read_text().splitlines()
SPECS = Path(__file__).with_name("specs.txt").read_text().splitlines()


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
        "empty": write(folder / "empty", []),
        "rows": np.ones((3, 4), np.int32),
        "images": np.zeros((3, 10, 12, 3), np.uint8),
        "mixed": write(folder / "mixed", [example(1), b"no example", example(2)]),
        "f": random.standard_normal((3, 4)).astype(np.float32),
        "i": random.integers(-9, 9, (3, 4)).astype(np.int32),
        "s": np.array([b"one", b"Two", b"", b"four"], object),
    }


# Evaluated with the library that parses.
FEATURES = "{'x': tf.io.FixedLenFeature([], tf.int64), 'image': tf.io.FixedLenFeature([], tf.string)}"

# The start of pipelines. The file is empty: there is no element to infer a spec from.
BEGINNINGS = {
    "records": "tf.data.TFRecordDataset(empty)",
    "parsed": "lambda features: records.map(lambda r: tf.io.parse_single_example(r, features))",
    "batches": "lambda features: records.batch(4).map(lambda r: tf.io.parse_example(r, features))",
    "raw": "records.map(lambda r: tf.io.decode_raw(r, tf.uint8))",
    "image": "records.map(lambda r: tf.io.decode_png(r, channels=3))",
    "numbers": "tf.data.Dataset.range(5)",
    "fixed": "tf.data.Dataset.from_tensor_slices(rows)",
    "small": "tf.data.Dataset.from_tensor_slices(images)",
}


def source_of(pipeline: str) -> str:
    return f"(lambda features: {pipeline})({FEATURES})"


def source_of_spec(pipeline: str) -> str:
    source = f"repr(({pipeline}).element_spec)"
    for name, beginning in reversed(BEGINNINGS.items()):
        source = f"(lambda {name}: {source})({beginning})"
    return source


@pytest.fixture(scope="module")
def theirs(oracle: Oracle, names: dict[str, Any]) -> dict[str, Any]:
    sources = [*map(source_of, PIPELINES), *map(source_of_spec, SPECS)]
    return dict(zip(sources, oracle.evaluate(*((source, names) for source in sources)), strict=True))


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_elements_and_their_order_agree(theirs: dict[str, Any], names: dict[str, Any], pipeline: str) -> None:
    source = source_of(pipeline)
    ours = evaluate(tf, source, names)
    assert same(ours, theirs[source]), f"{ours}\n{theirs[source]}"


@pytest.mark.parametrize("pipeline", SPECS)
def test_element_specs_agree(theirs: dict[str, Any], names: dict[str, Any], pipeline: str) -> None:
    source = source_of_spec(pipeline)
    assert theirs[source] != REFUSED
    assert evaluate(tf, source, names) == theirs[source]
