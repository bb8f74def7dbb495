"""Which features a step has, and how its index holds each of them."""

from __future__ import annotations

import json

import pytest
from tests.support.episodes import ROBOT, features_json, image, nested, tensor, text

import penstock as ps
from penstock.rlds.step_features import load_step_features


def test_numbers_and_texts_are_held_and_everything_else_is_located():
    steps = ROBOT | {
        "note": tensor("string"),
        "embedding": tensor("float32", 512),
        "depth": image(8, 8, 3) | {"image": {"shape": {"dimensions": ["8", "8", "1"]}, "dtype": "float32"}},
        "packed": tensor("float32", 4) | {"tensor": {"shape": {}, "dtype": "float32", "encoding": "bytes"}},
    }
    found = {feature.name: feature for feature in load_step_features(features_json(steps))}
    assert {name: feature.storage for name, feature in found.items()} == {
        "observation/camera": "located",
        "observation/wrist": "located",
        "observation/state": "column",
        "action": "column",
        "reward": "column",
        "is_first": "column",
        "language_instruction": "text",
        "note": "text",
        "embedding": "located",
        "depth": "located",
        "packed": "located",
    }
    assert found["embedding"].float_bytes == 2048
    assert [name for name, feature in found.items() if feature.is_picture] == [
        "observation/camera",
        "observation/wrist",
    ]
    assert found["action"].key == "steps/action"


def test_sequences_within_a_step_are_left_out():
    ragged = {"pythonClassName": "x", "sequence": {"feature": tensor("int64"), "length": "-1"}}
    found = load_step_features(features_json({"action": tensor("float32", 2), "tokens": ragged}))
    assert [feature.name for feature in found] == ["action"]
    with pytest.raises(ps.SchemaError, match="sequence in itself"):
        load_step_features(features_json({"tokens": ragged}))


@pytest.mark.parametrize(
    "document",
    [
        json.dumps(nested({"image": image(2, 2, 3)})),
        json.dumps(nested({"steps": text()})),
        json.dumps(nested({"steps": {"pythonClassName": "x", "sequence": {"feature": tensor("int64")}}})),
        "[]",
        "{}",
        '{"featuresDict": {"features": []}}',
        '{"featuresDict": {"features": {"steps": 7}}}',
        "[" * 100_000,
        "nonsense",
    ],
)
def test_a_dataset_without_steps_is_rejected(document: str):
    with pytest.raises(ps.SchemaError):
        load_step_features(document)
