"""Where the records of a file are, found once and stored: what random access and a full shuffle need.

:func:`open_index` answers the :class:`ShardIndex` of a file: the one that is kept, where it still fits the file, or one
that is built and then kept. ``docs/record-index.md`` describes the format.
"""

from __future__ import annotations

from penstock.index.open import known_starts, load_index, open_index, renew_index
from penstock.index.shard_index import Members, ShardIndex

__all__ = ["Members", "ShardIndex", "known_starts", "load_index", "open_index", "renew_index"]
