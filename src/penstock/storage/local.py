"""Local files, written on a native thread, in place or under a temporary name; and standard streams."""

from __future__ import annotations

import errno
import glob
import os
import stat
import sys
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial

from penstock import _core
from penstock._core import FrameBuffer
from penstock.storage.store import FileInfo, StoreCapabilities, Upload

# The allocator reuses memory of this size for the next piece. Much larger pieces are returned to the system, and
# allocating them again costs a page fault for every 4 KB.
_PIECE = 1 << 20
_OTHER_FILES = 256  # that a process has open
# In bytes, on most file systems.
_LONGEST_NAME = 255


class LocalFiles:
    """The files of this machine."""

    capabilities = StoreCapabilities(
        native_paths=True, ranges=True, rename=True, append=True, folders=True, conditional_put=True, latency="disk"
    )

    def stat(self, path: str) -> FileInfo:
        info = os.stat(path)
        if stat.S_ISDIR(info.st_mode):
            raise IsADirectoryError(errno.EISDIR, "Is a directory", path)
        if stat.S_ISREG(info.st_mode):
            return FileInfo(size=info.st_size, modified_ns=info.st_mtime_ns)
        return FileInfo(size=None, seekable=False)

    def read(self, path: str, start: int, stop: int) -> bytes:
        with naming(path), open(path, "rb", buffering=0) as file:
            file.seek(start)
            pieces = []
            while start < stop and (piece := file.read(stop - start)):
                pieces.append(piece)
                start += len(piece)
            return b"".join(pieces)

    def stream(self, path: str) -> Generator[bytes, None, None]:
        with naming(path), open(path, "rb", buffering=0) as file:
            while piece := file.read(_PIECE):
                yield piece

    def list(self, pattern: str, unreadable: Callable[[OSError], None] | None = None) -> list[str]:
        if os.path.isdir(pattern):
            walk = os.walk(pattern, onerror=partial(_refuse, unreadable))
            found = [os.path.join(folder, name) for folder, _, names in walk for name in names]
        else:
            found = glob.glob(pattern, recursive=True)
        return sorted(path for path in found if _is_file(path))

    def put(self, path: str, *, atomic: bool) -> Upload:
        return LocalUpload(path, atomic=atomic)

    def rename(self, source: str, target: str, *, sync: bool = False) -> None:
        os.replace(source, target)
        if sync:
            _sync_folder(target)

    def remove(self, path: str) -> None:
        os.unlink(path)


def _refuse(unreadable: Callable[[OSError], None] | None, error: OSError) -> None:
    """Report a folder that cannot be listed, or raise: otherwise its files would be skipped silently."""
    # Hidden folders hold no data, and lost+found is in the root of many disks.
    if os.path.basename(error.filename or "").startswith((".", "_", "lost+found")):
        return
    if unreadable is None:
        raise error
    unreadable(error)


def allow_open_files(count: int) -> None:
    """Raise the limit of open files by ``count`` if the system allows: it is often 1,024, or 256 on macOS."""
    try:
        import resource
    except ImportError:
        return  # on Windows, which has another limit
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + _OTHER_FILES if hard == resource.RLIM_INFINITY else min(count + _OTHER_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # then opening the files raises
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _is_file(path: str) -> bool:
    """Return whether there is a file, or a broken link, which reading reports; opening a pipe would wait."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return True


def unfinished_path(path: str) -> str:
    """Return where a file is written until it is complete: ``.<name>.<8 hex digits>.partial`` in the same folder."""
    folder, name = os.path.split(path)
    ending = f".{os.urandom(4).hex()}.partial"
    while len(os.fsencode(name)) + len(ending) >= _LONGEST_NAME:
        name = name[:-1]
    return os.path.join(folder, f".{name}{ending}")


class LocalUpload:
    """A local file being written.

    With ``atomic`` the bytes go to :func:`unfinished_path` and :meth:`commit` renames; what was flushed before a crash
    is found there. Without, they go to the file itself, of which the first ``offset`` bytes stay.
    """

    def __init__(self, path: str, *, atomic: bool, offset: int = 0) -> None:
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, "Is a directory", path)
        if not path:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)  # realpath() takes it for "."
        self._path = path
        self._target = path
        self._keep = False
        # A device or a pipe is written in place, never replaced by a file.
        atomic = atomic and (not os.path.exists(path) or os.path.isfile(path))
        if atomic:
            # Follow links, as open() does: the target is replaced, not the link.
            self._path = os.path.realpath(path)
            self._target = unfinished_path(self._path)
        flags = os.O_WRONLY | os.O_CREAT | (os.O_EXCL if atomic else 0 if offset else os.O_TRUNC)
        flags |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        try:
            descriptor = os.open(self._target, flags, 0o666)
        except (FileNotFoundError, NotADirectoryError) as error:
            error.filename = path  # not the temporary name: the folder is missing
            raise
        try:
            try:
                if offset:
                    os.ftruncate(descriptor, offset)
                    os.lseek(descriptor, offset, os.SEEK_SET)
                with naming(self._target):
                    self._writer = _core.FileWriter(descriptor)
            finally:
                os.close(descriptor)  # the writer has a copy, and hundreds of shards may be open at once
        except BaseException:
            if atomic:
                os.unlink(self._target)
            raise
        self._open = True

    @property
    def target(self) -> str:
        """The path that the bytes go to now."""
        return self._target

    def make_private(self) -> None:
        """Let only the owner read the file, and the one that it replaces, whose permissions it takes."""
        for path in (self._target, self._path):
            with suppress(FileNotFoundError):
                os.chmod(path, stat.S_IRUSR | stat.S_IWUSR)

    def write(self, data: bytes) -> None:
        with naming(self._target):
            self._writer.write(data)

    def write_frames(self, frames: _core.FrameBuffer) -> None:
        with naming(self._target):
            self._writer.write_frames(frames)

    def flush(self) -> None:
        with naming(self._target):
            self._writer.drain()
        self._keep = True

    def sync(self) -> None:
        with naming(self._target):
            self._writer.sync()
            _sync_folder(self._target)
        self._keep = True

    def commit(self, *, sync: bool) -> None:
        with naming(self._target):
            self._writer.sync() if sync else self._writer.drain()
            self._close()
        self._keep = True  # the file is complete, even if the rename fails: its name is another owner's, or in use
        if self._target != self._path:
            if os.path.exists(self._path):
                # The new file takes the permissions of the one that it replaces.
                os.chmod(self._target, stat.S_IMODE(os.stat(self._path).st_mode))
            os.replace(self._target, self._path)
            self._target = self._path
        if sync:
            _sync_folder(self._path)

    def abort(self) -> str | None:
        try:
            self._close()
        except OSError:
            pass  # the error that led here is the one to report
        if self._target == self._path or self._keep:
            return self._target if os.path.exists(self._target) else None
        try:
            os.unlink(self._target)
        except FileNotFoundError:
            pass
        return None

    def _close(self) -> None:
        if self._open:
            self._open = False
            self._writer.close()


class naming:
    """Adds the path to an OSError that has none."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError) and error.filename is None:
            error.filename = self._path


def _sync_folder(path: str) -> None:
    """Make a new name in a directory survive a loss of power."""
    if os.name == "nt":
        return  # not possible on Windows
    descriptor = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_STREAM_PIECE = 1 << 20


class StandardStreams:
    """Standard input and output as a store, under the name ``-``."""

    capabilities = StoreCapabilities(latency="stream")

    _was_read = False

    def stat(self, path: str) -> FileInfo:
        return FileInfo(size=None, seekable=False)

    def read(self, path: str, start: int, stop: int) -> bytes:
        raise OSError(errno.ESPIPE, "standard input has no ranges", path)

    def stream(self, path: str) -> Generator[bytes, None, None]:
        if sys.stdin is None:
            raise OSError(errno.EBADF, "standard input is closed", path)
        if self._was_read:  # a second iteration would seem to be a clean end
            raise OSError(errno.ESPIPE, "standard input can be read only once, and was read before", path)
        self._was_read = True
        descriptor = sys.stdin.fileno()
        while piece := os.read(descriptor, _STREAM_PIECE):
            yield piece

    def list(self, pattern: str, unreadable: Callable[[OSError], None] | None = None) -> list[str]:
        return [pattern]

    def put(self, path: str, *, atomic: bool) -> Upload:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "standard output is closed", path)
        return StandardOutput()

    def rename(self, source: str, target: str, *, sync: bool = False) -> None:
        raise OSError(errno.ESPIPE, "standard output has no name", source)

    def remove(self, path: str) -> None:
        raise OSError(errno.ESPIPE, "standard output cannot be removed", path)


class StandardOutput:
    """Standard output being written; nothing can be undone."""

    def __init__(self) -> None:
        self._out = sys.stdout.buffer

    def write(self, data: bytes) -> None:
        self._out.write(data)

    def write_frames(self, frames: FrameBuffer) -> None:
        self._out.write(frames.take())

    def flush(self) -> None:
        self._out.flush()

    def sync(self) -> None:
        self._out.flush()

    def commit(self, *, sync: bool) -> None:
        self._out.flush()

    def abort(self) -> str | None:
        return None
