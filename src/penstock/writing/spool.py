"""Rows of a stream of unknown length on their way to a given number of shards, in order.

Where each shard ends is only known at the end. Until then, frames are written to *runs*: hidden files next to the
dataset, or in the folder for temporary files where the dataset is remote. Then each shard is put together from its part
of the runs, on threads, and a run is removed as soon as its last row is copied. So the disk holds the data once, and
one run more for each thread; with ZLIB the runs are not compressed, since its streams cannot be joined.

Runs consist of pieces of about 1 MiB: frames, a gzip member, or blocks of SNAPPY. Whole pieces are copied as they are.
Only the piece in which a shard ends is compressed again, so that the numbers of rows differ by at most one.
"""

from __future__ import annotations

import os
import tempfile
import threading
from array import array
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import suppress
from hashlib import sha256
from itertools import accumulate, pairwise

from penstock import _core
from penstock.compression import Compression, inflate, open_compressor
from penstock.storage.local import LocalFiles
from penstock.storage.store import Upload
from penstock.writing.destination import Destination
from penstock.writing.hidden_files import TemporaryFiles, remove_abandoned
from penstock.writing.shard_writer import PIECE_BYTES, RowBlock, ShardWriter

RUN_BYTES = 256 << 20
"""A run ends with the piece that brings it to this size."""


class SpooledShards:
    """Collect rows in runs; :meth:`close` makes shards of them. For one thread at a time."""

    def __init__(self, destination: Destination, shards: int) -> None:
        self._destination = destination
        self._shards = shards
        self._kind: Compression = "" if destination.kind == "ZLIB" else destination.kind
        self._compressor = open_compressor(self._kind, destination.level) if self._kind else None
        self._pending: deque[int] = deque()  # the rows of each piece that is being compressed
        self._frames = _core.FrameBuffer(PIECE_BYTES)
        self._temporary = destination.temporary
        if not destination.is_local:
            folder = tempfile.gettempdir()
            base = os.path.join(folder, f"penstock-{sha256(destination.base.encode()).hexdigest()[:16]}")
            remove_abandoned(base)
            self._temporary = TemporaryFiles(base)
        self._runs: list[_Run] = []

    @property
    def takes_any_piece(self) -> bool:
        """Whether the bytes of the shards are the same wherever frames are cut into pieces."""
        return self._destination.kind == ""

    def place(self, rows: int) -> Iterator[tuple[SpooledShards, int, int, bool]]:
        """Return where the rows of the next block go."""
        yield self, 0, rows, False

    def write(self, block: RowBlock, first: int, stop: int) -> None:
        """Write rows of a block."""
        while first < stop:
            first = block.frame(self._frames, first, stop, PIECE_BYTES)
            if len(self._frames) >= PIECE_BYTES:
                self._send(self._frames)

    def send(self, frames: _core.FrameBuffer) -> None:
        """Write frames, and leave the buffer empty."""
        self._send(self._frames)
        self._send(frames)

    def close(self, pool: Executor) -> list[ShardWriter]:
        """Make shards of the rows, on the threads of a pool; return them, finished."""
        self._send(self._frames)
        if self._compressor is not None:
            self._keep(self._compressor.finish() if self._pending else [])
            self._compressor = None
        if self._runs:
            self._runs[-1].close()
        starts = [0, *accumulate(run.rows for run in self._runs)]
        bounds = [starts[-1] * shard // self._shards for shard in range(self._shards + 1)]
        for run, start in zip(self._runs, starts, strict=False):
            ends = (max(start, min(start + run.rows, bound)) for bound in bounds)
            run.readers = len(set(ends)) - 1
        made = [
            pool.submit(self._make_shard, number, first, stop, starts)
            for number, (first, stop) in enumerate(pairwise(bounds))
        ]
        shards = [future.result() for future in made]
        if self._temporary is not self._destination.temporary:
            self._temporary.close()
        return shards

    def abort(self) -> None:
        """Remove the runs."""
        self._compressor = None
        for run in self._runs:
            run.remove()
        if self._temporary is not self._destination.temporary:
            with suppress(OSError):
                self._temporary.close()

    def _send(self, frames: _core.FrameBuffer) -> None:
        count = frames.count
        if not count:
            return
        if self._compressor is None:
            self._run().append_frames(frames)
            return
        self._pending.append(count)
        pieces = self._compressor.encode(frames.take(), count)
        # Of gzip, a piece comes out for each that went in, some time after; SNAPPY makes several blocks of one at once.
        self._keep([b"".join(pieces)] if self._kind == "SNAPPY" else pieces)

    def _keep(self, pieces: list[bytes]) -> None:
        for piece in pieces:
            self._run().append(piece, self._pending.popleft())

    def _run(self) -> _Run:
        if self._runs and self._runs[-1].bytes >= RUN_BYTES:
            self._runs[-1].close()
        if not self._runs or self._runs[-1].is_closed:
            self._runs.append(_Run(self._temporary.path(f"run-{len(self._runs):05d}")))
        return self._runs[-1]

    def _make_shard(self, number: int, first: int, stop: int, starts: list[int]) -> ShardWriter:
        shard = self._destination.open(number, self._shards)
        for run, start in zip(self._runs, starts, strict=False):
            begin, end = max(first, start) - start, min(stop, start + run.rows) - start
            if begin < end:
                self._copy(run, begin, end, shard)
                run.release()
        self._destination.finish(shard)
        return shard

    def _copy(self, run: _Run, first: int, stop: int, shard: ShardWriter) -> None:
        """Copy some rows of a run to a shard."""
        joins = self._kind == self._destination.kind
        for stored, start, rows in run.pieces(first, stop):
            begin, end = max(first - start, 0), min(stop - start, rows)
            if joins and end - begin == rows:
                shard.copy(stored, rows)
                continue
            framed = b"".join(map(bytes, inflate(self._kind, [stored], path=run.path)))
            shard.send_bytes(_cut(framed, begin, end), end - begin)


class _Run:
    """A file of pieces. Written by one thread, then read by several."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.rows = self.bytes = 0
        self.readers = 0
        """The shards that take rows of it."""
        self._piece_rows, self._piece_bytes = array("Q"), array("Q")
        self._lock = threading.Lock()
        self._upload: Upload | None = None
        try:
            self._upload = LocalFiles().put(path, atomic=False)
        except OSError:
            self.remove()  # created, and then not opened for writing
            raise

    @property
    def is_closed(self) -> bool:
        return self._upload is None

    def append(self, piece: bytes, rows: int) -> None:
        assert self._upload is not None
        self._upload.write(piece)
        self._note(rows, len(piece))

    def append_frames(self, frames: _core.FrameBuffer) -> None:
        assert self._upload is not None
        rows, size = frames.count, len(frames)
        self._upload.write_frames(frames)
        self._note(rows, size)

    def _note(self, rows: int, size: int) -> None:
        self._piece_rows.append(rows)
        self._piece_bytes.append(size)
        self.rows += rows
        self.bytes += size

    def close(self) -> None:
        if self._upload is not None:
            self._upload.commit(sync=False)
            self._upload = None

    def pieces(self, first: int, stop: int) -> Iterator[tuple[bytes, int, int]]:
        """Yield the pieces that hold some of the rows, each with its first row and its number of rows."""
        start = offset = 0
        with open(self.path, "rb", buffering=0) as file:
            for rows, size in zip(self._piece_rows, self._piece_bytes, strict=True):
                if start < stop and start + rows > first:
                    file.seek(offset)
                    yield _read(file.fileno(), size, self.path), start, rows
                start += rows
                offset += size

    def release(self) -> None:
        """Remove the file after its last reader."""
        with self._lock:
            self.readers -= 1
            if self.readers == 0:
                os.unlink(self.path)

    def remove(self) -> None:
        if self._upload is not None:
            self._upload.abort()
            self._upload = None
        with suppress(OSError):
            os.unlink(self.path)


def _read(descriptor: int, size: int, path: str) -> bytes:
    pieces = []
    while size:
        piece = os.read(descriptor, size)
        if not piece:
            raise OSError(f"a temporary file was cut short by another program: {path}")
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _cut(framed: bytes, first: int, stop: int) -> bytes:
    """Return some of the frames."""
    chunks = _core.StreamRecords(verify=False, max_record_bytes=1 << 31).feed(framed)

    def offset_of(row: int) -> int:
        for chunk in chunks:
            assert isinstance(chunk, _core.RecordChunk)  # what this process has framed
            if row < len(chunk):
                return chunk.frame_offset(row)
            row -= len(chunk)
        return len(framed)

    return framed[offset_of(first) : offset_of(stop)]
