"""Opens a file of records and gives out what the scanner finds in it: chunks and faults, in order.

Local plain files are read, checked and cut into records by native threads that run ahead; everything else is fetched
and inflated in Python and pushed into the same native scanner.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from penstock import _core
from penstock._core import Fault, RecordChunk
from penstock.compression import Compression, Trailing, detect, inflate
from penstock.compression.detect import HEAD_BYTES
from penstock.damage import error_of, lookalike
from penstock.errors import CompressionError, CorruptDataError, TruncatedError
from penstock.files import FileStore
from penstock.files.local import LocalFiles, naming


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


class RecordEvents:
    """One pass over one file."""

    def __init__(self, store: FileStore, path: str, options: ReadOptions) -> None:
        self._path = path
        self._options = options
        info = store.stat(path)
        self._size = info.size
        self._pieces: Iterator[bytes] = iter(())
        if isinstance(store, LocalFiles) and info.seekable:
            self._head = store.read(path, 0, HEAD_BYTES)
            self.native = not self._compression()
            """Whether native threads read the file."""
            if not self.native:
                self._pieces = store.stream(path)
        else:
            self.native = False
            stream = store.stream(path)
            self._head = next(stream, b"")
            self._pieces = itertools.chain([self._head], stream)

    def __iter__(self) -> Iterator[RecordChunk | CorruptDataError]:
        """Chunks, and the damage between and behind them as errors that are not raised yet."""
        if self._options.require_nonempty and not self._head:
            yield TruncatedError(f"the file is empty: {self._path}", path=self._path, offset=0, kind="empty")
        try:
            for event in self._from_threads() if self.native else self._from_pieces():
                yield self._error_of(event) if isinstance(event, Fault) else event
        except CorruptDataError as error:
            yield error

    def _error_of(self, fault: Fault) -> CorruptDataError:
        return error_of(fault, self._path, lookalike(self._head) if fault.offset == 0 else "")

    def _compression(self) -> Compression:
        chosen = self._options.compression
        return detect(self._head) if chosen is None else chosen

    def _from_threads(self) -> Iterator[RecordChunk | Fault]:
        options = self._options
        with naming(self._path):
            records = _core.FileRecords(
                self._path,
                verify=options.verify,
                max_record_bytes=options.max_record_bytes,
                threads=options.threads,
            )
            try:
                while (event := records.next()) is not None:
                    yield event
            finally:
                records.close()

    def _from_pieces(self) -> Iterator[RecordChunk | Fault]:
        options = self._options
        kind = self._compression()
        records = _core.StreamRecords(
            verify=options.verify,
            max_record_bytes=options.max_record_bytes,
            input_end=self._size if not kind else None,
        )
        try:
            for piece in inflate(
                kind, self._pieces, path=self._path, trailing=options.trailing, multistream=options.multistream
            ):
                yield from records.feed(piece)
        except CompressionError as error:
            if error.offset == 0:
                raise CompressionError(
                    f"{error}{lookalike(self._head)}", path=self._path, offset=0, kind=error.kind
                ) from None
            raise
        yield from records.finish()
