"""Opens a file of records and gives out what the scanner finds in it: chunks and faults, in order.

Local plain files are read, checked and cut into records by native threads that run ahead; everything else is fetched
and inflated in Python and pushed into the same native scanner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from penstock.compression import Compression, Trailing
from penstock.errors import CorruptDataError, MalformedExampleError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file; :class:`penstock.RecordReader` says what each means."""

    compression: Compression | None = None
    """None: tell by content."""
    verify: bool = True
    checksum: bool = False
    """Compute the checksum of the whole file as well, as a manifest stores it."""
    max_record_bytes: int = 1 << 30
    trailing: Trailing = "error"
    multistream: bool = False
    require_nonempty: bool = False
    threads: int = 1
    skip: bool = False
    """Go on behind damage, with every record that is outside it."""
    search_first: bool = False
    """Search all of a local plain file before its first record is given out, not only what lies behind damage: what
    seems to be a whole record may be two headers, which the record behind them shows."""
    nested: bool | None = True
    """Whether payloads may hold TFRecords, which matters behind damage; None: judge by the records that are known."""
    known_starts: Callable[[], NDArray[np.uint64] | None] | None = None
    """Asked behind damage where the records start in the stream, in order: if known, that settles whose they are."""


RecordError: TypeAlias = CorruptDataError | MalformedExampleError
OnBadRecord: TypeAlias = Literal["raise", "skip"] | Callable[[RecordError], Any]
