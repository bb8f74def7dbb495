"""A dataset in other shards and orders, and a copy of its bytes."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps

_PIECE = 1 << 20
_ROW_BYTES = 1024
_started_with = 0


def make(folder: str, size: int) -> int:
    """Write the data; return how many bytes it has."""
    global _started_with
    rows = size // _ROW_BYTES
    draw = np.random.default_rng(1)

    def batches() -> Iterator[dict[str, Any]]:
        for start in range(0, rows, 10_000):
            count = min(10_000, rows - start)
            yield {
                "id": np.arange(start, start + count),
                "key": draw.integers(0, 1 << 40, count),
                "values": draw.random((count, _ROW_BYTES // 4 - 25), dtype=np.float32),
            }

    ps.write(f"{folder}/source", map(ps.Batch, batches()), shard_bytes=size // 8, progress=False)
    for _ in ps.Dataset(f"{folder}/source").take(1).shuffle(seed=1):  # its index
        pass
    _started_with = _resident()
    return sum(file.stat().st_size for file in _sources(folder))


def prepare(folder: str, memory: int) -> None:
    """Remove what was written, and have the system write what it has not written yet."""
    shutil.rmtree(f"{folder}/out", ignore_errors=True)
    os.mkdir(f"{folder}/out")
    os.sync()


def copy(folder: str, memory: int) -> None:
    buffer = memoryview(bytearray(_PIECE))
    for file in _sources(folder):
        with open(file, "rb", buffering=0) as source, open(f"{folder}/out/{file.name}", "wb", buffering=0) as target:
            while count := source.readinto(buffer):
                target.write(buffer[:count])
            os.fdatasync(target.fileno())


def reshard(folder: str, memory: int) -> None:
    _write("out", ps.Dataset(f"{folder}/source"), folder, memory, shards=13)


def merge(folder: str, memory: int) -> None:
    _write("out", ps.Dataset(f"{folder}/source"), folder, memory, shards=1)


def split(folder: str, memory: int) -> None:
    for name, part in ps.Dataset(f"{folder}/source").split({"a": 0.8, "b": 0.2}, by="id").items():
        _write(name, part, folder, memory, shards=4)


def rename(folder: str, memory: int) -> None:
    dataset = ps.Dataset(f"{folder}/source").rename_columns({"key": "number"})
    ps.write(f"{folder}/out/out", dataset, shards=8, sync=True, progress=False)


def drop(folder: str, memory: int) -> None:
    dataset = ps.Dataset(f"{folder}/source").drop_columns(["key"])
    ps.write(f"{folder}/out/out", dataset, shards=8, sync=True, progress=False)


def shuffle(folder: str, memory: int) -> None:
    _write("out", ps.Dataset(f"{folder}/source").shuffle(seed=1), folder, memory, shards=8)


def sort(folder: str, memory: int) -> None:
    _write("out", ps.Dataset(f"{folder}/source").sort("key"), folder, memory, shards=8)


def unique(folder: str, memory: int) -> None:
    _write("out", ps.Dataset(f"{folder}/source").unique("key"), folder, memory, shards=8)


def peak() -> int:
    """Return how far memory has grown since the data was made."""
    return _resident() - _started_with


def _write(name: str, dataset: Any, folder: str, memory: int, shards: int) -> None:
    ps.write(f"{folder}/out/{name}", dataset, shards=shards, memory=memory, sync=True, progress=False)


def _sources(folder: str) -> list[Path]:
    return sorted(Path(folder).glob("source-*"))


def _resident() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
