"""Reads one file whole, and adds up what is good and what is not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial

from penstock._core import RecordChunk, Sound
from penstock.compression import Compression
from penstock.errors import CorruptDataError
from penstock.files import locate
from penstock.index import known_starts
from penstock.integrity.payloads import PayloadCheck
from penstock.record_events import ReadOptions, RecordEvents
from penstock.schema import Schema


class FileCheck:
    """One pass over one file.

    Args:
        path: The file, local or a URL.
        schema: What its Examples are to hold; None: whatever they like.
        compression: None tells by content.
        max_record_bytes: A longer record is damage, whatever its header says.
        decode: Decode images and tensors as well, one at a time.
        threads: Native threads that read a local file, and check what they read.
    """

    def __init__(
        self,
        path: str,
        schema: Schema | None,
        *,
        compression: Compression | None = None,
        max_record_bytes: int = 1 << 30,
        decode: bool = False,
        threads: int = 1,
    ) -> None:
        self._store, self._path = locate(path)
        self._options = ReadOptions(
            compression=compression,
            max_record_bytes=max_record_bytes,
            threads=threads,
            skip=True,
            known_starts=partial(known_starts, self._path),
        )
        self.payloads = PayloadCheck(schema, threads, decode=decode)
        self.records = 0
        """Good ones, so far."""
        self.bytes = 0
        """Of their frames, in the uncompressed stream."""
        self.before: int | None = None
        """Of the records, those before the first damage; None where nothing is damaged."""
        self.damage: list[CorruptDataError] = []

    def run(self) -> Iterator[int]:
        """Read the file; answer piece by piece how many good records there were in it."""
        events = RecordEvents(self._store, self._path, self._options)
        with closing(events.checked(self.payloads.native) if self.payloads.native else iter(events)) as found:
            for event in found:
                if isinstance(event, CorruptDataError):
                    self.damage.append(event)
                    self.before = self.records if self.before is None else self.before
                elif isinstance(event, Sound):
                    self.payloads.count(event.records)
                    yield self._count(event.records, event.bytes)
                elif isinstance(event, RecordChunk):
                    self.payloads.look_at(event)
                    yield self._count(len(event), int(event.spans[:, 1].sum()) + 16 * len(event))

    def _count(self, records: int, size: int) -> int:
        self.records += records
        self.bytes += size
        return records
