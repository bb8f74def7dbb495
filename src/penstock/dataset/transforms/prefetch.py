"""prefetch(): a thread that prepares elements ahead of the consumer."""

from __future__ import annotations

import threading
from collections import deque
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from penstock.dataset.block import Block, Cursor, Flow, OpenFlow
from penstock.dataset.order import call_text
from penstock.dataset.progress import Meter
from penstock.dataset.stage import Stage
from penstock.dataset.workers import stopped_at_exit


@dataclass(frozen=True)
class PrefetchStage(Stage):
    """Prepares blocks until they hold ``elements`` elements. Closing the flow ends the thread after its block."""

    one_to_one = True
    keeps_rows = True
    ignores_columns = True

    elements: int

    def __post_init__(self) -> None:
        if self.elements < 1:
            raise ValueError(f"prefetch() takes 1 element or more, not {self.elements}")

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        channel = _Channel(self.elements)
        thread = threading.Thread(target=_fill, args=(channel, upstream, cursor), name="penstock-prefetch", daemon=True)
        with stopped_at_exit([thread], channel.close):
            thread.start()
            while (block := channel.get()) is not None:
                yield block

    @property
    def calls(self) -> list[str]:
        return [call_text("prefetch", self.elements)]

    def describe(self) -> list[Any]:
        return []  # neither elements nor their order change


def _fill(channel: _Channel, upstream: OpenFlow, cursor: Cursor) -> None:
    error: BaseException | None = None
    try:
        with closing(upstream(cursor)) as blocks:
            while channel.has_room() and (block := next(blocks, None)) is not None:
                channel.put(block)
                del block  # so that it is freed while the next one is prepared
    except BaseException as raised:
        error = raised
    channel.end(error)


class _Channel:
    """Blocks between the thread and its consumer: no more are added once they hold ``most`` elements."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._blocks: deque[Block] = deque()
        self._changed = threading.Condition()
        self._ended = self._closed = False
        self._error: BaseException | None = None

    def has_room(self) -> bool:
        """Wait until there is room for a block; return False once the channel is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._held < self._most)
            return not self._closed

    def put(self, block: Block) -> None:
        with self._changed:
            self._blocks.append(block)
            self._held += len(block)
            self._changed.notify_all()

    def end(self, error: BaseException | None) -> None:
        """Mark the end of the flow, or the error that ended it."""
        with self._changed:
            self._ended, self._error = True, error
            self._changed.notify_all()

    def get(self) -> Block | None:
        """Wait for the next block; return None after the last one."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._blocks)
            if self._blocks:
                block = self._blocks.popleft()
                self._held -= len(block)
                self._changed.notify_all()
                return block
            if self._error is not None:
                raise self._error
            return None

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._blocks.clear()
            self._changed.notify_all()
