"""Steps of episodes that TFDS stored have the values that TFDS reads."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow_datasets as tfds
from test_connectors import FAILURES, LEAVES, skip_jpeg_without_library
from tfds_values import assert_equal, plain

import penstock as ps

pytestmark = pytest.mark.filterwarnings("default")

F = tfds.features
SIZES = [3, 1, 0, 5]


@pytest.mark.parametrize("name", LEAVES)
def test_a_step_has_the_value_of_every_connector(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    skip_jpeg_without_library(name)
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    feature, make = LEAVES[name]
    r = random.Random(name)
    features = F.FeaturesDict({"steps": F.Dataset({"x": feature, "n": F.Scalar(np.int32)})})
    try:
        episodes = [[{"x": make(r), "n": n} for n in range(size)] for size in SIZES]
        records = [features.serialize_example({"steps": episode}) for episode in episodes]
    except FAILURES as error:
        pytest.skip(f"TFDS cannot store it: {str(error)[:80]}")
    # Without TensorFlow, TFDS decodes JPEG by another transform, whose pixels differ a little.
    read = features.deserialize_example if name == "jpeg file" else features.deserialize_example_np
    try:
        expected = [plain(read(record)["steps"]) for record in records]
    except FAILURES as error:
        pytest.skip(f"TFDS cannot read it: {str(error)[:80]}")
    with ps.RecordWriter(tmp_path / "x-train.tfrecord-00000-of-00001") as writer:
        writer.write_many(records)
    split = {"name": "train", "shardLengths": [str(len(records))]}
    (tmp_path / "dataset_info.json").write_text(json.dumps({"name": "x", "version": "1.0.0", "splits": [split]}))
    (tmp_path / "features.json").write_text(json.dumps(features.to_json()))
    steps = list(ps.rlds.open(tmp_path).steps())
    assert [int(row["n"]) for row in steps] == [n for size in SIZES for n in range(size)]
    if "x" not in steps[0]:
        assert feature.shape  # left out: several values in a step
        return
    ours = iter(steps)
    for episode in expected:
        values: Any = [] if episode is None else episode["x"]
        for value in values:
            assert_equal(next(ours)["x"], value)
