"""The data that an index belongs to: by content, so that a copy has the same identity, and never by time."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from penstock import _core
from penstock.storage import FileStore

_END_BYTES = 64 << 10


@dataclass(frozen=True)
class Identity:
    """The size of a file, and the checksums of its first and last 64 KiB or the tag of a remote store."""

    size: int
    head: int = 0
    tail: int = 0
    tag: str = ""
    """The ETag of a remote file; if there is one, head and tail are not read."""

    @property
    def name(self) -> str:
        """A file name for what belongs to this data."""
        return hashlib.sha256(repr((self.size, self.head, self.tail, self.tag)).encode()).hexdigest()[:32]

    def to_json(self) -> dict[str, Any]:
        """Return the identity as an index file stores it."""
        if self.tag:
            return {"size": self.size, "etag": self.tag}
        return {"size": self.size, "head_crc32c": f"{self.head:08x}", "tail_crc32c": f"{self.tail:08x}"}


def identify(store: FileStore, path: str) -> Identity | None:
    """Return the identity of a file, or None for a stream without a known end."""
    info = store.stat(path)
    if info.size is None or not info.seekable:
        return None
    if info.tag:
        return Identity(info.size, tag=info.tag)
    head = store.read(path, 0, min(_END_BYTES, info.size))
    tail = store.read(path, max(0, info.size - _END_BYTES), info.size)
    return Identity(info.size, _core.crc32c(head), _core.crc32c(tail))
