"""Encodes rows on threads, and sends the frames to the shards that a layout chooses, in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.parallel import available_cpus
from penstock.progress import ProgressBar
from penstock.writing.destination import Destination
from penstock.writing.layout import Layout, ShardSequence, Sink
from penstock.writing.shard_writer import PIECE_BYTES, RowBlock, ShardWriter

# Rows that show how large a row is.
_SAMPLE_ROWS = 64
# Columns of a table are checked and converted for this many pieces at once; threads then encode piece by piece.
_PIECES_IN_BLOCK = 8


class WriteEngine:
    """Write blocks of rows. For one thread at a time.

    Args:
        destination: Where the shards are.
        layout: Which shard each row goes to.
        progress: Shows the number of rows.
    """

    def __init__(self, destination: Destination, layout: Layout, progress: ProgressBar) -> None:
        self._destination = destination
        self._layout = layout
        self._progress = progress
        self._threads = available_cpus()
        self._encoders = ThreadPoolExecutor(self._threads, thread_name_prefix="penstock-encode")
        self._senders = ThreadPoolExecutor(self._threads, thread_name_prefix="penstock-write")
        self._sending: list[Future[None]] = []
        self._shards: list[ShardWriter] | None = None  # of a table, finished
        self._failed = threading.Event()

    def add(self, block: RowBlock) -> None:
        """Write a block of rows after those before. The next one can be prepared meanwhile."""
        self.wait()
        placed = self._layout.place(block.rows)
        if isinstance(placed, list):
            ahead = -(-self._threads // max(1, len(placed)))
            self._sending = [self._senders.submit(self._send_all, block, [part], ahead) for part in placed]
        else:
            self._sending = [self._senders.submit(self._send_all, block, placed, self._threads)]
        self._progress.advance(block.rows)

    def add_table(self, rows: int, take: Callable[[int, int], RowBlock]) -> None:
        """Write a table, and nothing else: several shards at once; ``take(first, stop)`` makes a block."""
        if not isinstance(self._layout, ShardSequence):
            for start in range(0, rows, step := _rows_in_piece(take(0, min(_SAMPLE_ROWS, rows))) * _PIECES_IN_BLOCK):
                self.add(take(start, min(rows, start + step)))
            return
        bounds = self._layout.bounds(rows)
        drivers = min(len(bounds) - 1, self._threads)
        piece = _rows_in_piece(take(0, min(_SAMPLE_ROWS, rows))) if rows else 1

        def write(number: int, first: int, stop: int) -> ShardWriter:
            shard = self._destination.open(number, len(bounds) - 1)
            starts = range(first, stop, piece * _PIECES_IN_BLOCK)
            blocks = (take(start, min(stop, start + starts.step)) for start in starts)
            self._send(shard, ((block, 0, block.rows) for block in blocks), piece, -(-self._threads // drivers), True)
            return shard

        with ThreadPoolExecutor(drivers, thread_name_prefix="penstock-write") as pool:
            written = [pool.submit(write, number, *part) for number, part in enumerate(pairwise(bounds))]
            try:
                self._shards = [future.result() for future in written]
            except BaseException:
                self._failed.set()
                pool.shutdown(cancel_futures=True)
                raise

    def wait(self) -> None:
        """Wait until the last block is written."""
        sending, self._sending = self._sending, []
        for future in sending:
            future.result()

    def close(self) -> list[ShardWriter]:
        """Finish all shards, and return them in order."""
        self.wait()
        shards = self._layout.close(self._senders) if self._shards is None else self._shards
        self._stop()
        return shards

    def abort(self) -> None:
        """Stop, and remove what was written."""
        self._failed.set()
        self._stop()
        self._layout.abort()

    def _stop(self) -> None:
        for pool in (self._senders, self._encoders):
            pool.shutdown(cancel_futures=True)

    def _send_all(self, block: RowBlock, placed: Iterable[tuple[Sink, int, int, bool]], ahead: int) -> None:
        for sink, first, stop, is_full in placed:
            self._send(sink, [(block, first, stop)], None, ahead, is_full)

    def _send(
        self, sink: Sink, parts: Iterable[tuple[RowBlock, int, int]], piece: int | None, ahead: int, is_full: bool
    ) -> None:
        """Write rows to one sink: pieces of ``piece`` rows are encoded ahead, on threads, and sent in order."""
        pending: deque[Future[_core.FrameBuffer]] = deque()
        try:
            for block, first, stop in parts:
                rows = piece or self._piece_of_stream(sink, block, first, stop)
                if rows is None:
                    sink.write(block, first, stop)
                    continue
                for start in range(first, stop, rows):
                    if self._failed.is_set():
                        return
                    pending.append(self._encoders.submit(_encode, block, start, min(stop, start + rows)))
                    if len(pending) > ahead:
                        self._send_piece(sink, pending.popleft(), piece is not None)
            while pending:
                self._send_piece(sink, pending.popleft(), piece is not None)
            if is_full:
                assert isinstance(sink, ShardWriter)
                self._destination.finish(sink)
        except BaseException:
            self._failed.set()
            raise

    def _send_piece(self, sink: Sink, encoded: Future[_core.FrameBuffer], is_counted: bool) -> None:
        frames = encoded.result()
        rows = frames.count
        sink.send(frames)
        if is_counted:
            self._progress.advance(rows)

    def _piece_of_stream(self, sink: Sink, block: RowBlock, first: int, stop: int) -> int | None:
        """Return the rows of a piece; None to encode on this thread: the block is small, or the cuts would show."""
        if not sink.takes_any_piece or self._threads == 1 or stop - first <= _SAMPLE_ROWS:
            return None
        rows = _rows_in_piece(block, first)
        return rows if rows * 2 <= stop - first else None


def _encode(block: RowBlock, first: int, stop: int) -> _core.FrameBuffer:
    frames = _core.FrameBuffer()
    block.frame(frames, first, stop)
    return frames


def _rows_in_piece(block: RowBlock, first: int = 0) -> int:
    frames = _core.FrameBuffer()
    framed = block.frame(frames, first, min(block.rows, first + _SAMPLE_ROWS), PIECE_BYTES) - first
    return max(1, PIECE_BYTES * framed // len(frames)) if framed else 1


def check_seed(seed: int | None) -> None:
    """Refuse what is no seed."""
    if seed is not None and not 0 <= seed < 1 << 64:
        raise ValueError(f"shuffle is a seed from 0 to 2**64 - 1, not {seed}")


def permutation(seed: int, block: int, rows: int) -> NDArray[np.int64]:
    """Return an order of ``rows`` rows that is the same for the same seed and block, always and everywhere.

    Rows are sorted by random keys: NumPy guarantees the bits of its generators, not what it computes from them.
    """
    keys = np.random.Philox(key=np.array([seed, block], np.uint64)).random_raw(rows)
    return np.argsort(keys, kind="stable")
