"""Open files that are read twice: for their schema, then for their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock._core import RecordChunk
from penstock.discovery.resolve import resolve_files
from penstock.errors import CorruptDataError
from penstock.integrity.problems import Problem, problem_of
from penstock.records.reader import RecordReader
from penstock.storage import StrPath, is_remote, locate


class PipeReader(RecordReader):
    """Reads standard input or a named pipe: the chunks that the first iteration takes are stored for the second."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._stored: list[RecordChunk] = []
        self._stream: Iterator[RecordChunk] | None = None
        self._error: CorruptDataError | None = None

    def chunks(self) -> Iterator[RecordChunk]:
        if self._stream is None:
            self._stream = super().chunks()
            try:
                for chunk in self._stream:
                    self._stored.append(chunk)
                    yield chunk
            except CorruptDataError as error:
                self._error = error
                raise
        else:
            while self._stored:
                yield self._stored.pop(0)
            if self._error is not None:
                raise self._error
            yield from self._stream


def open_readers(paths: StrPath | Iterable[StrPath], **options: Any) -> tuple[list[RecordReader], list[Problem]]:
    """Return a reader for each file that paths stand for, and a problem for each that does not exist.

    Args:
        paths: Files, glob patterns, directories, URLs, and datasets by their name or manifest.
        options: Those of :class:`penstock.RecordReader`.
    """
    files = resolve_files(paths).files
    readers = [
        (PipeReader if _is_pipe(file.path) else RecordReader)(file.path, **options)
        for file in files
        if file.error is None
    ]
    return readers, [problem_of(file.path, file.error) for file in files if file.error is not None]


def _is_pipe(path: str) -> bool:
    store, name = locate(path)
    try:
        return not is_remote(name) and not store.stat(name).seekable
    except OSError:
        return False  # whoever reads the file reports what is wrong
