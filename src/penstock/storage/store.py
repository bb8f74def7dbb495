"""The protocol of stores of files, and what a store can do."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Literal, Protocol

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
    modified_ns: int | None = None
    """The time of the last change, in nanoseconds since 1970, where the store has one."""


@dataclass(frozen=True)
class StoreCapabilities:
    """What a store can do, so that callers need not know its class."""

    native_paths: bool = False
    """Native threads and the functions of ``os`` can open its paths."""
    ranges: bool = False
    """A part of a file can be read without the bytes before it."""
    rename: bool = False
    """Files can be renamed."""
    append: bool = False
    """Files can be appended to."""
    folders: bool = False
    """Folders exist by themselves; object stores have only names with a common prefix."""
    conditional_put: bool = False
    """A file can be written on the condition that none exists."""
    latency: Literal["disk", "network", "stream"] = "network"
    """What a read waits for: a stream is read once, from start to end."""


class Upload(Protocol):
    """A file being written. It stands under its name after :meth:`commit` (in-place uploads: from the start)."""

    def write(self, data: bytes) -> None:
        """Append bytes."""

    def write_frames(self, frames: FrameBuffer) -> None:
        """Append frames, and leave the buffer empty."""

    def flush(self) -> None:
        """Hand everything to the operating system or the remote store, so that it survives the end of this process."""

    def sync(self) -> None:
        """Put everything on the disk, so that it survives a loss of power."""

    def commit(self, *, sync: bool) -> None:
        """Finish the file under its name. With ``sync``, on the disk before the name appears."""

    def abort(self) -> str | None:
        """Discard the file; return the path of what is left of it, if it has flushed records."""


class FileStore(Protocol):
    """Files of one kind, addressed by path."""

    @property
    def capabilities(self) -> StoreCapabilities:
        """What the store can do."""

    def stat(self, path: str) -> FileInfo:
        """Size and kind of a file; an ``OSError`` where there is none."""

    def read(self, path: str, start: int, stop: int) -> bytes:
        """Bytes ``start`` to ``stop``, fewer where the file ends before."""

    def stream(self, path: str) -> Generator[bytes, None, None]:
        """The whole file from its start in large pieces, read ahead where that hides latency; to be closed."""

    def list(self, pattern: str, unreadable: Callable[[OSError], None] | None = None) -> list[str]:
        """Sorted files that match a glob pattern, or all files below a directory.

        A folder in it that cannot be listed is passed to ``unreadable``, or raises without that.
        """

    def put(self, path: str, *, atomic: bool) -> Upload:
        """Start to write a file."""

    def rename(self, source: str, target: str, *, sync: bool = False) -> None:
        """Give a file another name; a file of that name is replaced. Stores without a rename copy and remove."""

    def remove(self, path: str) -> None:
        """Remove a file; an ``OSError`` where there is none."""
