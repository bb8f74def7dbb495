"""cache(): stores the elements of a complete epoch in memory, or on disk under a fingerprint of what they depend on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from penstock.columns import Batch
from penstock.dataset.block import Block, Cursor, Elements, Flow, OpenFlow, epoch_of, is_start, start_of, with_cursors
from penstock.dataset.disk_cache import CachedBlocks, CachedBlocksWriter, storable
from penstock.dataset.order import Epoch, Order, RowKeys, call_text
from penstock.dataset.pipeline import JoinStart, Pipeline
from penstock.dataset.progress import Meter
from penstock.dataset.read_rows import ReadRows
from penstock.dataset.stage import Stage
from penstock.storage import StrPath, locate

# Positions of an order that are compared: the shares of different ranks differ in all of them.
_SAMPLES = 64


def cache(pipeline: Pipeline, path: StrPath | None, key: str | None) -> Pipeline:
    """Return a pipeline that caches its elements; ``key`` stands for the code of its functions."""
    return pipeline.then(cache_stage(pipeline, path, key))


def cache_stage(pipeline: Pipeline, path: StrPath | None, key: str | None) -> Stage:
    """Return the stage that caches the elements of a pipeline."""
    if path is None:
        if key is not None:
            raise ValueError("key= is for a cache on disk: give its path too")
        return MemoryCacheStage()
    store, folder = locate(path)
    if not store.capabilities.native_paths:
        raise ValueError(f"the path of a cache is a local folder, not {folder}")
    # Imported here: it imports much of the standard library, and few use a cache on disk.
    from penstock.dataset.fingerprint import fingerprint

    return DiskCacheStage(os.path.abspath(folder), fingerprint(_content(pipeline), _functions(pipeline), key))


def _content(pipeline: Pipeline) -> Any:
    """Return in JSON everything that decides the elements of a pipeline, apart from the code of functions."""
    start = pipeline.start
    if isinstance(start, JoinStart):
        return [pipeline.describe(), [_content(child) for child in start.children]]
    assert isinstance(start, ReadRows)
    reading = start.source.shards.options
    return [
        pipeline.describe(),
        start.identities,
        _times(start.source.shards.paths),
        start.source.schema.to_json(),
        [
            "auto" if reading.compression is None else reading.compression,
            reading.verify,
            reading.max_record_bytes,
            reading.skips_damage,
            reading.nested,
        ],
        [_sample_rows(order) for order in (start.rows, start.batches) if order is not None],
    ]


def _times(paths: Iterable[str]) -> list[int]:
    """Return when local files were last changed: their identity covers only both ends of their content."""
    located = map(locate, paths)
    times = (store.stat(name).modified_ns for store, name in located if store.capabilities.native_paths)
    return [time for time in times if time is not None]


def _sample_rows(order: Order) -> list[int]:
    """Return the rows at some positions: ``describe()`` leaves out which rank an order is for."""
    if order.run is not None:
        return []
    length = order.length(Epoch())
    at = np.arange(_SAMPLES) if length is None else np.unique(np.linspace(0, length - 1, _SAMPLES).astype(np.int64))
    rows: list[int] = [] if length == 0 else order.at(at, Epoch()).rows.tolist()
    return [-1 if length is None else length, *rows]


def _functions(pipeline: Pipeline) -> Iterator[Callable[..., Any]]:
    if isinstance(pipeline.start, JoinStart):
        for child in pipeline.start.children:
            yield from _functions(child)
    tests = [filter_.test for filter_ in pipeline.start.filters] if isinstance(pipeline.start, ReadRows) else []
    for stage in (*tests, *pipeline.stages):
        if is_dataclass(stage):
            values = (getattr(stage, field.name) for field in fields(stage))
            yield from (value for value in values if callable(value))


class _Memory:
    """The blocks of a complete epoch. Pickled, it is empty."""

    def __init__(self) -> None:
        self.blocks: list[Block] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _Memory, ()


@dataclass(frozen=True)
class MemoryCacheStage(Stage):
    """Stores the blocks of the first complete epoch: every epoch after the cache is epoch 0 of what is before it.

    A cursor holds the cursor of the flow before it, so that a state can be resumed where nothing is cached.
    """

    is_in_memory = True

    _memory: _Memory = field(default_factory=_Memory, init=False, compare=False, repr=False)

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        position = position_of(cursor)
        cached = self._memory.blocks
        if cached is not None and has_position(cached, position):
            for number in range(position["block"], len(cached)):
                yield in_epoch(
                    replace(cached[number], elements=_copied(cached[number].elements)), position | {"block": number}
                )
            return
        collected: list[Block] = []
        with closing(upstream(position["up"])) as blocks:
            for number, block in enumerate(blocks, position["block"]):
                # Copied, because the consumer may change its elements, and a few strings may keep much memory alive.
                if is_start(position["up"]):
                    collected.append(replace(block, elements=_copied(block.elements)))
                yield in_epoch(block, position | {"block": number})
        if is_start(position["up"]):
            self._memory.blocks = collected

    def length(self, upstream: int | None) -> int | None:
        return upstream

    @property
    def calls(self) -> list[str]:
        return [call_text("cache")]

    def describe(self) -> list[Any]:
        return ["cache"]


def position_of(cursor: Cursor) -> dict[str, Any]:
    """Return a position: the epoch, the number of a block, and its cursor in the flow before the cache."""
    return {"epoch": epoch_of(cursor), "block": 0, "up": start_of(0)} if is_start(cursor) else cursor


class _Placed(Protocol):
    @property
    def start(self) -> Cursor: ...

    @property
    def stop(self) -> Cursor: ...


def has_position(blocks: Sequence[_Placed], position: dict[str, Any]) -> bool:
    """Whether cached blocks have the position: another version may have cut blocks differently."""
    number, up = position["block"], position["up"]
    if number < len(blocks):
        return is_start(up) if number == 0 else blocks[number].start == up
    return number == len(blocks) and (is_start(up) if number == 0 else blocks[-1].stop == up)


def in_epoch(block: Block, position: dict[str, Any]) -> Block:
    """Return a block at its position in an epoch after the cache."""
    epoch, number = position["epoch"], position["block"]
    stop = {"epoch": epoch, "block": number + 1, "up": block.stop}
    keys = RowKeys(block.keys.rows, block.keys.epochs + epoch)
    return with_cursors(replace(block, keys=keys), {"epoch": epoch, "block": number, "up": block.start}, stop)


def _copied(elements: Elements) -> Elements:
    return elements.copy() if isinstance(elements, Batch) else list(map(_copied_element, elements))


def _copied_element(element: Any) -> Any:
    if isinstance(element, Batch):
        return element.copy()
    try:
        return deepcopy(element)
    except Exception:  # what cannot be copied is stored as it is
        return element


@dataclass(frozen=True)
class DiskCacheStage(Stage):
    """Stores a complete epoch below ``path``, in a folder named by its fingerprint.

    An interrupted epoch leaves nothing. As with the cache in memory, every epoch is epoch 0 of what is before it.
    """

    path: str
    fingerprint: str

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        position = position_of(cursor)
        folder = Path(self.path) / self.fingerprint
        cached = CachedBlocks(folder) if folder.exists() else None
        if cached is not None and has_position(cached.entries, position):
            for number in range(position["block"], len(cached.entries)):
                with meter.timed("reading"):
                    block = cached.read(number)
                yield in_epoch(block, position | {"block": number})
        elif cached is None and is_start(position["up"]):
            with CachedBlocksWriter(folder) as writer, closing(_stored_form(upstream, position["up"])) as blocks:
                for number, block in enumerate(blocks):
                    writer.add(block)
                    yield in_epoch(block, position | {"block": number})
                writer.commit()
        else:
            with closing(_stored_form(upstream, position["up"])) as blocks:
                for number, block in enumerate(blocks, position["block"]):
                    yield in_epoch(block, position | {"block": number})

    def length(self, upstream: int | None) -> int | None:
        return upstream

    @property
    def calls(self) -> list[str]:
        return [call_text("cache", repr(self.path))]

    def describe(self) -> list[Any]:
        return ["cache"]


def _stored_form(upstream: OpenFlow, cursor: Cursor) -> Flow:
    """Open a flow with elements as they will be read back."""
    with closing(upstream(cursor)) as blocks:
        for block in blocks:
            yield replace(block, elements=storable(block.elements))
