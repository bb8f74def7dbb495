"""Datasets of episodes as TFDS writes them, and the values that their steps have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps
from penstock.codec.images import encode_image

Step = dict[str, Any]
"""The values of one step by flat name; pictures as their encoded bytes."""


def tensor(dtype: str, *shape: int) -> dict[str, Any]:
    dimensions = {"dimensions": [str(size) for size in shape]} if shape else {}
    return _feature("tensor_feature.Tensor", tensor={"shape": dimensions, "dtype": dtype, "encoding": "none"})


def image(*shape: int) -> dict[str, Any]:
    dimensions = [str(size) for size in shape]
    return _feature("image_feature.Image", image={"shape": {"dimensions": dimensions}, "dtype": "uint8"})


def text() -> dict[str, Any]:
    return _feature("text_feature.Text", text={})


def _feature(kind: str, **content: Any) -> dict[str, Any]:
    return {"pythonClassName": f"tensorflow_datasets.core.features.{kind}", **content}


def nested(features: dict[str, Any]) -> dict[str, Any]:
    """Return a FeaturesDict of features by flat name."""
    top: dict[str, Any] = {}
    for name, feature in features.items():
        *folders, leaf = name.split("/")
        children = top
        for folder in folders:
            empty = _feature("features_dict.FeaturesDict", featuresDict={"features": {}})
            children = children.setdefault(folder, empty)["featuresDict"]["features"]
        children[leaf] = feature
    return _feature("features_dict.FeaturesDict", featuresDict={"features": top})


def features_json(steps: dict[str, Any], **episode: Any) -> str:
    """Return the features.json of a dataset of episodes."""
    sequence = {"feature": nested(steps), "length": "-1"}
    return json.dumps(nested({"steps": _feature("dataset_feature.Dataset", sequence=sequence), **episode}))


ROBOT = {
    "observation/camera": image(8, 8, 3),
    "observation/wrist": image(4, 4, 3),
    "observation/state": tensor("float32", 3),
    "action": tensor("float32", 2),
    "reward": tensor("float32"),
    "is_first": tensor("bool"),
    "language_instruction": text(),
}


def robot_episodes(lengths: Sequence[int], seed: int = 0, *, decodable: bool = False) -> list[list[Step]]:
    """Return episodes of two cameras; the pictures are PNG files where they are to be ``decodable``, else any bytes."""
    rng = np.random.default_rng(seed)

    def picture(size: int) -> bytes:
        if decodable:
            return encode_image(rng.integers(0, 256, (size, size, 3), np.uint8), "png")
        return rng.bytes(int(rng.integers(0, 40)))

    def step(episode: int, number: int) -> Step:
        return {
            "observation/camera": picture(8),
            "observation/wrist": picture(4),
            "observation/state": rng.normal(size=3).astype(np.float32),
            "action": rng.normal(size=2).astype(np.float32),
            "reward": np.float32(rng.normal()),
            "is_first": np.bool_(number == 0),
            "language_instruction": f"task {episode % 3}",
        }

    return [[step(episode, number) for number in range(length)] for episode, length in enumerate(lengths)]


def write_episodes(
    folder: Path, episodes: Sequence[Sequence[Step]], steps: dict[str, Any] = ROBOT, *, shards: int = 1
) -> Path:
    """Write episodes as a dataset of one split, ``train``; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    document = features_json(steps, episode_id=tensor("int64"))
    schema = ps.Schema.from_tfds(document)
    rows = [
        {"episode_id": number} | {f"steps/{name}": [step[name] for step in episode] for name in steps}
        for number, episode in enumerate(episodes)
    ]
    lengths = []
    for shard in range(shards):
        part = rows[len(rows) * shard // shards : len(rows) * (shard + 1) // shards]
        name = f"robot-train.tfrecord-{shard:05d}-of-{shards:05d}"
        with ps.RecordWriter(folder / name, compression="") as writer:
            writer.write_many(ps.Encoder(schema).encode(part))
        lengths.append(str(len(part)))
    (folder / "features.json").write_text(document)
    template = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"
    split = {"name": "train", "shardLengths": lengths, "numBytes": "0", "filepathTemplate": template}
    info = {"name": "robot", "version": "1.0.0", "fileFormat": "tfrecord", "splits": [split]}
    (folder / "dataset_info.json").write_text(json.dumps(info))
    return folder


def expected_rows(
    episodes: Sequence[Sequence[Step]], window: int | None = None, horizon: int | None = None, pad: str = "repeat"
) -> list[Step]:
    """Return the rows that the steps of episodes make: a model of ``Episodes.steps()`` in plain Python."""
    rows = []
    for number, episode in enumerate(episodes):
        for at, step in enumerate(episode):
            before = range(at - (window or 1) + 1, at + 1)
            after = range(at, at + (horizon or 1))
            exist = [at in range(len(episode)) for at in before], [at in range(len(episode)) for at in after]
            if pad == "drop" and not all(exist[0] + exist[1]):
                continue
            row = dict(step)
            for name in step:
                around = before if name.startswith("observation") else after if name == "action" else None
                if around is not None and (window if around is before else horizon) is not None:
                    row[name] = [_value_at(episode, name, place, pad) for place in around]
            if pad != "drop":
                row |= {"observation_mask": exist[0]} if window is not None else {}
                row |= {"action_mask": exist[1]} if horizon is not None else {}
            rows.append(row | {"episode_index": number, "step_index": at})
    return rows


def _value_at(episode: Sequence[Step], name: str, place: int, pad: str) -> Any:
    nearest = episode[min(max(place, 0), len(episode) - 1)][name]
    if pad == "zero" and place not in range(len(episode)):
        return b"" if isinstance(nearest, bytes) else np.zeros_like(nearest)
    return nearest


def flat(row: Any, above: str = "") -> Step:
    """Return the values of a nested row by flat name."""
    found: Step = {}
    for name, value in row.items():
        found |= flat(value, f"{above}{name}/") if isinstance(value, dict) else {f"{above}{name}": value}
    return found


def same_row(nested_row: Any, expected_row: Any) -> bool:
    """Return whether two rows hold the same values, of the same types."""
    found, expected = flat(nested_row), flat(expected_row)

    def same(one: Any, other: Any) -> bool:
        if isinstance(other, list) and other and isinstance(other[0], bytes):
            return one == other
        return bool(np.array_equal(one, other)) and np.shape(one) == np.shape(other)

    return found.keys() == expected.keys() and all(same(found[name], expected[name]) for name in expected)
