"""Opens a file of records and gives out what the scanner finds in it: chunks and faults, in order.

Local plain files are read, checked and cut into records by native threads that run ahead; everything else is fetched
and inflated in Python and pushed into the same native scanner.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from penstock import _core
from penstock._core import Fault, RecordChunk
from penstock.compression import Compression, Trailing, detect, inflate
from penstock.compression.detect import HEAD_BYTES, is_certain
from penstock.damage import error_of, lookalike
from penstock.errors import CorruptDataError, TruncatedError
from penstock.files import FileStore
from penstock.files.local import LocalFiles, naming

# Bytes that are walked in one native call.
_STRIDE = 64 << 20


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file; :class:`penstock.RecordReader` says what each means."""

    compression: Compression | None
    """None: tell by content."""
    verify: bool
    max_record_bytes: int
    trailing: Trailing
    multistream: bool
    require_nonempty: bool
    threads: int
    salvage: bool = False
    """Behind a header that cannot be read, search for the next record."""


class RecordEvents:
    """One pass over one file."""

    def __init__(self, store: FileStore, path: str, options: ReadOptions) -> None:
        self._path = path
        self._options = options
        self._process = os.getpid()
        info = store.stat(path)
        self._size = info.size
        self._stream: Generator[bytes, None, None] | None = None
        self._pieces: Iterator[bytes] = iter(())
        if isinstance(store, LocalFiles) and info.seekable:
            self._head = store.read(path, 0, HEAD_BYTES)
            self.native = not self._compression()
            """Whether native threads read the file."""
            if not self.native:
                self._pieces = self._stream = store.stream(path)
        else:
            self.native = False
            self._stream = store.stream(path)
            self._head = _gather_head(self._stream)
            self._pieces = itertools.chain([self._head], self._stream)

    def count(self) -> tuple[int, CorruptDataError | None]:
        """Count the records by headers alone, where the file is ``native``; answer also the fault that ended it."""
        if self._lacks_content():
            return 0, self._empty()
        options = self._options
        with naming(self._path):
            walk = _core.FrameWalk(self._path, max_record_bytes=options.max_record_bytes, threads=options.threads)
            while walk.advance(_STRIDE):
                pass  # between two strides, Ctrl-C is heard
        fault = walk.fault
        error = None if fault.kind == "none" else error_of(fault, self._path, self._hint(fault, self._head))
        return walk.records, error

    def __iter__(self) -> Generator[RecordChunk | CorruptDataError, None, None]:
        """Chunks, and the damage between and behind them as errors that are not raised yet."""
        if self._lacks_content():
            yield self._empty()
        try:
            for event in self._from_threads() if self.native else self._from_pieces():
                yield event
                if os.getpid() != self._process:
                    # The threads that read ahead stayed in the parent: waiting for them would be forever.
                    raise RuntimeError("an iteration cannot cross a fork: start a new one in the child")
        except CorruptDataError as error:
            yield error
        finally:
            if self._stream is not None:
                self._stream.close()

    def _lacks_content(self) -> bool:
        return self._options.require_nonempty and not self._head

    def _empty(self) -> CorruptDataError:
        return TruncatedError(f"the file is empty: {self._path}", path=self._path, offset=0, kind="empty")

    def _compression(self) -> Compression:
        chosen = self._options.compression
        return detect(self._head) if chosen is None else chosen

    def _from_threads(self) -> Iterator[RecordChunk | CorruptDataError]:
        size = self._size or 0
        budget = 8 * size
        start, record = 0, 0
        while True:
            broken = yield from self._unbroken(start, record)
            if broken is None:
                return
            if broken.kind == "too-large" and broken.offset + 16 + broken.need <= size:
                # The header checks itself, so this is where the record ends, however long it is.
                start = broken.offset + 16 + broken.need
            else:
                with naming(self._path):
                    start, budget = _core.find_record(
                        self._path, broken.offset + 1, self._options.max_record_bytes, budget
                    )
            record = broken.record + 1
            yield error_of(broken, self._path, self._hint(broken, self._head), resumed=start)

    def _unbroken(self, start: int, record: int) -> Generator[RecordChunk | CorruptDataError, None, Fault | None]:
        """Read on from ``start``; end at, and answer, a header that cannot be read, where a way around it is wanted."""
        # Behind damage there may be more of it, soon: reading far ahead would be for nothing.
        ahead = {} if start == 0 else {"threads": 1, "block_bytes": 1 << 16}
        options = self._options
        with naming(self._path):
            records = _core.FileRecords(
                self._path,
                verify=options.verify,
                max_record_bytes=options.max_record_bytes,
                start_offset=start,
                start_record=record,
                **({"threads": options.threads} | ahead),
            )
            try:
                while (event := records.next()) is not None:
                    if options.salvage and isinstance(event, Fault) and event.kind in ("length-crc", "too-large"):
                        return event
                    yield self._judged(event, self._head)
            finally:
                records.close()
        return None

    def _from_pieces(self) -> Iterator[RecordChunk | CorruptDataError]:
        options = self._options
        kind = self._compression()
        records = _core.StreamRecords(
            verify=options.verify,
            max_record_bytes=options.max_record_bytes,
            source=self._path,
            input_end=self._size if not kind else None,
        )
        plain = inflate(kind, self._pieces, path=self._path, trailing=options.trailing, multistream=options.multistream)
        head = b""
        try:
            for piece in plain:
                head = head or piece
                for event in records.feed(piece):
                    yield self._judged(event, head)
        except CorruptDataError as error:
            raise self._completed(error, records.record) from None
        for event in records.finish():
            yield self._judged(event, head)

    def _judged(self, event: RecordChunk | Fault, head: bytes) -> RecordChunk | CorruptDataError:
        """Turn a fault into an error; ``head`` is the start of the plain stream."""
        if isinstance(event, RecordChunk):
            return event
        return error_of(event, self._path, self._hint(event, head))

    def _hint(self, fault: Fault, head: bytes) -> str:
        if fault.offset != 0:
            return ""
        what = f"the inflated {self._compression()} stream" if self._compression() else "this"
        return lookalike(head, what)

    def _completed(self, error: CorruptDataError, record: int) -> CorruptDataError:
        """Tell what the layers below could not know: the record, and what the file seems to be instead."""
        wrong_kind = error.offset == 0 and detect(self._head) != self._compression()
        hint = lookalike(self._head) if wrong_kind else ""
        return type(error)(
            f"{error}, record {record}{hint}", path=error.path, offset=error.offset, record=record, kind=error.kind
        )


def _gather_head(stream: Iterator[bytes]) -> bytes:
    """Take pieces until they tell the kind of the stream: a pipe may begin with a small one."""
    head = bytearray()
    for piece in stream:
        head += piece
        if len(head) >= HEAD_BYTES or is_certain(head):
            break
    return bytes(head)
