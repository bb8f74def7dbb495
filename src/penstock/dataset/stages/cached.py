"""Cached in memory: the first complete pass is kept, and later ones are given out of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from penstock.columns import Batch
from penstock.dataset.block import Block, Cursor, Elements, Flow, OpenFlow
from penstock.dataset.meter import Meter
from penstock.dataset.order import Keys
from penstock.dataset.stages.cursor import epoch_of, is_start, start_of
from penstock.dataset.stages.elements import placed
from penstock.dataset.stages.stage import Stage


class _Memory:
    """What a pass left. Other processes start without it."""

    def __init__(self) -> None:
        self.blocks: list[Block] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _Memory, ()


@dataclass(frozen=True)
class Cached(Stage):
    """Keeps what came in the first complete pass: every epoch behind it is epoch 0 of what is before it.

    A cursor names a place of the flow before it, so that a state can be taken up where nothing was kept.
    """

    _memory: _Memory = field(default_factory=_Memory, init=False, compare=False, repr=False)

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        place = first_place(cursor)
        kept = self._memory.blocks
        if kept is not None and is_place_in(kept, place):
            for number in range(place["block"], len(kept)):
                yield given_out(
                    replace(kept[number], elements=_copied(kept[number].elements)), place | {"block": number}
                )
            return
        collected: list[Block] = []
        with closing(upstream(place["up"])) as blocks:
            for number, block in enumerate(blocks, place["block"]):
                # Copies, because the consumer may change what it was given, and few strings may keep much alive.
                if is_start(place["up"]):
                    collected.append(replace(block, elements=_copied(block.elements)))
                yield given_out(block, place | {"block": number})
        if is_start(place["up"]):
            self._memory.blocks = collected

    def length(self, upstream: int | None) -> int | None:
        return upstream

    def describe(self) -> list[Any]:
        return ["cache"]


def first_place(cursor: Cursor) -> dict[str, Any]:
    """Answer a place: the epoch, the number of a block, and where it begins in the flow before the cache."""
    return {"epoch": epoch_of(cursor), "block": 0, "up": start_of(0)} if is_start(cursor) else cursor


class _Placed(Protocol):
    @property
    def start(self) -> Cursor: ...

    @property
    def stop(self) -> Cursor: ...


def is_place_in(blocks: Sequence[_Placed], place: dict[str, Any]) -> bool:
    """Tell whether kept blocks have the place; those of another version may be cut in another way."""
    number, up = place["block"], place["up"]
    if number < len(blocks):
        return is_start(up) if number == 0 else blocks[number].start == up
    return number == len(blocks) and (is_start(up) if number == 0 else blocks[-1].stop == up)


def given_out(block: Block, place: dict[str, Any]) -> Block:
    """Answer a block at its place in an epoch behind the cache."""
    epoch, number = place["epoch"], place["block"]
    stop = {"epoch": epoch, "block": number + 1, "up": block.stop}
    keys = Keys(block.keys.rows, block.keys.epochs + epoch)
    return placed(replace(block, keys=keys), {"epoch": epoch, "block": number, "up": block.start}, stop)


def _copied(elements: Elements) -> Elements:
    return elements.copy() if isinstance(elements, Batch) else list(map(_copied_element, elements))


def _copied_element(element: Any) -> Any:
    if isinstance(element, Batch):
        return element.copy()
    try:
        return deepcopy(element)
    except Exception:  # what lets nobody copy it is kept as it is
        return element
