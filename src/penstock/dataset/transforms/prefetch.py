"""Prefetched: a thread that runs the flow before it ahead of the consumer."""

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
from penstock.dataset.workers import ended


@dataclass(frozen=True)
class PrefetchStage(Stage):
    """Keeps up to ``blocks`` blocks (behind ``batch``: batches) ready. Closing it ends the thread with its block."""

    one_to_one = True
    keeps_rows = True

    blocks: int

    def __post_init__(self) -> None:
        if self.blocks < 1:
            raise ValueError(f"one block or more is prefetched, not {self.blocks}")

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        channel = _Channel(self.blocks)
        thread = threading.Thread(target=_fill, args=(channel, upstream, cursor), name="penstock-prefetch", daemon=True)
        with ended([thread], channel.close):
            thread.start()
            while (block := channel.get()) is not None:
                yield block

    @property
    def calls(self) -> list[str]:
        return [call_text("prefetch", self.blocks)]

    def describe(self) -> list[Any]:
        return []  # it changes nothing about what is given


def _fill(channel: _Channel, upstream: OpenFlow, cursor: Cursor) -> None:
    error: BaseException | None = None
    try:
        with closing(upstream(cursor)) as blocks:
            while channel.has_room() and (block := next(blocks, None)) is not None:
                channel.put(block)
                del block  # or it would live until there is another one
    except BaseException as raised:
        error = raised
    channel.end(error)


class _Channel:
    """Blocks on their way from a thread to its consumer."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._blocks: deque[Block] = deque()
        self._changed = threading.Condition()
        self._ended = self._closed = False
        self._error: BaseException | None = None

    def has_room(self) -> bool:
        """Wait until another block is wanted; False: none will be."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._blocks) < self._most)
            return not self._closed

    def put(self, block: Block) -> None:
        with self._changed:
            self._blocks.append(block)
            self._changed.notify_all()

    def end(self, error: BaseException | None) -> None:
        """Say that nothing follows but an error, if there is one."""
        with self._changed:
            self._ended, self._error = True, error
            self._changed.notify_all()

    def get(self) -> Block | None:
        """Wait for the next block; None: there is no more."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._blocks)
            if self._blocks:
                self._changed.notify_all()
                return self._blocks.popleft()
            if self._error is not None:
                raise self._error
            return None

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._blocks.clear()
            self._changed.notify_all()
