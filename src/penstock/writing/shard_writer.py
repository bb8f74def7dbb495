"""One shard that is being written: framed, compressed or not, and checksummed on the way."""

from __future__ import annotations

import os
from contextlib import suppress

from penstock import _core
from penstock.codec.encoder import EncodedRows
from penstock.compression import Compression, open_compressor
from penstock.manifest import Shard
from penstock.storage import FileStore

PIECE = 1 << 20
"""Frames gather up to this size before they go on: to the disk, or into a gzip member."""
_LEAST_PIECE = 1 << 17
_ALL_PIECES = 1 << 26


class ShardWriter:
    """Write one shard, of so many at once, behind a temporary name. For one thread at a time."""

    def __init__(self, store: FileStore, path: str, kind: Compression, level: int, shards: int) -> None:
        self._store = store
        self.path = path
        self._piece = max(_LEAST_PIECE, min(PIECE, _ALL_PIECES // shards))  # a thousand shards gather less each
        self._frames = _core.FrameBuffer(self._piece)
        self._encoder = open_compressor(kind, level) if kind else None
        self._records = self._bytes = self._crc = 0
        self.committed = False
        """Whether the file has its name."""
        self._commits = False  # the file may have its name, though an error came of it
        self._upload = store.put(path, atomic=True)

    def write(self, block: EncodedRows, first: int, stop: int) -> None:
        """Write some rows of a block."""
        while first < stop:
            first = block.frame(self._frames, first, stop, self._piece)
            if len(self._frames) >= self._piece:
                self.send(self._frames)

    def send(self, frames: _core.FrameBuffer) -> None:
        """Write frames, and leave the buffer empty."""
        count = frames.count
        if not count:
            return
        if self._encoder is None:
            self._bytes += len(frames)
            self._crc = frames.crc32c(self._crc)
            self._upload.write_frames(frames)
        else:
            for data in self._encoder.encode(frames.take(), count):
                self._write(data)
        self._records += count

    def finish(self, *, sync: bool) -> Shard:
        """Hand everything to the operating system, or put it on the disk; return what the manifest says about it."""
        self.send(self._frames)
        if self._encoder is not None:
            for data in self._encoder.finish():
                self._write(data)
            self._encoder = None  # its threads end with it
        self._frames = _core.FrameBuffer()  # lets go of memory while other shards are written
        # A full disk must show now, while a dataset that is to be replaced still stands.
        self._upload.sync() if sync else self._upload.flush()
        return Shard(os.path.basename(self.path), self._records, self._bytes, self._crc)

    def commit(self, *, sync: bool) -> None:
        """Give the file its name."""
        self._commits = True
        self._upload.commit(sync=sync)
        self.committed = True

    def abort(self) -> None:
        """Remove the file, whatever became of it."""
        self._encoder = None
        left = [self.path] if self._commits else []
        if not self.committed and (partial := self._upload.abort()) is not None:
            left.append(partial)
        for path in left:
            # Without a manifest it belongs to no dataset; the error that led here is on its way to the user.
            with suppress(OSError):
                self._store.remove(path)

    def _write(self, data: bytes) -> None:
        self._bytes += len(data)
        self._crc = _core.crc32c(data, self._crc)
        self._upload.write(data)
