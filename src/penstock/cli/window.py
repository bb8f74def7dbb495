"""The part of all records that was asked for, with ``--skip`` and ``--limit``."""

from __future__ import annotations

from collections.abc import Iterator

from penstock._core import RecordChunk


class Window:
    """Passes over records, then lets some through, over any number of files."""

    def __init__(self, skip: int, limit: int | None) -> None:
        self.skip = skip
        self.limit = limit

    def cut(self, chunks: Iterator[RecordChunk]) -> Iterator[RecordChunk]:
        """Let through what of these chunks is in the window."""
        for chunk in chunks:
            passed = min(self.skip, len(chunk))
            self.skip -= passed
            stop = len(chunk) if self.limit is None else min(len(chunk), passed + self.limit)
            if stop > passed:
                yield chunk[passed:stop]
            if self.limit is not None:
                self.limit -= stop - passed
                if self.limit == 0:
                    return
