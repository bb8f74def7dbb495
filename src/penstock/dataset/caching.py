"""Puts a cache behind a pipeline: in memory, or on disk under a name for all that decides what it holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from penstock.dataset.joining import Joining
from penstock.dataset.order import Order, Pass
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.reads import Reads
from penstock.dataset.stages import Cached, CachedOnDisk, Stage
from penstock.files import StrPath, locate
from penstock.files.local import LocalFiles

# Places of an order that are compared: shares of different ranks differ in all of them.
_PLACES = 64


def cache_stage(pipeline: Pipeline, path: StrPath | None, key: str | None) -> Stage:
    """Answer the stage that keeps what a pipeline gives; ``key`` stands for the code of its functions."""
    if path is None:
        if key is not None:
            raise ValueError("a key is for a cache on disk: name its path too")
        return Cached()
    store, folder = locate(path)
    if not isinstance(store, LocalFiles):
        raise ValueError(f"a cache is kept in a folder of this machine, not in {folder}")
    # Imported here: it knows the whole of Python, and few keep a cache on disk.
    from penstock.dataset.fingerprint import fingerprint

    return CachedOnDisk(os.path.abspath(folder), fingerprint(_content(pipeline), _functions(pipeline), key))


def _content(pipeline: Pipeline) -> Any:
    """Say in JSON all that decides what a pipeline gives, but for the code of functions."""
    start = pipeline.start
    if isinstance(start, Joining):
        return [pipeline.describe(), [_content(child) for child in start.children]]
    assert isinstance(start, Reads)
    reading = start.source.shards.reading
    return [
        pipeline.describe(),
        start.identities,
        _times(start.source.shards.paths),
        start.source.schema.to_json(),
        [reading.compression, reading.verify, reading.max_record_bytes, reading.salvage, reading.nested],
        [_rows_at_places(order) for order in (start.rows, start.batches) if order is not None],
    ]


def _times(paths: Iterable[str]) -> list[int]:
    """Answer when local files were last changed: an identity is told by both ends of a file, and not by its middle."""
    located = map(locate, paths)
    return [os.stat(name).st_mtime_ns for store, name in located if isinstance(store, LocalFiles)]


def _rows_at_places(order: Order) -> list[int]:
    """Answer which rows stand at some places: what an order says of itself leaves out which rank it is for."""
    if order.run is not None:
        return []
    length = order.length(Pass())
    places = np.arange(_PLACES) if length is None else np.unique(np.linspace(0, length - 1, _PLACES).astype(np.int64))
    rows: list[int] = [] if length == 0 else order.at(places, Pass()).rows.tolist()
    return [-1 if length is None else length, *rows]


def _functions(pipeline: Pipeline) -> Iterator[Callable[..., Any]]:
    if isinstance(pipeline.start, Joining):
        for child in pipeline.start.children:
            yield from _functions(child)
    for stage in pipeline.stages:
        if is_dataclass(stage):
            values = (getattr(stage, field.name) for field in fields(stage))
            yield from (value for value in values if callable(value))


def is_in_memory(pipeline: Pipeline) -> bool:
    """Whether all elements are kept in memory, but for what is done to each of them behind the cache."""
    for stage in reversed(pipeline.stages):
        if isinstance(stage, Cached):
            return True
        if not stage.one_to_one:
            return False
    return False
