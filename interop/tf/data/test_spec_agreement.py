"""What is known of elements before there are any: ``element_spec`` beside TensorFlow's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import Oracle
from tf.expressions import REFUSED, evaluate

import penstock.tf as tf

PIPELINES = Path(__file__).with_name("specs.txt").read_text().splitlines()

# What pipelines begin with. The file is empty: a spec that needs an element cannot be told.
BEGINNINGS = {
    "records": "tf.data.TFRecordDataset(path)",
    "parsed": "lambda features: records.map(lambda r: tf.io.parse_single_example(r, features))",
    "batches": "lambda features: records.batch(4).map(lambda r: tf.io.parse_example(r, features))",
    "raw": "records.map(lambda r: tf.io.decode_raw(r, tf.uint8))",
    "image": "records.map(lambda r: tf.io.decode_png(r, channels=3))",
    "numbers": "tf.data.Dataset.range(5)",
    "fixed": "tf.data.Dataset.from_tensor_slices(rows)",
    "small": "tf.data.Dataset.from_tensor_slices(images)",
}


def source_of(pipeline: str) -> str:
    source = f"repr(({pipeline}).element_spec)"
    for name, beginning in reversed(BEGINNINGS.items()):
        source = f"(lambda {name}: {source})({beginning})"
    return source


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("specs") / "empty.tfrecord"
    path.write_bytes(b"")
    images = np.zeros((3, 10, 12, 3), np.uint8)
    return {"path": str(path), "rows": np.ones((3, 4), np.int32), "images": images}


@pytest.fixture(scope="module")
def theirs(oracle: Oracle, names: dict[str, Any]) -> dict[str, Any]:
    answers = oracle.evaluate(*((source_of(pipeline), names) for pipeline in PIPELINES))
    return dict(zip(PIPELINES, answers, strict=True))


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_the_same_is_known(theirs: dict[str, Any], names: dict[str, Any], pipeline: str) -> None:
    assert theirs[pipeline] != REFUSED
    assert evaluate(tf, source_of(pipeline), names) == theirs[pipeline]
