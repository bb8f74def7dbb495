"""Scan a file of records once: chunks and damage, in order.

Local plain files are read, checked and cut into records by native threads that read ahead; everything else is
fetched and inflated in Python, and passed to the same native scanner.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from penstock import _core
from penstock._core import Fault, RecordChunk, ValidRecords
from penstock.compression import Compression, PointFinder, detect, inflate
from penstock.compression.detect import CERTAIN_BYTES, HEAD_BYTES, inflates, is_certain
from penstock.errors import CorruptDataError, TruncatedError
from penstock.records.damage import THE_FILE, Lookalike, describe, error_of, lookalike
from penstock.records.read_options import ReadOptions
from penstock.records.salvage import FileRegion, Salvage, Salvaged, Spool
from penstock.storage import FileStore
from penstock.storage.local import naming

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Bytes to walk in one native call.
_STRIDE = 64 << 20
E = TypeVar("E")
E_co = TypeVar("E_co", covariant=True)


class _NativeRecords(Protocol[E_co]):
    """A file that native threads read."""

    def next(self) -> E_co | Fault | None: ...
    def close(self) -> None: ...


class RecordScanner:
    """One iteration over one file.

    Args:
        store: Where the file is.
        path: Its path in the store.
        options: How to read it. Damage is yielded, not raised; what follows it is read only if ``options`` skip damage.
        checksum: Also compute the checksum of the whole file, as a manifest stores it.
        search_first: Search all of a local plain file before its first record is yielded, not only what follows
            damage: what seems to be a whole record may be two headers, which the record after them shows.
        known_starts: Called after damage; returns where the records start in the stream, in order, or None. With it no
            record is doubtful.
        finder: Is shown the blocks of a gzip or zlib stream.
    """

    def __init__(
        self,
        store: FileStore,
        path: str,
        options: ReadOptions,
        *,
        checksum: bool = False,
        search_first: bool = False,
        known_starts: Callable[[], NDArray[np.uint64] | None] | None = None,
        finder: PointFinder | None = None,
    ) -> None:
        self._store = store
        self._path = path
        self._options = options
        self._checksum = checksum
        self._search_first = search_first
        self._known_starts = known_starts
        self._finder = finder
        self._process = os.getpid()
        info = store.stat(path)
        self._can_start_again = info.seekable
        self._size = info.size
        self._stream: Generator[bytes, None, None] | None = None
        self._pieces: Iterator[bytes] = iter(())
        self.crc32c = 0
        """The checksum of the whole file, after an iteration with ``checksum`` that found no damage."""
        is_local = store.capabilities.native_paths and info.seekable
        self._head = store.read(path, 0, CERTAIN_BYTES) if is_local else b""
        if not is_certain(self._head) or self._compression():
            self._stream = self._open_stream()
            self._head = _gather_head(self._stream)
            self._pieces = itertools.chain([self._head], self._stream)
        self.native = is_local and not self._compression()
        """Whether native threads read the file."""
        if self.native and self._stream is not None:
            self._stream.close()
            self._stream = None

    def _open_stream(self) -> Generator[bytes, None, None]:
        with closing(self._store.stream(self._path)) as pieces:
            for piece in pieces:
                if self._checksum:
                    self.crc32c = _core.crc32c(piece, self.crc32c)
                yield piece

    def count(self) -> tuple[int, CorruptDataError | None]:
        """Count the records of a ``native`` file by their headers; also return the error that ended the count."""
        if self._lacks_content():
            return 0, self._empty()
        options = self._options
        with naming(self._path):
            walk = _core.HeaderWalk(self._path, max_record_bytes=options.max_record_bytes, threads=options.thread_count)
            while walk.advance(_STRIDE):
                pass  # Ctrl-C is handled between two strides
        fault = walk.fault
        error = None if fault.kind == "none" else error_of(fault, self._path, self._instead(fault, self._head))
        return walk.records, error

    def __iter__(self) -> Generator[Salvaged, None, None]:
        """Yield chunks, and the damage between and after them as errors that are not raised."""
        if not self.native:
            return self._events(self._from_pieces())
        if self._search_first:
            return self._events(self._from_search())
        return self._from_threads(self._open_records)

    def checked(self, decoder: _core.NativeDecoder) -> Generator[Salvaged | ValidRecords, None, None]:
        """Iterate, but only count records that ``decoder`` accepts where native threads read the file."""
        if not self.native:
            return iter(self)
        options = self._options
        return self._from_threads(
            lambda: _core.CheckedRecords(
                self._path,
                decoder,
                max_record_bytes=options.max_record_bytes,
                threads=options.thread_count,
                checksum=self._checksum,
            )
        )

    def counted(self, stats: _core.RecordStats, file: int) -> Generator[Salvaged | ValidRecords, None, None]:
        """Iterate a ``native`` file, but add the records that decode to statistics, and only count them."""
        options = self._options
        return self._from_threads(
            lambda: _core.CheckedRecords(
                self._path, stats, file, max_record_bytes=options.max_record_bytes, threads=options.thread_count
            )
        )

    def _events(self, found: Iterator[Salvaged]) -> Generator[Salvaged, None, None]:
        """Yield the events of a Python reader, with the checks that native readers do themselves."""
        if self._lacks_content():
            yield self._empty()
        try:
            for event in found:
                yield event
                if os.getpid() != self._process:
                    # The threads that read ahead exist only in the parent: a child would wait for them forever.
                    raise RuntimeError("an iteration cannot cross a fork: start a new one in the child")
            if self._checksum:
                for _ in self._pieces:
                    pass  # the checksum includes what follows a compressed stream
        except CorruptDataError as error:
            yield error
        finally:
            if self._stream is not None:
                self._stream.close()

    def chunks(self) -> Generator[RecordChunk, None, None]:
        """Yield the chunks; raise damage."""
        with closing(iter(self)) as events:
            for event in events:
                if isinstance(event, CorruptDataError):
                    raise event
                if isinstance(event, RecordChunk):
                    yield event

    def _lacks_content(self) -> bool:
        return self._options.require_nonempty and not self._head

    def _empty(self) -> CorruptDataError:
        return TruncatedError(f"the file is empty: {self._path}", path=self._path, offset=0, kind="empty")

    def _compression(self) -> Compression:
        chosen = self._options.compression
        if chosen is not None:
            return chosen
        kind = detect(self._head)
        # The length in a damaged header may look like the two bytes that a zlib stream starts with.
        return "" if kind == "ZLIB" and self._options.skips_damage and not inflates(self._head) else kind

    def _open_records(self) -> _core.FileRecords:
        options = self._options
        return _core.FileRecords(
            self._path, verify=options.verify, max_record_bytes=options.max_record_bytes, threads=options.thread_count
        )

    def _from_threads(self, open_file: Callable[[], _NativeRecords[E]]) -> Generator[E | Salvaged, None, None]:
        if self._lacks_content():
            yield self._empty()
        broken = None
        with naming(self._path):
            records = open_file()
            try:
                while broken is None and (event := records.next()) is not None:
                    if not isinstance(event, Fault):
                        if self._checksum:
                            self._add_to_checksum(event)
                        yield event
                    elif self._options.skips_damage:
                        broken = event
                    else:
                        yield error_of(event, self._path, self._instead(event, self._head))
            finally:
                records.close()
        if broken is not None:
            region = FileRegion(self._path, broken.offset, self._size or 0)
            salvaged = self._salvage().read(region, broken.record, self._instead(broken, self._head))
            yield from self._events(salvaged)

    def _add_to_checksum(self, event: Any) -> None:
        if isinstance(event, ValidRecords):
            self.crc32c = _core.crc32c_combine(self.crc32c, event.crc32c, event.bytes)
        else:
            # The frames of a chunk follow each other without a gap.
            first, size = int(event.spans[0, 0]) - 12, int(event.spans[:, 1].sum()) + 16 * len(event)
            self.crc32c = _core.crc32c(event.buffer[first : first + size], self.crc32c)

    def _from_search(self) -> Iterator[Salvaged]:
        yield from self._salvage().read(
            FileRegion(self._path, 0, self._size or 0), 0, lookalike(self._head, self._subject())
        )

    def _from_pieces(self) -> Iterator[Salvaged]:
        options = self._options
        kind = self._compression()
        records = _core.StreamRecords(
            verify=options.verify,
            max_record_bytes=options.max_record_bytes,
            source=self._path,
            input_end=self._size if not kind else None,
        )
        plain = inflate(
            kind,
            self._pieces,
            path=self._path,
            trailing=options.trailing,
            multistream=options.multistream,
            threads=options.thread_count,
            finder=self._finder,
        )
        head = b""
        can_skip = options.skips_damage and self._can_start_again
        try:
            for piece in plain:
                head = head or bytes(memoryview(piece)[:HEAD_BYTES])
                for event in records.feed(piece):
                    if can_skip and isinstance(event, Fault):
                        return (yield from self._after_damage(event.offset, event.record, head))
                    yield self._judged(event, head)
        except CorruptDataError as error:
            if can_skip:
                return (yield from self._after_damage(records.offset, records.record, head))
            raise self._completed(error, records.record) from None
        for event in records.finish():
            if can_skip and isinstance(event, Fault):
                return (yield from self._after_damage(event.offset, event.record, head))
            yield self._judged(event, head)

    def _after_damage(self, offset: int, record: int, head: bytes) -> Iterator[Salvaged]:
        """Read the stream again, and yield what can be salvaged from ``offset`` on."""
        # Imported here: most streams are not damaged.
        import tempfile

        from penstock.compression.resync import Gap, inflate_parts

        options = self._options
        salvage = self._salvage()
        instead = lookalike(head, self._subject())
        with (
            closing(self._store.stream(self._path)) as pieces,
            tempfile.TemporaryDirectory(prefix="penstock-") as folder,
            closing(Spool(folder, self._path)) as spool,
        ):
            parts = inflate_parts(
                self._compression(),
                pieces,
                path=self._path,
                trailing=options.trailing,
                multistream=options.multistream,
            )
            start, stop = offset, 0
            at_record = True
            for found in parts:
                if isinstance(found, Gap):
                    region = spool.region(start, at_record=at_record, at_end=False)
                    record = yield from salvage.read(region, record, instead)
                    yield self._completed(found.error, record)
                    record += 1
                    spool.clear()
                    start, at_record = stop, found.at_record
                else:
                    stop += len(found)
                    spool.write(memoryview(found)[max(0, len(found) - (stop - start)) :])
            yield from salvage.read(spool.region(start, at_record=at_record, at_end=True), record, instead)

    def _salvage(self) -> Salvage:
        options = self._options
        known = None if self._known_starts is None else self._known_starts()
        return Salvage(self._path, options.max_record_bytes, options.nested, options.thread_count, known)

    def _judged(self, event: RecordChunk | Fault, head: bytes) -> RecordChunk | CorruptDataError:
        """Turn a fault into an error; ``head`` is the start of the plain stream."""
        if isinstance(event, RecordChunk):
            return event
        return error_of(event, self._path, self._instead(event, head))

    def _instead(self, fault: Fault, head: bytes) -> Lookalike | None:
        return lookalike(head, self._subject()) if fault.offset == 0 else None

    def _subject(self) -> str:
        return f"the inflated {self._compression()} stream" if self._compression() else THE_FILE

    def _completed(self, error: CorruptDataError, record: int) -> CorruptDataError:
        """Add what the layers below do not know: the record, and what the file seems to be instead."""
        wrong_kind = error.offset == 0 and detect(self._head) != self._compression()
        hint, seems = describe(lookalike(self._head) if wrong_kind else None)
        location: dict[str, Any] = {"path": error.path, "offset": error.offset, "record": record, "kind": error.kind}
        return type(error)(f"{error}, record {record}{hint}", **seems, **location)


def _gather_head(stream: Iterator[bytes]) -> bytes:
    """Read pieces until they show the compression: a pipe may begin with a small one."""
    head = bytearray()
    for piece in stream:
        head += piece
        if len(head) >= HEAD_BYTES or is_certain(head):
            break
    return bytes(head)
