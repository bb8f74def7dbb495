"""Cached on disk: a complete pass is kept in a folder, for later epochs and for other programs."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from penstock.dataset.block import Cursor, Flow, OpenFlow
from penstock.dataset.kept.block_bytes import storable
from penstock.dataset.kept.folder import KeptBlocks, KeptBlocksWriter
from penstock.dataset.meter import Meter
from penstock.dataset.stages.cached import first_place, given_out, is_place_in
from penstock.dataset.stages.cursor import is_start
from penstock.dataset.stages.stage import Stage


@dataclass(frozen=True)
class CachedOnDisk(Stage):
    """Keeps a complete pass in ``path``, in a folder named by the fingerprint of what it holds.

    A pass that is broken off leaves nothing. As behind ``Cached``, every epoch is epoch 0 of what is before it.
    """

    path: str
    fingerprint: str

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        place = first_place(cursor)
        folder = Path(self.path) / self.fingerprint
        kept = KeptBlocks(folder) if folder.exists() else None
        if kept is not None and is_place_in(kept.entries, place):
            for number in range(place["block"], len(kept.entries)):
                with meter.timed("reading"):
                    block = kept.read(number)
                yield given_out(block, place | {"block": number})
        elif kept is None and is_start(place["up"]):
            with KeptBlocksWriter(folder) as writer, closing(_stored_form(upstream, place["up"])) as blocks:
                for number, block in enumerate(blocks):
                    writer.add(block)
                    yield given_out(block, place | {"block": number})
                writer.commit()
        else:
            with closing(_stored_form(upstream, place["up"])) as blocks:
                for number, block in enumerate(blocks, place["block"]):
                    yield given_out(block, place | {"block": number})

    def length(self, upstream: int | None) -> int | None:
        return upstream

    def describe(self) -> list[Any]:
        return ["cache"]


def _stored_form(upstream: OpenFlow, cursor: Cursor) -> Flow:
    """Open a flow; its elements are those that will be read back."""
    with closing(upstream(cursor)) as blocks:
        for block in blocks:
            yield replace(block, elements=storable(block.elements))
