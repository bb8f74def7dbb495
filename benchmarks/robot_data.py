"""Episodes of 50 to 300 steps with two JPEG cameras of 256 x 256, in .data, as TFDS stores them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import penstock as ps

FOLDER = Path(__file__).parent / ".data" / "robot" / "1.0.0"
CAMERAS = ("observation/camera", "observation/wrist")
_EPISODES, _SHARDS, _PICTURES = 16, 4, 64


def made() -> Path:
    """Return the folder of the dataset; make it the first time."""
    if not (FOLDER / "dataset_info.json").exists():
        _make(FOLDER)
    return FOLDER


def files(folder: Path) -> list[str]:
    """Return the paths of the shards."""
    return sorted(map(str, folder.glob("*.tfrecord*")))


def _make(folder: Path) -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(50, 301, _EPISODES).tolist()
    pictures = [_picture(rng) for _ in range(_PICTURES)]
    folder.mkdir(parents=True, exist_ok=True)
    features = json.dumps(_features())
    (folder / "features.json").write_text(features)
    encoder = ps.Encoder(ps.Schema.from_tfds(features))
    for shard in range(_SHARDS):
        with ps.RecordWriter(folder / f"robot-train.tfrecord-{shard:05d}-of-{_SHARDS:05d}") as writer:
            for length in lengths[shard::_SHARDS]:
                episode = {
                    f"steps/{camera}": [pictures[at] for at in rng.integers(0, _PICTURES, length)] for camera in CAMERAS
                }
                episode |= {
                    "steps/observation/state": rng.normal(size=(length, 8)).astype(np.float32),
                    "steps/action": rng.normal(size=(length, 7)).astype(np.float32),
                    "steps/language_instruction": ["pick up the block"] * length,
                }
                writer.write_many(encoder.encode([episode]))
    counts = [str(len(lengths[shard::_SHARDS])) for shard in range(_SHARDS)]
    info = {"name": "robot", "version": "1.0.0", "splits": [{"name": "train", "shardLengths": counts}]}
    (folder / "dataset_info.json").write_text(json.dumps(info))


def _picture(rng: np.random.Generator) -> bytes:
    """Return a JPEG file of smooth color with some noise, of about 17 kB."""
    coarse = rng.integers(0, 256, (17, 17, 3)).astype(np.float32)
    noise = rng.integers(-6, 7, (256, 256, 3))
    pixels = np.clip(ps.image.resize(coarse, (256, 256)) + noise, 0, 255).astype(np.uint8)
    schema = ps.Schema({"picture": ps.Feature("uint8", (256, 256, 3), encoding="jpeg")})
    record = ps.Encoder(schema).encode([{"picture": pixels}])
    stored: bytes = ps.Decoder(ps.Schema({"picture": bytes})).decode(record)["picture"][0]
    return stored


def _features() -> dict[str, object]:
    def feature(kind: str, **content: object) -> dict[str, object]:
        return {"pythonClassName": f"tensorflow_datasets.core.features.{kind}", **content}

    def folder(features: dict[str, object]) -> dict[str, object]:
        return feature("features_dict.FeaturesDict", featuresDict={"features": features})

    def tensor(size: int) -> dict[str, object]:
        shape = {"dimensions": [str(size)]}
        return feature("tensor_feature.Tensor", tensor={"shape": shape, "dtype": "float32", "encoding": "none"})

    image = {"shape": {"dimensions": ["256", "256", "3"]}, "dtype": "uint8"}
    camera = feature("image_feature.Image", image=image)
    observation = folder({"camera": camera, "wrist": camera, "state": tensor(8)})
    text = feature("text_feature.Text", text={})
    step = folder({"observation": observation, "action": tensor(7), "language_instruction": text})
    return folder({"steps": feature("dataset_feature.Dataset", sequence={"feature": step, "length": "-1"})})
