"""Remote files through fsspec: large ranges read ahead on threads, with retries; uploads that appear when committed."""

from __future__ import annotations

import errno
import io
import random
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from penstock._core import FrameBuffer
from penstock.errors import TruncatedError, import_extra
from penstock.storage.store import FileInfo, StoreCapabilities, Upload

T = TypeVar("T")
RANGE_BYTES = 8 << 20
PIECE_BYTES = 1 << 20
RANGES_AHEAD = 4
TRIES = 4
PAUSE_SECONDS = 0.2  # before the second try; it doubles with each
# The package for a protocol, and the extra that installs it.
_DRIVERS = {
    "s3": ("s3fs", "s3"),
    "s3a": ("s3fs", "s3"),
    "gs": ("gcsfs", "gcs"),
    "gcs": ("gcsfs", "gcs"),
    "http": ("aiohttp", "http"),
    "https": ("aiohttp", "http"),
}
# Errors that another try will not change.
_FINAL = (
    FileNotFoundError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
    ImportError,
    NotImplementedError,
    TypeError,
    ValueError,
)
# What clients raise without credentials; by name, because their packages are extras.
_UNSIGNED = {"NoCredentialsError", "PartialCredentialsError", "DefaultCredentialsError"}
_HOW_TO_SIGN = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; for public data, FSSPEC_S3_ANON=true",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS, or run  gcloud auth application-default login",
}


class RemoteFiles:
    """Whatever fsspec has a driver for: ``s3://``, ``gs://``, ``memory://`` ..."""

    capabilities = StoreCapabilities(ranges=True, latency="network")

    def stat(self, path: str) -> FileInfo:
        info = self.info(path)
        if info.get("type") == "directory":
            raise IsADirectoryError(errno.EISDIR, "Is a directory", path)
        tag = info.get("ETag") or info.get("etag") or ""
        return FileInfo(size=info.get("size"), tag=str(tag).strip('"'))

    def info(self, path: str) -> dict[str, Any]:
        """Return what the driver knows about a file."""
        filesystem, name = open_filesystem(path)
        filesystem.invalidate_cache(name)  # a cached listing may have an old size
        return with_retries(path, lambda: dict(filesystem.info(name)))

    def read(self, path: str, start: int, stop: int) -> bytes:
        filesystem, name = open_filesystem(path)
        return with_retries(path, lambda: bytes(filesystem.cat_file(name, start=start, end=stop)))

    def stream(self, path: str) -> Generator[bytes, None, None]:
        size = self.stat(path).size
        if size is not None:
            yield from self.stream_ranges(path, 0, size)
            return
        filesystem, name = open_filesystem(path)
        with with_retries(path, lambda: filesystem.open(name, "rb", block_size=0)) as file:
            while piece := file.read(PIECE_BYTES):
                yield piece

    def stream_ranges(self, path: str, start: int, size: int) -> Generator[bytes, None, None]:
        """Read a file from ``start`` on, in ranges that are prefetched on threads."""
        if start + RANGE_BYTES >= size:
            yield self._range(path, start, size) if size else b""
            return
        pool = ThreadPoolExecutor(RANGES_AHEAD, thread_name_prefix="penstock-remote")
        ahead: deque[Future[bytes]] = deque()
        try:
            for begin in range(start, size, RANGE_BYTES):
                ahead.append(pool.submit(self._range, path, begin, min(begin + RANGE_BYTES, size)))
                if len(ahead) == RANGES_AHEAD:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _range(self, path: str, start: int, stop: int) -> bytes:
        data = self.read(path, start, stop)
        check_whole(path, start, stop, len(data))
        return data

    def list(self, pattern: str, unreadable: Callable[[OSError], None] | None = None) -> list[str]:
        filesystem, name = open_filesystem(pattern)
        filesystem.invalidate_cache(name)
        if any(mark in name for mark in "*?["):
            found = with_retries(pattern, lambda: filesystem.glob(name))
        else:
            found = with_retries(pattern, lambda: filesystem.find(name))
        return sorted(str(filesystem.unstrip_protocol(entry)) for entry in found)

    def put(self, path: str, *, atomic: bool) -> Upload:
        if not atomic:
            raise ValueError(f"{path}: a remote file cannot be written in place; leave out atomic=False")
        filesystem, name = open_filesystem(path)
        if filesystem.protocol == "memory":
            # Its files stand under their names from the first byte, whatever autocommit says.
            return GatheredUpload(filesystem, name, path)
        try:
            file = filesystem.open(name, "wb", autocommit=False)
        except NotImplementedError:
            raise OSError(errno.EROFS, "this kind of store can be read alone", path) from None
        return RemoteUpload(file, path)

    def rename(self, source: str, target: str, *, sync: bool = False) -> None:
        # Object stores copy on the server, and then remove the source.
        filesystem, name = open_filesystem(source)
        _, new_name = open_filesystem(target)
        with_retries(source, lambda: filesystem.copy(name, new_name))
        self.remove(source)

    def remove(self, path: str) -> None:
        filesystem, name = open_filesystem(path)
        with_retries(path, lambda: filesystem.rm_file(name))


class RemoteUpload:
    """A remote file being written: it appears under its name on commit, not before."""

    def __init__(self, file: Any, path: str) -> None:
        self._file = file
        self._path = path

    def write(self, data: bytes) -> None:
        with _naming(self._path):
            self._file.write(data)

    def write_frames(self, frames: FrameBuffer) -> None:
        self.write(frames.take())

    def flush(self) -> None:
        with _naming(self._path):
            self._file.flush()

    def sync(self) -> None:
        self.flush()

    def commit(self, *, sync: bool) -> None:
        with _naming(self._path):
            self._file.close()
            self._file.commit()

    def abort(self) -> str | None:
        try:
            # Closing would send the last part; a discarded upload needs none.
            self._file.closed = True
            self._file.discard()
        except (OSError, AttributeError):
            pass  # nothing exists under the name; the store expires incomplete uploads itself
        return None


class GatheredUpload(RemoteUpload):
    """A remote file that is buffered in memory and written in one piece."""

    def __init__(self, filesystem: Any, name: str, path: str) -> None:
        super().__init__(io.BytesIO(), path)
        self._filesystem = filesystem
        self._name = name

    def commit(self, *, sync: bool) -> None:
        self._filesystem.pipe_file(self._name, self._file.getvalue())

    def abort(self) -> str | None:
        self._file.close()
        return None


def check_whole(path: str, start: int, stop: int, found: int) -> None:
    """Raise unless all requested bytes were received."""
    if found != stop - start:
        raise TruncatedError(
            f"the file changed while it was read: {path}, bytes {start} to {stop}, found {found}",
            path=path,
            offset=start + min(found, stop - start),
            kind="changed",
        )


def with_retries(path: str, attempt: Callable[[], T]) -> T:
    """Call ``attempt``, and retry after transient errors with growing pauses."""
    for number in range(1, TRIES + 1):
        try:
            return attempt()
        except Exception as error:
            refusal = _final_error(error, path)
            if refusal is error:
                raise
            if refusal is not None:
                raise refusal from error
            if number == TRIES:
                error.add_note(f"tried {TRIES} times")
                if isinstance(error, OSError) and not isinstance(error, _FINAL):
                    raise
                raise OSError(errno.EIO, f"cannot be read ({error.__cause__ or error})", path) from error
            # Jitter, so that many readers that failed together do not retry together.
            time.sleep(random.uniform(0.5, 1.0) * PAUSE_SECONDS * 2 ** (number - 1))
    raise AssertionError("unreachable")


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Add the path to errors that the driver raises without one."""
    try:
        yield
    except Exception as error:
        refusal = _final_error(error, path)
        if refusal is None and not isinstance(error, OSError):
            refusal = OSError(errno.EIO, f"cannot be written ({error})", path)
        if refusal is None or refusal is error:
            raise
        raise refusal from error


def _final_error(error: Exception, path: str) -> Exception | None:
    """Return the error to raise if a retry would not help; None if it might."""
    # The HTTP driver reports every failure as a missing file, or raises its client's errors: their status is exact.
    cause = error.__cause__
    culprit = cause if type(cause).__module__.startswith("aiohttp") else error
    store = path.partition("://")[0].replace("s3a", "s3").replace("gcs", "gs")
    status = getattr(culprit, "status" if hasattr(culprit, "status") else "code", None)  # of aiohttp, of gcsfs
    if isinstance(status, int):
        if status in (404, 410):
            return FileNotFoundError(errno.ENOENT, "No such file", path)
        if status in (401, 403):
            how = _HOW_TO_SIGN.get(store) if status == 401 else None
            return _denied(path, f"HTTP status {status}", how)
        passing = status >= 500 or status in (408, 429)
        return None if passing else OSError(errno.EIO, f"the server refuses (HTTP status {status})", path)
    if type(culprit).__name__ in _UNSIGNED:
        advice = _HOW_TO_SIGN.get(store, "log in to the store")
        return PermissionError(errno.EACCES, f"No credentials: {advice}", path)
    if isinstance(culprit, PermissionError) and culprit.errno is None:
        return _denied(path, str(culprit))
    if isinstance(culprit, OSError) and str(culprit).startswith("Forbidden: "):  # of gcsfs
        return _denied(path, str(culprit).rpartition("\n")[2])
    if isinstance(culprit, FileNotFoundError) and culprit.errno is None:
        what = "bucket" if "bucket does not exist" in str(culprit) else "file"
        return FileNotFoundError(errno.ENOENT, f"No such {what}", path)
    return error if isinstance(culprit, _FINAL) else None


def _denied(path: str, why: str, advice: str | None = None) -> PermissionError:
    advice = advice or "use other credentials, or ask its owner"
    return PermissionError(errno.EACCES, f"Permission denied ({why}): {advice}", path)


def open_filesystem(path: str) -> tuple[Any, str]:
    """Return the driver for a URL, and the name of the file in it."""
    # Not cached here: fsspec has its own cache, which handles forks.
    package, extra = _DRIVERS.get(path.split("://", 1)[0].split("::")[-1], ("fsspec", "remote"))
    fsspec = import_extra("fsspec", extra, path)
    try:
        filesystem, name = fsspec.core.url_to_fs(path)
    except ImportError:
        import_extra(package, extra, path)
        raise
    return filesystem, str(name)
