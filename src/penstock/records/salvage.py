"""Read on after damage: yield every record outside it, and doubtful ones separately."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from penstock import _core
from penstock._core import RecordChunk, Stretch
from penstock.errors import CorruptDataError
from penstock.records.damage import Lookalike, doubt_of, error_of
from penstock.storage.local import naming

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PIECE = 1 << 20
# From this size on, starting native threads to read a stretch pays.
_WORTH_THREADS = 16 << 20


@dataclass(frozen=True)
class Doubtful:
    """Frames that may not be records of the file, but part of the payload of a damaged record."""

    chunk: RecordChunk


Salvaged: TypeAlias = RecordChunk | Doubtful | CorruptDataError


@dataclass(frozen=True)
class FileRegion:
    """A range of a local file that holds a part of a stream of records, as in the native core."""

    file: str
    start: int
    stop: int
    shift: int = 0
    """Added to an offset in the file to get the offset in the stream."""
    at_record: bool = True
    """Whether a record, damaged or not, starts at its start."""
    at_end: bool = True
    """Whether it ends where the stream ends."""


@dataclass(frozen=True)
class Salvage:
    """Reads parts of a damaged stream; ``path`` is the path that errors report."""

    path: str
    max_record_bytes: int
    nested: bool | None
    """Whether payloads may hold TFRecords; None decides by the other records."""
    threads: int
    known_starts: NDArray[np.uint64] | None = None
    """Where the file's own records start, in order, if known: then no record is doubtful."""

    def read(self, region: FileRegion, record: int, instead: Lookalike | None = None) -> Generator[Salvaged, None, int]:
        """Yield the records and the damage of a region, numbered from ``record``; return the next number."""
        start, at_record = region.start, region.at_record
        while start < region.stop:
            stretches, at_record = self._scan_region(region, start, at_record)
            for stretch in stretches:
                if stretch.kind == "whole":
                    yield from self._chunks(region, stretch, record)
                    record += stretch.records
                elif stretch.kind == "doubtful" and self.known_starts is not None:
                    record = yield from self._settled(region, stretch, record, self.known_starts)
                elif stretch.kind == "doubtful":
                    for chunk in self._chunks(region, stretch, record):
                        yield Doubtful(chunk) if isinstance(chunk, RecordChunk) else chunk
                    yield self._doubt(region, stretch, record)
                elif region.at_end or not stretch.fault.kind.startswith("truncated"):
                    yield self._error(region, stretch, record, instead)
                    record += 1
            start = max(stretch.stop for stretch in stretches)  # doubtful ones may overlap
        return record

    def _settled(
        self, region: FileRegion, stretch: Stretch, record: int, known: NDArray[np.uint64]
    ) -> Generator[Salvaged, None, int]:
        """Yield the records of a stretch that start where a record of the file is known to start."""
        at = stretch.start + region.shift
        for chunk in self._chunks(region, stretch, record):
            if not isinstance(chunk, RecordChunk):
                yield chunk
                continue
            for i, length in enumerate(chunk.spans[:, 1].tolist()):
                nearest = int(known.searchsorted(at))
                if nearest < len(known) and known[nearest] == at:
                    yield chunk[i : i + 1]
                    record += 1
                at += length + 16
        return record

    def _scan_region(self, region: FileRegion, start: int, at_record: bool) -> tuple[list[Stretch], bool]:
        with naming(self.path):
            stretches, ends_at_record, _ = _core.salvage_scan(
                region.file,
                start,
                region.stop,
                starts_at_record=at_record,
                ends_with_file=region.at_end,
                max_record_bytes=self.max_record_bytes,
                flat=self.nested is False,
                by_length=self.nested is None,
                # Everything before the first damage of a local file is whole; before a later start, it is unchecked.
                known_from=0 if start == region.start and region.file == self.path else start,
            )
        if not stretches:
            raise OSError(5, "the file became shorter while it was read", self.path)
        return stretches, ends_at_record

    def _chunks(self, region: FileRegion, stretch: Stretch, record: int) -> Iterator[RecordChunk | CorruptDataError]:
        native = region.file == self.path and stretch.stop - stretch.start >= _WORTH_THREADS
        events = self._with_threads(stretch, record) if native else self._piecewise(region, stretch, record)
        left = stretch.records
        with closing(events):
            for event in events:
                if not isinstance(event, RecordChunk):
                    # The survey found these bytes whole: another process has changed the file since.
                    yield error_of(event, self.path)
                    return
                yield event[:left]
                left -= min(left, len(event))
                if not left:
                    return

    def _with_threads(self, stretch: Stretch, record: int) -> Generator[RecordChunk | _core.Fault, None, None]:
        with naming(self.path):
            records = _core.FileRecords(
                self.path,
                max_record_bytes=self.max_record_bytes,
                threads=self.threads,
                start_offset=stretch.start,
                start_record=record,
            )
            try:
                while (event := records.next()) is not None:
                    yield event
            finally:
                records.close()

    def _piecewise(
        self, region: FileRegion, stretch: Stretch, record: int
    ) -> Generator[RecordChunk | _core.Fault, None, None]:
        records = _core.StreamRecords(
            max_record_bytes=self.max_record_bytes,
            input_end=stretch.stop + region.shift,
            start_offset=stretch.start + region.shift,
            start_record=record,
            source=self.path,
        )
        with open(region.file, "rb", buffering=0) as file:
            file.seek(stretch.start)
            left = stretch.stop - stretch.start
            while left and (piece := file.read(min(left, _PIECE))):
                left -= len(piece)
                yield from records.feed(piece)
        yield from records.finish()

    def _error(self, region: FileRegion, stretch: Stretch, record: int, instead: Lookalike | None) -> CorruptDataError:
        instead = instead if stretch.start + region.shift == 0 else None
        stop = stretch.stop + region.shift
        return error_of(stretch.fault, self.path, instead, stop=stop, record=record, shift=region.shift)

    def _doubt(self, region: FileRegion, stretch: Stretch, record: int) -> CorruptDataError:
        start, stop = stretch.start + region.shift, stretch.stop + region.shift
        return doubt_of(self.path, stretch.records, record=record, offset=start, stop=stop)


class Spool:
    """A temporary local file for a part of a stream, to be searched and read again.

    It takes at most half of the free space in its folder: a few untrusted bytes may inflate to terabytes.
    """

    def __init__(self, folder: str, source: str) -> None:
        self._name = os.path.join(folder, "region")
        self._source = source
        self._room = shutil.disk_usage(folder).free // 2
        self._file = open(self._name, "wb")  # noqa: SIM115 (open as long as the spool)
        self._size = 0

    def write(self, data: memoryview) -> None:
        if self._size + len(data) > self._room:
            raise CorruptDataError(
                "the data after the damage takes more than half of the free space for temporary files, "
                f"{self._room} bytes (set TMPDIR to use another folder): {self._source}",
                path=self._source,
                kind="no-room",
            )
        with naming(self._name):
            self._file.write(data)
        self._size += len(data)

    def region(self, offset: int, *, at_record: bool, at_end: bool) -> FileRegion:
        """Return the region that was written, which starts at ``offset`` in the stream."""
        self._file.flush()
        return FileRegion(self._name, 0, self._size, offset, at_record, at_end)

    def clear(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._size = 0

    def close(self) -> None:
        self._file.close()
