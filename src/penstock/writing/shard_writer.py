"""One shard that is being written: frames, compressed or not, with a running checksum."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

from penstock import _core
from penstock.compression import Compression, open_compressor
from penstock.manifest import Shard
from penstock.storage import FileStore

PIECE_BYTES = 1 << 20
"""Frames are collected up to this size before they are written or become a gzip member."""
_LEAST_PIECE_BYTES = 1 << 17
_ALL_PIECES_BYTES = 1 << 26
NO_LIMIT = 1 << 62


def piece_bytes(shards: int) -> int:
    """Return the size of a piece while this many shards are written at once, so that memory stays bounded."""
    return max(_LEAST_PIECE_BYTES, min(PIECE_BYTES, _ALL_PIECES_BYTES // shards))


class RowBlock(Protocol):
    """Rows that are checked and ready to be written, by any number of threads."""

    @property
    def rows(self) -> int:
        """The number of rows."""

    def frame(self, frames: _core.FrameBuffer, first: int, stop: int, limit: int = NO_LIMIT) -> int:
        """Frame rows from ``first`` until ``stop``, or until the frames have ``limit`` bytes; return the next row."""


class ShardWriter:
    """Write one shard. For one thread at a time.

    A shard ``is_temporary`` where its file is complete under a temporary name before :meth:`publish` renames it. The
    others are uploads that appear under their name when they are committed.
    """

    def __init__(
        self, store: FileStore, path: str, kind: Compression, level: int, *, is_temporary: bool, piece: int
    ) -> None:
        self._store = store
        self.path = path
        """Where the file is, or will be: its name changes when it is published."""
        self._is_temporary = is_temporary
        self._piece = piece
        self._frames = _core.FrameBuffer(piece)
        self._compressor = open_compressor(kind, level) if kind else None
        self._records = self._bytes = self._crc = 0
        self._framed = 0  # bytes of the frames, uncompressed
        self._compressed = False  # some of it by the compressor, and not elsewhere
        self.published = False
        """Whether the file has its name."""
        self._paths: set[str] = set()  # where the file may be, also after an error
        # Only local files can be written in place; elsewhere, a file appears when it is committed.
        self._upload = store.put(path, atomic=not (is_temporary and store.capabilities.native_paths))

    @property
    def takes_any_piece(self) -> bool:
        """Whether the bytes of the shard are the same wherever its frames are cut into pieces."""
        return self._compressor is None

    @property
    def framed_bytes(self) -> int:
        """The size of all frames so far, uncompressed."""
        return self._framed + len(self._frames)

    def write(self, block: RowBlock, first: int, stop: int, limit: int = NO_LIMIT) -> int:
        """Write rows of a block until all frames of the shard have ``limit`` bytes; return the next row."""
        while first < stop and self.framed_bytes < limit:
            first = block.frame(self._frames, first, stop, min(self._piece, limit - self._framed))
            if len(self._frames) >= self._piece:
                self._send(self._frames)
        return first

    def send(self, frames: _core.FrameBuffer) -> None:
        """Write frames, and leave the buffer empty."""
        self._send(self._frames)
        self._send(frames)

    def send_bytes(self, framed: bytes, records: int) -> None:
        """Write the bytes of whole frames."""
        self._records += records
        self._framed += len(framed)
        if self._compressor is None:
            self._write(framed)
            return
        self._compressed = True
        for data in self._compressor.encode(framed, records):
            self._write(data)

    def copy(self, stored: bytes, records: int) -> None:
        """Write frames that are compressed already, in pieces that can follow one another."""
        self._records += records
        for data in self._compressor.flush() if self._compressor is not None else ():
            self._write(data)
        self._write(stored)

    def finish(self, *, sync: bool) -> None:
        """Write everything to the file or the remote side, with ``sync`` to the disk; no rows follow."""
        self._send(self._frames)
        if self._compressor is not None:
            end = self._compressor.finish()
            for data in end if self._compressed or not self._records else ():
                self._write(data)
            self._compressor = None  # its threads end with it
        self._frames = _core.FrameBuffer()  # releases memory while other shards are written
        # A full disk must show now, while a dataset that is to be replaced is still there.
        if self._is_temporary:
            self._paths.add(self.path)
            self._upload.commit(sync=sync)
        elif sync:
            self._upload.sync()
        else:
            self._upload.flush()

    def entry(self, name: str) -> Shard:
        """Return what a manifest records about the shard."""
        return Shard(name, self._records, self._bytes, self._crc)

    def publish(self, path: str, *, sync: bool) -> None:
        """Give the finished file its name."""
        self._paths.add(path)
        if self._is_temporary:
            self._store.rename(self.path, path, sync=sync)
            self.path = path
        else:
            self._upload.commit(sync=sync)
        self.published = True

    def abort(self) -> None:
        """Remove the file, in whatever state it is."""
        self._compressor = None
        if not self.published and (partial := self._upload.abort()) is not None:
            self._paths.add(partial)
        for path in self._paths:
            # Without a manifest it belongs to no dataset; the error that led here is raised to the user.
            with suppress(OSError):
                self._store.remove(path)

    def _send(self, frames: _core.FrameBuffer) -> None:
        count = frames.count
        if not count:
            return
        if self._compressor is not None:
            self.send_bytes(frames.take(), count)
            return
        self._records += count
        self._framed += len(frames)
        self._bytes += len(frames)
        self._crc = frames.crc32c(self._crc)
        self._upload.write_frames(frames)

    def _write(self, data: bytes) -> None:
        self._bytes += len(data)
        self._crc = _core.crc32c(data, self._crc)
        self._upload.write(data)
