"""The pipelines whose states are frozen: every verb of a dataset, and combinations, over the frozen numbers.

States name functions by module and name, so the functions here must stay where they are.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps

Pipeline = Callable[[Path], ps.Dataset]


def numbers(folder: Path, kind: str = "plain", **options: Any) -> ps.Dataset:
    """Return the dataset of 24 numbered rows, ``id`` and ``items`` (0 to 3 integers), in files of one kind."""
    return ps.Dataset(folder / "data" / f"numbers_{kind}.penstock.json", **options)


def doubled(row: dict[str, Any]) -> dict[str, Any]:
    return {"id": 2 * row["id"], "items": row["items"]}


def noisy(row: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return {"id": row["id"], "noise": rng.random()}


def noisy_batch(batch: ps.Batch, rng: np.random.Generator) -> dict[str, Any]:
    return {"id": batch["id"], "noise": rng.random(batch.num_rows)}


def is_odd(row: dict[str, Any]) -> bool:
    return bool(row["id"] % 2)


def is_lucky(row: dict[str, Any], rng: np.random.Generator) -> bool:
    return rng.random() < 0.7


def has_odd_sum(batch: ps.Batch) -> bool:
    return bool(np.asarray(batch["id"]).sum() % 2)


def last_digit(row: dict[str, Any]) -> int:
    return int(row["id"]) % 10


calls: list[int] = []
"""The rows that ``counted`` was called with: empty where a cache is read."""


def counted(row: dict[str, Any]) -> dict[str, Any]:
    calls.append(int(row["id"]))
    return {"id": row["id"] + 100, "items": row["items"]}


PIPELINES: dict[str, Pipeline] = {
    # Orders.
    "rows": lambda at: numbers(at),
    "rows of gzip": lambda at: numbers(at, "gzip"),
    "rows of zlib": lambda at: numbers(at, "zlib"),
    "rows of snappy": lambda at: numbers(at, "snappy"),
    "rows, damage skipped": lambda at: numbers(at, on_error="skip").batch(5),
    "columns": lambda at: numbers(at).select_columns(["id"]),
    "shuffle": lambda at: numbers(at).shuffle(seed=7),
    "shuffle, epoch 2": lambda at: numbers(at).shuffle(seed=7).epoch(2),
    "shuffle of gzip": lambda at: numbers(at, "gzip").shuffle(seed=7).batch(5),
    "shuffle in a window": lambda at: numbers(at).shuffle(seed=7, window=6),
    "shuffle in a window of zlib": lambda at: numbers(at, "zlib").shuffle(seed=7, window=6).batch(5),
    "shard": lambda at: numbers(at).shuffle(seed=7).shard(1, 3),
    "shard, dropping the remainder": lambda at: numbers(at).shard(0, 5, remainder="drop"),
    "shard, repeating the remainder": lambda at: numbers(at).shard(4, 5, remainder="repeat"),
    "repeat": lambda at: numbers(at).take(9).shuffle(seed=7).repeat(3),
    "repeat without end": lambda at: numbers(at).shuffle(seed=7).repeat().batch(5),
    "take": lambda at: numbers(at).take(7),
    "skip": lambda at: numbers(at).skip(17),
    "slice": lambda at: numbers(at)[20:2:-3],
    "select": lambda at: numbers(at).select([3, 20, 3, 11, 0, 23]),
    "interleave": lambda at: numbers(at).interleave(2),
    # Batches.
    "batch": lambda at: numbers(at).batch(5),
    "batch, dropping the last": lambda at: numbers(at).batch(5, drop_last=True),
    "batch, padded": lambda at: numbers(at).batch(5, pad=True),
    "batch, padded by column": lambda at: numbers(at).batch(5, pad={"items": ps.Pad(value=-1, length=2)}),
    "shuffle, batch": lambda at: numbers(at).shuffle(seed=7).batch(5),
    "batch, shuffle": lambda at: numbers(at).batch(3).shuffle(seed=7),
    "batch, take, repeat": lambda at: numbers(at).batch(5).take(3).repeat(2),
    "shuffle, shard, batch, repeat": lambda at: numbers(at).shuffle(seed=7).shard(0, 2).batch(5).repeat(2),
    "bucket": lambda at: numbers(at).bucket([1, 3], [3, 2, 4], key="items"),
    "bucket by a function": lambda at: numbers(at).shuffle(seed=7).bucket([5], 3, key=last_digit, pad=True).repeat(2),
    "unbatch": lambda at: numbers(at).batch(5).filter(has_odd_sum).unbatch(),
    # Functions.
    "map": lambda at: numbers(at).map(doubled),
    "map, seeded": lambda at: numbers(at).shuffle(seed=7).map(noisy, seed=1),
    "map on threads, batch": lambda at: numbers(at).map(noisy, seed=1, workers=2).batch(5),
    "map of batches": lambda at: numbers(at).shuffle(seed=7).batch(5).map(noisy_batch, seed=1),
    "filter": lambda at: numbers(at).filter(is_odd),
    "filter, seeded": lambda at: numbers(at).filter(is_lucky, seed=1),
    "filter, batch, repeat": lambda at: numbers(at).shuffle(seed=7).filter(is_odd).batch(5).repeat(3),
    "filter, shuffle in a window": lambda at: numbers(at).filter(is_odd).shuffle(seed=7, window=5).batch(2),
    "filter, shard, skip, take": lambda at: numbers(at).filter(is_odd).shard(1, 2).skip(1).take(4),
    "prefetch": lambda at: numbers(at).shuffle(seed=7).batch(5).prefetch(2),
    # Caches.
    "cache": lambda at: numbers(at).filter(is_odd).cache().repeat(2),
    "cache, shuffle": lambda at: numbers(at).map(doubled).cache().shuffle(seed=7).repeat(2).batch(5),
    "cache on disk": lambda at: numbers(at).shuffle(seed=7).batch(5).cache(at / "caches").repeat(2),
    "cache of a function": lambda at: numbers(at).map(noisy, seed=1).cache(at / "caches"),
    "cache with a key": lambda at: numbers(at).map(counted).cache(at / "caches", key="1"),
    # Several datasets.
    "concat": lambda at: numbers(at).concat(numbers(at, "gzip")).shuffle(seed=7),
    "concat of flows": lambda at: numbers(at).filter(is_odd).concat(numbers(at).map(doubled)).batch(5),
    "zip": lambda at: numbers(at).zip(numbers(at, "gzip").shuffle(seed=7)),
    "zip of flows": lambda at: numbers(at).filter(is_odd).zip(numbers(at).map(doubled)),
    "mix": lambda at: numbers(at).mix(numbers(at).map(doubled), weights=[2, 1], seed=4),
    "mix to the last": lambda at: (
        numbers(at).shuffle(seed=7).mix(numbers(at).filter(is_odd), weights=[2, 1], seed=4, stop="all").batch(5)
    ),
    "mix without end": lambda at: (
        numbers(at).take(3).mix(numbers(at).filter(is_odd), weights=[1, 1], seed=4, stop="never").batch(5)
    ),
}
"""By name: how a dataset is made from the folder of the samples."""

ELEMENTS = 30
"""So many elements of a pipeline are frozen at most; some have no end."""


def plain(value: Any) -> Any:
    """Return a value of an element in JSON."""
    if isinstance(value, ps.Batch | dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, ps.Ragged | ps.BytesColumn | ps.Nullable):
        return plain(value.to_list())
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return value
