"""Copies records to a new dataset, in any order, as they are stored: none is decoded.

:class:`RewrittenRows` leaves features out or gives them other names on the way. :func:`rewrite` changes nothing but the
order, and its memory is bounded: by ``memory``, and 32 bytes for each record. The files are read once, from start to
end. Records that stay in the order of the files are written at once. Others are dealt to temporary files beside the
output, each with a part of the output that fits into memory; then each part is read, put in order and written, so that
the disk holds the data twice for a while. What fits into a quarter of ``memory`` needs no temporary files.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.errors import CorruptDataError, Locate, MalformedExampleError
from penstock.manifest import Manifest
from penstock.progress import ProgressBar
from penstock.records.read_options import ReadOptions
from penstock.records.reader import RecordReader
from penstock.schema import Schema
from penstock.storage import split_path
from penstock.writing.destination import Destination
from penstock.writing.engine import permutation
from penstock.writing.layout import ShardSizes
from penstock.writing.shard_writer import NO_LIMIT, PIECE_BYTES, ShardWriter

_FRAME_OVERHEAD = 16
_WINDOW_BYTES, _WINDOW_ROWS = 64 << 20, 65536
_FAULTS = {
    "malformed": "the record is not a valid Example",
    "other": "the record is no Example, but another message",
    "taken": "a new name is that of a feature which the schema does not name; drop it, or choose another name",
}
_LEAST_PIECE_BYTES = 1 << 14
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class StoredRows:
    """Records of files, in an order.

    Args:
        paths: The files.
        counts: The number of records of each.
        lengths: The length of each record, in the order of the files.
        rows: The numbers of the records to write, in their new order, none twice; None: all, in the order of the files.
        options: How the files are read.
        schema: What the records hold.
    """

    paths: tuple[str, ...]
    counts: tuple[int, ...]
    lengths: NDArray[np.uint64]
    rows: Ints | None
    options: ReadOptions
    schema: Schema


@dataclass(frozen=True)
class RewrittenRows:
    """Records that are copied with some features left out, or under other names. A block of rows to write.

    Args:
        records: The records.
        change: What happens to their features.
        locate: Returns where a record is, by its place in ``records``.
    """

    records: _core.RecordChunk
    change: _core.EntryRewrite
    locate: Locate

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.records)

    def frame(self, frames: _core.FrameBuffer, first: int, stop: int, limit: int = NO_LIMIT) -> int:
        """Frame rows from ``first`` until ``stop``, or until the frames have ``limit`` bytes; return the next row.

        Raises:
            MalformedExampleError: A record is no Example, or a new name is that of another feature.
        """
        row, fault = self.change.append(self.records, first, stop, limit, frames)
        if fault:
            path, record = self.locate(row)
            raise MalformedExampleError(f"{_FAULTS[fault]}: {path}, record {record}", path=path, record=record)
        return row


def shuffled(blocks: Iterable[RewrittenRows], seed: int) -> Iterator[RewrittenRows]:
    """Shuffle rows in windows of about 64 MB and at most 65,536 rows."""
    window: list[RewrittenRows] = []
    rows = size = number = 0
    for block in chain(blocks, [None]):
        if block is not None:
            window.append(block)
            rows, size = rows + block.rows, size + int(block.records.spans[:, 1].sum())
        if window and (block is None or rows >= _WINDOW_ROWS or size >= _WINDOW_BYTES):
            order = permutation(seed, number, rows)
            records = _core.RecordPool([part.records for part in window]).take(order)
            yield RewrittenRows(records, window[0].change, _locate_in(window, order))
            window, rows, size, number = [], 0, 0, number + 1


def _locate_in(blocks: list[RewrittenRows], order: Ints) -> Locate:
    starts = np.cumsum([0, *(block.rows for block in blocks)])

    def locate(row: int) -> tuple[str | None, int]:
        number = int(np.searchsorted(starts, order[row], side="right")) - 1
        return blocks[number].locate(int(order[row] - starts[number]))

    return locate


def rewrite(
    stored: StoredRows, destination: Destination, sizes: ShardSizes, *, memory: int, progress: bool
) -> Manifest:
    """Write records to a new dataset; nothing of it is visible before it is complete.

    Raises:
        OSError: The disk has too little room, which is checked first.
        CorruptDataError: A record is damaged, or a file has changed.
    """
    if _keeps_order(stored):
        return _write_in_one_read([(stored, destination)], sizes, progress)[0]
    ends = _ends(stored)
    total = int(ends[-1]) if len(ends) else 0
    limit = max(1, memory // 4)
    parts = [0] if total <= limit else _cut(ends, limit)
    try:
        temporary = total if len(parts) > 1 else 0
        check_room(split_path(destination.base)[0], temporary + (0 if destination.kind else total))
        shards = _Shards(destination, _shard_bounds(ends, sizes))
        with ProgressBar("writing", total * 2, "bytes", show=progress) as bar:
            _in_order(stored, parts, limit, destination, shards, bar)
            return destination.commit(shards.close(), stored.schema)
    except BaseException:
        destination.abort()
        raise


def rewrite_parts(
    parts: Sequence[tuple[StoredRows, Destination]], sizes: ShardSizes, *, memory: int, progress: bool
) -> list[Manifest]:
    """Write disjoint parts of the same files, each to a dataset: in one read if they keep the order of the files."""
    try:
        if all(_keeps_order(stored) for stored, _ in parts):
            return _write_in_one_read(parts, sizes, progress)
        return [rewrite(stored, to, sizes, memory=memory, progress=progress) for stored, to in parts]
    except BaseException:
        for _, destination in parts:
            destination.abort()
        raise


def _write_in_one_read(
    parts: Sequence[tuple[StoredRows, Destination]], sizes: ShardSizes, progress: bool
) -> list[Manifest]:
    try:
        source, first_output = parts[0]
        ends = [_ends(stored) for stored, _ in parts]
        totals = [int(end[-1]) if len(end) else 0 for end in ends]
        plain = [total for total, (_, output) in zip(totals, parts, strict=True) if not output.kind]
        check_room(split_path(first_output.base)[0], sum(plain))
        shards = [_Shards(output, _shard_bounds(end, sizes)) for (_, output), end in zip(parts, ends, strict=True)]
        part_of = np.full(sum(source.counts), len(parts), np.int32)
        for number, (stored, _) in enumerate(parts):
            part_of[slice(None) if stored.rows is None else stored.rows] = number
        first = 0
        with ProgressBar("writing", sum(totals), "bytes", show=progress) as bar:
            for chunk in _chunks(source):
                numbers = part_of[first : first + len(chunk)]
                first += len(chunk)
                for number, files in enumerate(shards):
                    files.write(chunk, np.flatnonzero(numbers == number), bar)
            written = [files.close() for files in shards]
            return [output.commit(done, stored.schema) for (stored, output), done in zip(parts, written, strict=True)]
    except BaseException:
        for _, destination in parts:
            destination.abort()
        raise


def _keeps_order(stored: StoredRows) -> bool:
    return stored.rows is None or bool((np.diff(stored.rows) > 0).all())


def _ends(stored: StoredRows) -> Ints:
    """Return where each record of the output ends."""
    lengths = stored.lengths if stored.rows is None else stored.lengths[stored.rows]
    return np.cumsum(lengths + np.uint64(_FRAME_OVERHEAD)).astype(np.int64)


def _cut(ends: Ints, limit: int) -> list[int]:
    """Return where each part of the output starts; a part has at most ``limit`` bytes, or one record."""
    parts = [0]
    while (start := parts[-1]) < len(ends):
        before = int(ends[start - 1]) if start else 0
        parts.append(max(start + 1, int(np.searchsorted(ends, before + limit, side="right"))))
    return parts[:-1]


def _shard_bounds(ends: Ints, sizes: ShardSizes) -> list[int]:
    """Return where each shard starts, and where the last one ends."""
    shards, rows_per_shard, shard_bytes = sizes
    rows = len(ends)
    if rows_per_shard is not None:
        return [*range(0, rows, rows_per_shard), rows] if rows else [0, 0]
    if shard_bytes is None:
        count = shards or 1
        return [rows * shard // count for shard in range(count + 1)]
    bounds = [0]
    while bounds[-1] < rows:
        before = int(ends[bounds[-1] - 1]) if bounds[-1] else 0
        bounds.append(min(rows, int(np.searchsorted(ends, before + shard_bytes, side="left")) + 1))
    return bounds if rows else [0, 0]


def check_room(folder: str, needed: int) -> None:
    """Raise if fewer than so many bytes are free where a folder is."""
    free = shutil.disk_usage(folder or ".").free
    if needed > free:
        raise OSError(
            errno.ENOSPC,
            f"this needs {needed:,} bytes, with temporary files, and {free:,} are free: write to another disk",
            folder,
        )


def _chunks(stored: StoredRows) -> Iterator[_core.RecordChunk]:
    for path, count in zip(stored.paths, stored.counts, strict=True):
        seen = 0
        for chunk in RecordReader._with_options(path, replace(stored.options, on_damage="raise")).chunks():
            seen += len(chunk)
            if seen <= count:
                yield chunk
        if seen != count:
            raise CorruptDataError(f"the file changed since it was indexed: {path}", path=path, kind="changed")


class _Shards:
    """Shards one after another."""

    def __init__(self, destination: Destination, bounds: list[int]) -> None:
        self._destination, self._bounds = destination, bounds
        self._written: list[ShardWriter] = []
        self._frames = _core.FrameBuffer()
        self._at = 0
        self._open()

    def write(self, chunk: _core.RecordChunk, records: Ints, bar: ProgressBar) -> None:
        """Write some records of a chunk."""
        while len(records):
            room = self._bounds[len(self._written)] - self._at
            if not room:
                self._finish()
                self._open()
                continue
            now, records = records[:room], records[room:]
            self._frames.append_records(chunk, now)
            self._at += len(now)
            bar.advance(len(self._frames))
            self._written[-1].send(self._frames)

    def close(self) -> list[ShardWriter]:
        """Finish all shards, and return them."""
        self._finish()
        while len(self._written) < len(self._bounds) - 1:
            self._open()
            self._finish()
        return self._written

    def _open(self) -> None:
        self._written.append(self._destination.open(len(self._written), len(self._bounds) - 1))

    def _finish(self) -> None:
        self._destination.finish(self._written[-1])


class _Part:
    """The frames of one part of the output, in the order of the files."""

    def __init__(self, path: str | None, piece: int) -> None:
        self._path, self._piece = path, piece
        self._frames = _core.FrameBuffer(piece)

    def add(self, chunk: _core.RecordChunk, records: Ints) -> None:
        self._frames.append_records(chunk, records)
        if self._path is not None and len(self._frames) >= self._piece:
            self._spill(self._path)

    def take(self) -> bytes:
        """Return all frames, and remove the file."""
        if self._path is None:
            return self._frames.take()
        self._spill(self._path)
        with open(self._path, "rb", buffering=0) as file:
            data = file.readall()
        self.remove()
        return data

    def remove(self) -> None:
        """Remove the file."""
        if self._path is not None:
            with suppress(FileNotFoundError):
                os.unlink(self._path)

    def _spill(self, path: str) -> None:
        with open(path, "ab", buffering=0) as file:
            left = memoryview(self._frames.take())
            while left:
                left = left[file.write(left) :]


def _in_order(
    stored: StoredRows, starts: list[int], limit: int, destination: Destination, shards: _Shards, bar: ProgressBar
) -> None:
    rows = stored.rows
    assert rows is not None
    piece = min(PIECE_BYTES, max(_LEAST_PIECE_BYTES, limit // len(starts)))
    names = [None] if len(starts) == 1 else [destination.temporary.path(f"part-{n:05d}") for n in range(len(starts))]
    parts = [_Part(name, piece) for name in names]
    try:
        _deal(stored, rows, np.array(starts, np.int64), parts, bar)
        for part, start, stop in zip(parts, starts, [*starts[1:], len(rows)], strict=True):
            _write_part(part.take(), rows[start:stop], shards, bar)
    finally:
        for part in parts:
            part.remove()


def _deal(stored: StoredRows, rows: Ints, starts: Ints, parts: list[_Part], bar: ProgressBar) -> None:
    """Deal all records to the parts of the output that they belong to."""
    target = np.full(sum(stored.counts), -1, np.int64)
    target[rows] = np.arange(len(rows))
    first = 0
    for chunk in _chunks(stored):
        positions = target[first : first + len(chunk)]
        first += len(chunk)
        chosen = np.flatnonzero(positions >= 0)
        numbers = np.searchsorted(starts, positions[chosen], side="right") - 1
        order = np.argsort(numbers, kind="stable")
        found, begins = np.unique(numbers[order], return_index=True)
        for number, records in zip(found.tolist(), np.split(chosen[order], begins[1:]), strict=False):
            parts[number].add(chunk, records)
        bar.advance(int(chunk.spans[:, 1].sum()) + _FRAME_OVERHEAD * len(chunk))


def _write_part(frames: bytes, rows: Ints, shards: _Shards, bar: ProgressBar) -> None:
    """Write a part whose frames are in the order of the files, in the order of ``rows``."""
    records = _core.StreamRecords(verify=False, max_record_bytes=1 << 62)
    chunks = [chunk for chunk in (*records.feed(frames), *records.finish()) if isinstance(chunk, _core.RecordChunk)]
    pool = _core.RecordPool(chunks)
    if len(pool) != len(rows):
        raise OSError("a temporary file was changed by another program")
    order = np.empty(len(rows), np.int64)
    order[np.argsort(rows, kind="stable")] = np.arange(len(rows))
    step = max(1, len(rows) * PIECE_BYTES // max(1, len(frames)))
    for start in range(0, len(rows), step):
        chunk = pool.take(order[start : start + step])
        shards.write(chunk, np.arange(len(chunk)), bar)
