"""Remote files through fsspec: large ranges read ahead on threads, with retries; uploads that appear when committed."""

from __future__ import annotations

import functools
import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from penstock._core import FrameBuffer
from penstock.errors import TruncatedError, import_extra
from penstock.files.protocol import FileInfo, Upload

T = TypeVar("T")

RANGE_BYTES = 8 << 20
RANGES_AHEAD = 4
TRIES = 4

# Which extra brings the driver of a protocol that fsspec knows and does not have.
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs", "http": "http", "https": "http"}

# Answers that another try will not change.
_FINAL = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)


class RemoteFiles:
    """Whatever fsspec has a driver for: ``s3://``, ``gs://``, ``https://``, ``memory://`` ..."""

    def stat(self, path: str) -> FileInfo:
        filesystem, name = _open_filesystem(path)
        info = with_retries(lambda: filesystem.info(name))
        if info.get("type") == "directory":
            raise IsADirectoryError(21, "Is a directory", path)
        return FileInfo(size=info.get("size"))

    def read(self, path: str, start: int, stop: int) -> bytes:
        filesystem, name = _open_filesystem(path)
        return with_retries(lambda: bytes(filesystem.cat_file(name, start=start, end=stop)))

    def stream(self, path: str) -> Iterator[bytes]:
        size = self.stat(path).size
        if size is None:
            yield from self._stream_unsized(path)
            return
        ranges = ((start, min(start + RANGE_BYTES, size)) for start in range(0, size, RANGE_BYTES))
        pool = ThreadPoolExecutor(RANGES_AHEAD, thread_name_prefix="penstock-remote")
        ahead: deque[tuple[int, int, Future[bytes]]] = deque()
        try:
            for start, stop in ranges:
                ahead.append((start, stop, pool.submit(self.read, path, start, stop)))
                if len(ahead) == RANGES_AHEAD:
                    yield _whole(path, *ahead.popleft())
            while ahead:
                yield _whole(path, *ahead.popleft())
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _stream_unsized(self, path: str) -> Iterator[bytes]:
        filesystem, name = _open_filesystem(path)
        with filesystem.open(name, "rb", block_size=0) as file:
            while piece := file.read(1 << 20):
                yield piece

    def list(self, pattern: str) -> list[str]:
        filesystem, name = _open_filesystem(pattern)
        if any(mark in name for mark in "*?["):
            found = with_retries(lambda: filesystem.glob(name))
        else:
            found = with_retries(lambda: filesystem.find(name))
        return sorted(str(filesystem.unstrip_protocol(entry)) for entry in found)

    def put(self, path: str, *, atomic: bool) -> Upload:
        if not atomic:
            raise ValueError(f"{path}: a remote file cannot be written in place; leave out atomic=False")
        filesystem, name = _open_filesystem(path)
        return RemoteUpload(filesystem.open(name, "wb", autocommit=False))


class RemoteUpload:
    """A remote file being written: it stands under its name after commit, and not before."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, data: bytes) -> None:
        self._file.write(data)

    def write_frames(self, frames: FrameBuffer) -> None:
        self._file.write(frames.take())

    def flush(self) -> None:
        self._file.flush()

    def sync(self) -> None:
        self._file.flush()

    def commit(self, *, sync: bool) -> None:
        self._file.close()
        self._file.commit()

    def abort(self) -> str | None:
        try:
            # Closing would send the last part; a discarded upload needs none.
            self._file.closed = True
            self._file.discard()
        except (OSError, AttributeError):
            pass  # nothing stands under the name; parts that the store keeps are the store's to expire
        return None


def _whole(path: str, start: int, stop: int, future: Future[bytes]) -> bytes:
    data = future.result()
    if len(data) != stop - start:
        raise TruncatedError(
            f"the file became shorter while it was read: {path}, bytes {start} to {stop}, found {len(data)}",
            path=path,
            offset=start + len(data),
            kind="changed",
        )
    return data


def with_retries(attempt: Callable[[], T]) -> T:
    """Call ``attempt``, again after a passing fault, with growing pauses."""
    for number in range(1, TRIES + 1):
        try:
            return attempt()
        except _FINAL:
            raise
        except (OSError, TimeoutError) as error:
            if number == TRIES:
                error.add_note(f"tried {TRIES} times")
                raise
            # Jitter, so that many readers that failed together do not come back together.
            time.sleep(random.uniform(0.5, 1.0) * 0.2 * 2**number)
    raise AssertionError("unreachable")


@functools.lru_cache(maxsize=64)
def _open_filesystem(path: str) -> tuple[Any, str]:
    fsspec = import_extra("fsspec", "remote", f"reading {path}")
    try:
        filesystem, name = fsspec.core.url_to_fs(path)
    except ImportError as error:
        protocol = path.split("://", 1)[0].split("::")[-1]
        extra = _EXTRAS.get(protocol)
        if extra is None:
            raise
        import_extra(str(error.name or protocol), extra, f"reading {path}")
        raise
    return filesystem, str(name)
