"""Where the records of a file are, found once and stored: random access and a full shuffle need it.

:func:`open_index` returns the :class:`ShardIndex` of a file: the stored one if it still fits the file, or a new one,
which it stores. ``docs/record-index.md`` describes the format.
"""

from __future__ import annotations

from penstock.index.open import known_starts, load_index, open_index, renew_index
from penstock.index.shard_index import Members, ShardIndex

__all__ = ["Members", "ShardIndex", "known_starts", "load_index", "open_index", "renew_index"]
