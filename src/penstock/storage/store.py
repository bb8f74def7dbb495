"""The protocol of file stores, and what a store can do."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Literal, Protocol

from penstock._core import FrameBuffer


@dataclass(frozen=True)
class FileInfo:
    """What a store reports about a file without reading it."""

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
    """A file being written. It appears under its name on :meth:`commit` (in-place uploads: from the start)."""

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
        """Return the size and kind of a file; raise ``OSError`` if there is none."""

    def read(self, path: str, start: int, stop: int) -> bytes:
        """Return bytes ``start`` to ``stop``, fewer if the file ends before."""

    def stream(self, path: str) -> Generator[bytes, None, None]:
        """Yield the whole file in large pieces, prefetched where that hides latency. The caller closes it."""

    def list(self, pattern: str, unreadable: Callable[[OSError], None] | None = None) -> list[str]:
        """Return the sorted files that match a glob pattern, or all files below a directory.

        The error of a folder that cannot be listed is passed to ``unreadable``, or raised without it.
        """

    def put(self, path: str, *, atomic: bool) -> Upload:
        """Start to write a file."""

    def rename(self, source: str, target: str, *, sync: bool = False) -> None:
        """Rename a file, replacing an existing one. Stores that cannot rename copy and remove."""

    def remove(self, path: str) -> None:
        """Remove a file; raise ``OSError`` if there is none."""
