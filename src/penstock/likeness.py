"""Tells whether records look like a file's own: like those that certainly are."""

from __future__ import annotations

from collections.abc import Iterable

from penstock import _core
from penstock._core import RecordChunk

# So many records have to be seen before they speak for others: of Examples, which must have the same features, and of
# anything else.
_ENOUGH_EXAMPLES = 32
_ENOUGH = 64


class Likeness:
    """What the records that are certainly a file's own have in common."""

    def __init__(self) -> None:
        self._sort = _core.RecordSort()
        self._records = 0
        self._is_flat = True

    @property
    def wants_more(self) -> bool:
        """Whether further records would tell more."""
        return self._is_flat and self._records < _ENOUGH

    def learn(self, chunk: RecordChunk) -> None:
        """Look at records that are the file's own."""
        if self.wants_more:
            some = chunk[: _ENOUGH - self._records]
            self._records += len(some)
            self._is_flat = self._sort.learn(some)

    def fits(self, chunks: Iterable[RecordChunk]) -> bool:
        """Whether others look like them; none does if one of them holds a TFRecord, or if they are too few."""
        enough = _ENOUGH_EXAMPLES if self._sort.has_features else _ENOUGH
        return self._is_flat and self._records >= enough and all(map(self._sort.fits, chunks))
