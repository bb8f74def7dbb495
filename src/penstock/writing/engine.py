"""Writes a table of known length: every shard has a part of its rows, and threads encode side by side."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.codec.encoder import EncodedRows, Encoder
from penstock.manifest import Manifest
from penstock.parallel import available_cpus
from penstock.progress import ProgressBar
from penstock.writing.inputs import Table
from penstock.writing.shard_writer import PIECE, ShardWriter
from penstock.writing.target import Target

# Rows that tell how large a row is.
_SAMPLE_ROWS = 64
# Columns are checked and converted for so many pieces at once, which threads then encode one by one.
_PIECES_IN_BLOCK = 8


def write_table(
    table: Table, encoder: Encoder, order: NDArray[np.int64] | None, target: Target, bar: ProgressBar
) -> Manifest:
    """Write all rows, in their order or in another, and commit."""
    try:
        bounds = split(table.num_rows, len(target.shards))
        _TableWriting(table, encoder, order, bar).write(target.shards, bounds)
        return target.commit(encoder.schema)
    except BaseException:
        target.abort()
        raise


class _TableWriting:
    def __init__(self, table: Table, encoder: Encoder, order: NDArray[np.int64] | None, bar: ProgressBar) -> None:
        self._table = table
        self._encoder = encoder
        self._order = order
        self._bar = bar
        self._failed = threading.Event()
        self._threads = available_cpus()
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="penstock-encode")

    def write(self, shards: list[ShardWriter], bounds: list[int]) -> None:
        drivers = min(len(shards), self._threads)
        ahead = -(-self._threads // drivers)
        rows = self._rows_in_piece()
        with self._pool, ThreadPoolExecutor(drivers, thread_name_prefix="penstock-write") as pool:
            parts = [
                pool.submit(self._write_part, shard, first, stop, rows, ahead)
                for shard, first, stop in zip(shards, bounds, bounds[1:], strict=False)
            ]
            try:
                for part in parts:
                    part.result()
            except BaseException:
                self._failed.set()
                raise

    def _write_part(self, shard: ShardWriter, first: int, stop: int, rows: int, ahead: int) -> None:
        """Write one shard: pieces are encoded ahead, and sent in order."""
        pending: deque[Future[_core.FrameBuffer]] = deque()
        try:
            for start in range(first, stop, rows * _PIECES_IN_BLOCK):
                block = self._block(start, min(stop, start + rows * _PIECES_IN_BLOCK))
                for piece in range(0, block.rows, rows):
                    if self._failed.is_set():
                        return
                    pending.append(self._pool.submit(_encode, block, piece, min(block.rows, piece + rows)))
                    if len(pending) > ahead:
                        self._send(shard, pending.popleft())
            while pending:
                self._send(shard, pending.popleft())
        except BaseException:
            self._failed.set()
            raise

    def _block(self, start: int, stop: int) -> EncodedRows:
        if self._order is None:
            return self._encoder._block(self._table.take(slice(start, stop)), stop - start, range(start, stop))
        rows = self._order[start:stop]
        return self._encoder._block(self._table.take(rows), len(rows), rows.tolist())

    def _send(self, shard: ShardWriter, encoded: Future[_core.FrameBuffer]) -> None:
        frames = encoded.result()
        rows = frames.count
        shard.send(frames)
        self._bar.advance(rows)

    def _rows_in_piece(self) -> int:
        rows = min(_SAMPLE_ROWS, self._table.num_rows)
        if not rows:
            return 1
        frames = _core.FrameBuffer()
        framed = self._block(0, rows).frame(frames, 0, rows, PIECE)
        return max(1, PIECE * framed // len(frames))


def _encode(block: EncodedRows, first: int, stop: int) -> _core.FrameBuffer:
    frames = _core.FrameBuffer()
    block.frame(frames, first, stop)
    return frames


def check_seed(seed: int | None) -> None:
    """Refuse what is no seed."""
    if seed is not None and not 0 <= seed < 1 << 64:
        raise ValueError(f"shuffle is a seed from 0 to 2**64 - 1, not {seed}")


def permutation(seed: int, block: int, rows: int) -> NDArray[np.int64]:
    """Return an order of ``rows`` rows that is the same for the same seed and block, always and everywhere.

    Rows are sorted by random keys: NumPy promises the bits of its generators, not what it makes of them.
    """
    keys = np.random.Philox(key=np.array([seed, block], np.uint64)).random_raw(rows)
    return np.argsort(keys, kind="stable")


def deal(first: int, rows: int, shards: int) -> list[int]:
    """Return where each shard's part of a block begins, and the end of the last.

    A shard's part is as large as if rows had been dealt one by one, whatever the blocks: over any number of blocks, no
    shard has more than one row more than another.
    """
    bounds = [0]
    for shard in range(shards):
        bounds.append(bounds[-1] + _dealt(first + rows, shard, shards) - _dealt(first, shard, shards))
    return bounds


def split(rows: int, shards: int) -> list[int]:
    """Return where each shard's part of all rows begins, and the end of the last."""
    return [rows * shard // shards for shard in range(shards + 1)]


def _dealt(rows: int, shard: int, shards: int) -> int:
    return (rows + shards - 1 - shard) // shards
