"""The protocol that every store of files speaks."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Protocol

from penstock._core import FrameBuffer


@dataclass(frozen=True)
class FileInfo:
    """What a store knows about a file without reading it."""

    size: int | None
    """Bytes, or None for a stream whose end is not known."""
    seekable: bool = True
    """Whether ranges can be read; a pipe can only be read from its start."""
    tag: str = ""
    """A name for the content that changes with it (an ETag), where the store has one."""


class Upload(Protocol):
    """A file being written. It stands under its name after :meth:`commit` (in-place uploads: from the start)."""

    def write(self, data: bytes) -> None:
        """Append bytes."""

    def write_frames(self, frames: FrameBuffer) -> None:
        """Append frames, and leave the buffer empty."""

    def flush(self) -> None:
        """Hand everything to the operating system (or the remote side), so that it survives the end of this process."""

    def sync(self) -> None:
        """Put everything on the disk, so that it survives a loss of power."""

    def commit(self, *, sync: bool) -> None:
        """Finish the file under its name. With ``sync``, on the disk before the name appears."""

    def abort(self) -> str | None:
        """Give the file up; return the path of what is left of it, if anything is worth keeping."""


class FileStore(Protocol):
    """Files of one kind, addressed by path."""

    def stat(self, path: str) -> FileInfo:
        """Size and kind of a file; an ``OSError`` where there is none."""

    def read(self, path: str, start: int, stop: int) -> bytes:
        """Bytes ``start`` to ``stop``, fewer where the file ends before."""

    def stream(self, path: str) -> Generator[bytes, None, None]:
        """The whole file from its start in large pieces, read ahead where that hides latency; to be closed."""

    def list(self, pattern: str) -> list[str]:
        """Sorted files that match a glob pattern, or all files below a directory."""

    def put(self, path: str, *, atomic: bool) -> Upload:
        """Start to write a file."""

    def rename(self, source: str, target: str, *, sync: bool = False) -> None:
        """Give a file another name; a file of that name is replaced. Stores without a rename copy and remove."""

    def remove(self, path: str) -> None:
        """Remove a file; an ``OSError`` where there is none."""
