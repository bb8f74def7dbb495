"""Files of records, and where each record stands, for tests of what fetches them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import framing
import numpy as np
from schema_examples import example

from penstock import Feature, Schema, _core

SCHEMA = Schema({"n": Feature("int64"), "text": Feature("str"), "tags": Feature("int64", (None,))})


def record(n: int) -> bytes:
    return example(n=n, text=f"a text that is too long for its view, number {n}", tags=list(range(n % 50)))


class Shards:
    """Files of records, and where each record stands."""

    def __init__(self, folder: Path, shares: list[int]) -> None:
        self.records = [record(n) for n in range(sum(shares))]
        self.paths: list[Path] = []
        locations = []
        n = 0
        for shard, share in enumerate(shares):
            self.paths.append(folder / f"{shard}.tfrecord")
            self.paths[-1].write_bytes(framing.frames(self.records[n : n + share]))
            offset = 0
            for payload in self.records[n : n + share]:
                locations.append((shard, offset, len(payload)))
                offset += len(payload) + 16
            n += share
        self.shards, self.offsets, self.lengths = (
            np.array(column, dtype) for column, dtype in zip(zip(*locations, strict=True), "iQQ", strict=True)
        )

    def locations(self, *, starts_alone: bool = False) -> _core.RecordLocations:
        files: list[Any] = []
        for shard in range(len(self.paths)):
            starts, lengths = self.offsets[self.shards == shard], self.lengths[self.shards == shard]
            end = starts[-1:] + lengths[-1:] + np.uint64(16)
            files.append((np.concatenate([starts, end]), None) if starts_alone else (starts, lengths))
        return _core.RecordLocations(tuple(files))

    def open(self, **options: Any) -> _core.RecordFetcher:
        return _core.RecordFetcher(self.paths, self.locations(), **options)


def open_at(path: Path, locations: list[tuple[int, int]]) -> _core.RecordFetcher:
    """Open a file by an index that may be wrong."""
    starts, lengths = (np.array(column, np.uint64) for column in zip(*locations, strict=True))
    return _core.RecordFetcher([path], _core.RecordLocations(((starts, lengths),)), threads=1)


def orders() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "in order": np.arange(3001),
        "backwards": np.arange(3001)[::-1],
        "shuffled": rng.permutation(3001),
        "runs": np.concatenate([np.arange(start, start + 90) for start in rng.integers(0, 2900, 20)]),
        "one again and again": np.full(500, 1500),
        "one": np.array([3000]),
        "none": np.array([], int),
    }
