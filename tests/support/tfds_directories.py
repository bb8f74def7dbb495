"""Folders as TFDS writes them, made without TFDS."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import penstock as ps

SCHEMA = ps.Schema({"id": int})


def write_directory(folder: Path, splits: Mapping[str, Sequence[int]], template: str = "", **info: Any) -> Path:
    """Write a dataset with shards of some lengths; ids count through all splits."""
    folder.mkdir(parents=True, exist_ok=True)
    next_id, entries = 0, []
    for split, lengths in splits.items():
        entry = {"name": split, "shardLengths": [str(length) for length in lengths]}
        entries.append(entry | ({"filepathTemplate": template} if template else {}))
        for shard, length in enumerate(lengths):
            name = (template or "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}").format(
                DATASET="toy",
                SPLIT=split,
                FILEFORMAT="tfrecord",
                SHARD_INDEX=f"{shard:05}",
                NUM_SHARDS=f"{len(lengths):05}",
                SHARD_X_OF_Y=f"{shard:05}-of-{len(lengths):05}",
            )
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with ps.RecordWriter(folder / name) as writer:
                for record in ps.Encoder(SCHEMA).encode({"id": list(range(next_id, next_id + length))}):
                    writer.write(record)
            next_id += length
    document = {"name": "toy", "version": "1.0.0", "fileFormat": "tfrecord", "splits": entries} | info
    (folder / "dataset_info.json").write_text(json.dumps(document))
    (folder / "features.json").write_text(SCHEMA.to_tfds())
    return folder
