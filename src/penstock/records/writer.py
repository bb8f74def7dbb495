"""Write records to one file: framed natively, compressed or not, in place or under a temporary name."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from penstock._core import FrameBuffer
from penstock.compression import by_extension, check, check_level, open_compressor
from penstock.storage import StrPath, locate

if TYPE_CHECKING:
    from penstock.records.append import Appending

BytesLike: TypeAlias = bytes | bytearray | memoryview
# Frames are collected up to this size before they are written, or become a gzip member.
_PIECE = 1 << 20


class RecordWriter:
    """Write records to a TFRecord file.

    Example:
        >>> with ps.RecordWriter("data.tfrecord") as writer:
        ...     writer.write(b"a record")
        >>> list(ps.RecordReader("data.tfrecord"))
        [b'a record']

    Args:
        path: A local path, a URL that fsspec can write, or ``-`` for standard output.
        compression: ``"auto"`` chooses by the extension (``.gz``, ``.zlib``, ``.snappy``), or when appending by the
            content of the file; or ``"GZIP"``, ``"ZLIB"``, ``"SNAPPY"``, ``""`` (none).
        level: 0 to 9. Levels up to 3 use isal (fast); higher ones zlib (smaller, about ten times slower).
        atomic: The file appears under its name when it is closed without an error. Until then the records are in
            ``.<name>.<8 hex digits>.partial`` in the same folder, where flushed records are found after a crash. If
            False, records are written in place and replace the old content. Devices and pipes are always written in
            place.
        sync: Closing waits until the file is on the disk.
        append: Append to a local file, plain or GZIP, in place. An incomplete record at its end is cut off, with a
            warning, and saved in ``.<name>.torn``; any other damage raises, and so does another writer that appends to
            the file. :meth:`close` updates the manifest of its dataset, if there is one in the same folder.

    An error is final: after a failed write every later call fails, including :meth:`close`. A writer is for one thread
    at a time, and for the process that made it.
    """

    _closed = True  # until there is something to close

    def __init__(
        self,
        path: StrPath,
        *,
        compression: str | None = "auto",
        level: int = 2,
        atomic: bool = True,
        sync: bool = False,
        append: bool = False,
    ) -> None:
        store, self._path = locate(path)
        check_level(level)
        if append and not store.capabilities.append:
            raise ValueError(f"only a local file can be appended to, not {self._path}")
        self._appending: Appending | None = None
        if append:
            from penstock.records.append import Appending

            self._appending = Appending(self._path, compression, sync=sync)
            kind = self._appending.end.compression
        else:
            kind = by_extension(self._path) if compression == "auto" else check(compression)
        self._encoder = open_compressor(kind, level) if kind else None
        self._frames = FrameBuffer()
        self._atomic = atomic and not append
        self._sync = sync
        self._count = 0
        self._failure: BaseException | None = None
        self._process = os.getpid()
        if self._appending is not None:
            try:
                self._upload = self._appending.open()
            except BaseException:
                self._appending.release()
                raise
        else:
            self._upload = store.put(self._path, atomic=atomic)
        self._closed = False

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"<RecordWriter of {self._path!r}, {self.count:,} written, {state}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"the writer for {self._path} cannot be copied or pickled: a file has one writer")

    @property
    def path(self) -> str:
        """The path of the file.

        Example:
            >>> with ps.RecordWriter("data.tfrecord") as writer:
            ...     print(writer.path)
            data.tfrecord
        """
        return self._path

    @property
    def closed(self) -> bool:
        """Whether the writer is closed, by :meth:`close` or after an error.

        Example:
            >>> with ps.RecordWriter("data.tfrecord") as writer:
            ...     print(writer.closed)
            False
            >>> writer.closed
            True
        """
        return self._closed

    @property
    def count(self) -> int:
        """Records written so far.

        Example:
            >>> with ps.RecordWriter("data.tfrecord") as writer:
            ...     writer.write_many([b"one", b"two"])
            ...     print(writer.count)
            2
        """
        return self._count + self._frames.count

    def write(self, record: BytesLike) -> None:
        """Write one record. It is buffered until one or two MiB have collected, or until :meth:`flush`.

        Example:
            >>> with ps.RecordWriter("data.tfrecord") as writer:
            ...     writer.write(b"a record")
        """
        if self._closed or self._failure:
            self._refuse()
        if self._frames.append(record) >= _PIECE:
            self._send()

    def write_many(self, records: Iterable[BytesLike]) -> None:
        """Write many records; a list is framed in a few native calls.

        Example:
            >>> with ps.RecordWriter("data.tfrecord") as writer:
            ...     writer.write_many(b"record %d" % i for i in range(1000))
        """
        if isinstance(records, list):
            self._write_list(records)
            return
        remaining = iter(records)
        while True:
            some: list[BytesLike] = []
            try:
                some.extend(itertools.islice(remaining, 256))
            finally:
                self._write_list(some)  # also what came before the iterator failed
            if not some:
                return

    def _write_list(self, records: list[BytesLike]) -> None:
        if self._closed or self._failure:
            self._refuse()
        start = 0
        while start < len(records):
            start = self._frames.extend(records, start, _PIECE)
            if len(self._frames) >= _PIECE:
                self._send()

    def flush(self) -> None:
        """Hand all records to the operating system: they survive the end of this process, not a loss of power.

        On a remote store, records are readable only after :meth:`close`.

        Example:
            >>> with ps.RecordWriter("data.tfrecord", atomic=False) as writer:
            ...     writer.write(b"one")
            ...     writer.flush()
            ...     print(list(ps.RecordReader("data.tfrecord")))
            [b'one']
        """
        self._finish_piece(self._upload.flush)

    def sync(self) -> None:
        """Write all records to the disk: they survive a loss of power.

        Example:
            >>> with ps.RecordWriter("data.tfrecord") as writer:
            ...     writer.write(b"one")
            ...     writer.sync()
        """
        self._finish_piece(self._upload.sync)

    def close(self) -> None:
        """Finish the file. With ``atomic``, it appears under its name now.

        Example:
            >>> writer = ps.RecordWriter("data.tfrecord")
            >>> writer.write(b"one")
            >>> writer.close()
            >>> list(ps.RecordReader("data.tfrecord"))
            [b'one']
        """
        if self._failure:
            self._give_up()
            raise self._failure
        if self._closed:
            return
        self._check_process()
        try:
            self._send()
            # A gzip file without records is an empty member, which TensorFlow takes for the end of the file.
            goes_on = self._appending is not None and self._appending.end.offset > 0
            if self._encoder is not None and (self._count or not goes_on):
                for data in self._encoder.finish():
                    self._upload.write(data)
            self._upload.commit(sync=self._sync)
            if self._appending is not None:
                self._appending.finish(self._appending.end.records + self._count)
        except BaseException as error:
            self._failure = error
            self._give_up()
            raise
        self._closed = True

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        elif self._closed or os.getpid() != self._process:
            return
        elif self._atomic:
            self._failure = self._failure or error
            self._give_up()
        else:
            try:
                self.close()
            except Exception as second:
                if second is not error:
                    error.add_note(f"and closing {self._path} failed: {second}")

    def __del__(self) -> None:
        if self._closed or os.getpid() != self._process:
            return
        try:
            self.flush()  # so that the records can be found under the temporary name
        except Exception:
            pass  # the warning reports that the file is incomplete
        partial = self._give_up()
        where = f"; what was written is in {partial}" if partial else ""
        warnings.warn(f"the RecordWriter for {self._path} was not closed{where}", ResourceWarning, 2, source=self)

    def _send(self) -> None:
        """Write the buffered frames, compressed or not."""
        self._check_process()
        try:
            count = self._frames.count
            if not count:
                return
            if self._encoder is None:
                self._upload.write_frames(self._frames)
            else:
                for data in self._encoder.encode(self._frames.take(), count):
                    self._upload.write(data)
            self._count += count
        except BaseException as error:
            self._failure = error
            raise

    def _finish_piece(self, finish: Callable[[], None]) -> None:
        if self._closed or self._failure:
            self._refuse()
        self._send()
        try:
            if self._encoder is not None:
                for data in self._encoder.flush():
                    self._upload.write(data)
            finish()
        except BaseException as error:
            self._failure = error
            raise

    def _give_up(self) -> str | None:
        """Abandon the file; return the path of the flushed records, if any."""
        if self._closed:
            return None
        self._closed = True
        self._encoder = None  # its threads end with it
        partial = self._upload.abort()
        if self._appending is not None:
            self._appending.release()
        if partial is not None and self._failure is not None:
            self._failure.add_note(f"records that were flushed are in {partial}")
        return partial

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError(f"the writer for {self._path} cannot cross a fork: open a new one in the child")

    def _refuse(self) -> None:
        if self._failure:
            raise self._failure
        raise ValueError(f"the writer for {self._path} is closed")
