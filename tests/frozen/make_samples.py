"""Writes a folder of samples of everything that Penstock stores, by its public API alone.

    PYTHONPATH=src:tests python -m frozen.make_samples NAME

A folder that is there stays as it is: samples are of one day's code, and that is what they are for.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow.parquet

import penstock as ps
import penstock.tf as tf
from frozen.pipelines import ELEMENTS, PIPELINES, numbers, plain

KINDS = {"plain": "", "gzip": "GZIP", "zlib": "ZLIB", "snappy": "SNAPPY"}

TIME = 1_700_000_000_000_000_000
"""When all files were last changed: a cache on disk goes by that."""

NUMBERS = ps.Schema({"id": ps.Feature("int64"), "items": ps.Feature("int64", (None,))})

FEATURES = ps.Schema(
    {
        "label": int,
        "dense": ps.Feature("float32", (2, 2)),
        "small": ps.Feature("int16", (3,)),
        "flag": bool,
        "ragged": ps.Feature("int64", (None,)),
        "nested": ps.Feature("float32", (None, None)),
        "text": str,
        "words": ps.Feature("str", (None,)),
        "blob": bytes,
        "note": ps.Feature("str", optional=True),
        "pair": ps.Feature("float32", (2,), optional=True),
        "score": ps.Feature("float32", default=0.5),
        "renamed": ps.Feature("int64", key="a/b"),
        "raw": ps.Feature("uint8", (2, 3), encoding="raw"),
        "half": ps.Feature("float16", (2,), encoding="raw"),
        "jpeg": ps.Feature("uint8", (8, 8, 3), encoding="jpeg"),
        "png": ps.Feature("uint8", (None, None, 1), encoding="png"),
        "tensor": ps.Feature("float64", (None, 2), encoding="tensor"),
    }
)

STEPS = ps.Schema(
    {"id": str},
    sequence={"frame": ps.Feature("float32", (2,)), "labels": ps.Feature("int64", (None,))},
)


def main(folder: Path) -> None:
    """Write all samples."""
    folder.mkdir(parents=True)
    write_data(folder / "data")
    write_indexes(folder)
    write_states(folder)
    write_ranks(folder)
    write_pickles(folder)
    write_tf(folder)


def write_data(folder: Path) -> None:
    """Write datasets with their manifests, schema files, a Parquet file, and what they hold in JSON."""
    for kind, compression in KINDS.items():
        rows = [{"id": i, "items": list(range(i % 4))} for i in range(24)]
        ps.write(folder / f"numbers_{kind}", rows, schema=NUMBERS, shards=3, compression=compression)
        ps.write(folder / f"features_{kind}", features(), schema=FEATURES, shards=2, compression=compression)
    steps = [
        {"id": str(i), "frame": np.full((i, 2), i, np.float32), "labels": [[i] * j for j in range(i)]} for i in range(4)
    ]
    ps.write(folder / "steps", steps, schema=STEPS)
    pyarrow.parquet.write_table(ps.Dataset(folder / "features_plain").to_arrow(), folder / "features.parquet")
    FEATURES.save(folder / "features.schema.json")
    STEPS.save(folder / "steps.schema.json")
    (folder / "features.pbtxt").write_text(FEATURES.select(["label", "ragged", "text", "note"]).to_pbtxt())
    (folder / "features.json").write_text(FEATURES.select(["label", "dense", "ragged", "text"]).to_tfds())
    for file in folder.iterdir():
        os.utime(file, ns=(TIME, TIME))
    held = {name: [plain(row) for row in ps.Dataset(folder / name)] for name in ("features_plain", "steps")}
    (folder.parent / "rows.json").write_text(json.dumps(held))


def features() -> list[dict[str, Any]]:
    """Return rows of many kinds of features."""
    return [
        {
            "label": i - 2,
            "dense": np.full((2, 2), i / 4, np.float32),
            "small": np.array([i, -i, 300 * i], np.int16),
            "flag": i % 2 == 0,
            "ragged": list(range(i)),
            "nested": [[float(i)] * j for j in range(i % 3)],
            "text": f"row {i} é",
            "words": ["word"] * (i % 3),
            "blob": bytes([0, 255, i]) * (1 + 9 * (i % 2)),
            "note": None if i % 2 else f"note {i}",
            "pair": None if i % 3 else [i, 0.5],
            "score": None if i == 3 else float(i),
            "renamed": 10**12 * i,
            "raw": np.full((2, 3), i, np.uint8),
            "half": np.array([i, 0.5], np.float16),
            "jpeg": np.full((8, 8, 3), 128, np.uint8),  # flat, which every decoder decodes alike
            "png": np.arange(2 * (i + 1), dtype=np.uint8).reshape(2, i + 1, 1),
            "tensor": np.full((i % 3, 2), i + 0.125),
        }
        for i in range(6)
    ]


def write_indexes(folder: Path) -> None:
    """Write indexes into a cache folder and, those that an exact shuffle has used, next to the data."""
    cache, used, data = folder / "index_cache", folder / "used", folder / "data"
    files = sorted(str(file) for file in data.glob("*.tfrecord*"))
    with patch.dict(os.environ, PENSTOCK_CACHE=str(cache), PYTHONPATH=os.pathsep.join(sys.path)):
        command = [sys.executable, "-m", "penstock", "index", "--json", *files]
        document = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    shutil.copytree(cache, used)
    with patch.dict(os.environ, PENSTOCK_CACHE=str(used)):
        for kind in ("plain", "gzip"):
            list(numbers(folder, kind).shuffle(seed=7))  # the lengths of records in gzip files are stored by that
    for entry in document["files"]:
        shutil.copy(used / Path(entry["index"]).name, data / f".{Path(entry['path']).name}.index")
    shutil.rmtree(used)


def write_states(folder: Path) -> None:
    """Write states after the first element, in the middle, and at the end, with all elements."""
    samples = []
    for name, pipeline in PIPELINES.items():
        elements, states = [], []
        with iter(pipeline(folder)) as it:
            states.append(it.state_dict())
            for element in islice(it, ELEMENTS):
                elements.append(plain(element))
                states.append(it.state_dict())
            is_whole = next(it, None) is None
        steps = {step: states[step] for step in (1, len(elements) // 2, len(elements))}
        sample = {"elements": elements, "is_whole": is_whole, "states": steps}
        samples.append(f"{json.dumps(name)}: {json.dumps(sample)}")
    (folder / "states.json").write_text("{\n" + ",\n".join(samples) + "\n}\n")


def write_ranks(folder: Path) -> None:
    """Write a state that one of two ranks saved, and what each of three ranks gives from there on."""
    with iter(numbers(folder).shuffle(seed=7).shard(0, 2).batch(2)) as it:
        next(it), next(it)
        state = it.state_dict()
    rest = []
    for rank in range(3):
        with iter(numbers(folder).shuffle(seed=7).shard(rank, 3).batch(2)) as it:
            it.load_state_dict(state)
            rest.append([plain(batch["id"]) for batch in it])
    (folder / "ranks.json").write_text(json.dumps({"state": state, "rest": rest}))


def write_pickles(folder: Path) -> None:
    """Pickle what is promised to unpickle: batches, schemas, features, manifests, errors. Not datasets."""
    (folder / "pickles").mkdir()
    batch = ps.Dataset(folder / "data" / "features_plain").batch(6)[0]
    values = {
        "batch": batch,
        "schema": FEATURES,
        "sequence_schema": STEPS,
        "feature": FEATURES["note"],
        "manifest": ps.Manifest.load(folder / "data" / "features_gzip.penstock.json"),
    }
    for name in ps.__all__:
        kind = getattr(ps, name)
        if isinstance(kind, type) and issubclass(kind, ps.PenstockError):
            values[name] = kind(f"message of {name}", **details_of(kind))
    for name, value in values.items():
        (folder / "pickles" / f"{name}.pickle").write_bytes(pickle.dumps(value, protocol=4))


def details_of(kind: type[ps.PenstockError]) -> dict[str, Any]:
    """Return the details of an error of this kind."""
    if issubclass(kind, ps.CorruptDataError):
        return {"path": "a.tfrecord", "offset": 1, "stop": 2, "record": 3, "kind": "data-crc"}
    if issubclass(kind, ps.MalformedExampleError):
        return {"path": "a.tfrecord", "record": 3, "feature": "label"}
    return {"path": "a.tfrecord"} if issubclass(kind, ps.NotSeekableError) else {}


def tf_datasets() -> dict[str, Any]:
    """Return datasets of ``penstock.tf``: dense, ragged and sparse tensors, and the records of a file.

    Caches are found by the names of files, so these are relative.
    """
    values = {"x": np.arange(6, dtype=np.float32).reshape(3, 2), "text": [b"a", b"", b"\xff"]}
    ragged = tf.ragged.constant([[1, 2], [], [3]])
    sparse = tf.sparse.from_dense([[0, 1], [2, 0], [0, 0]])
    return {
        "dense": tf.data.Dataset.from_tensor_slices(values).batch(2),
        "tuple": tf.data.Dataset.from_tensor_slices((values["x"], [1, 2, 3])).repeat(2),
        "ragged": tf.data.Dataset.from_tensors((ragged, sparse)).repeat(2),
        "records": tf.data.TFRecordDataset("data/steps-00000-of-00001.tfrecord"),
    }


def write_tf(folder: Path) -> None:
    """Write files of ``cache(filename)`` and folders of ``Dataset.save``, with their elements."""
    here = Path.cwd()
    os.chdir(folder)
    try:
        held = {}
        for name, dataset in tf_datasets().items():
            held[name] = [tf_plain(element) for element in dataset.cache(f"tf_caches/{name}")]
        for name in ("dense", "tuple", "records"):
            tf_datasets()[name].save(f"tf_saved/{name}", compression="GZIP" if name == "tuple" else None)
        Path("tf.json").write_text(json.dumps(held))
    finally:
        os.chdir(here)


def tf_plain(value: Any) -> Any:
    """Return an element of ``penstock.tf`` in JSON."""
    if isinstance(value, tuple):
        return [tf_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: tf_plain(value[name]) for name in sorted(value)}
    if isinstance(value, tf.SparseTensor):
        value = tf.sparse.to_dense(value)
    return plain(value.to_list() if isinstance(value, tf.RaggedTensor) else value.numpy())


if __name__ == "__main__":
    main(Path(__file__).parent / "samples" / sys.argv[1])
