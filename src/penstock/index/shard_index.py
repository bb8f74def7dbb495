"""The index of one file, in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.compression import Compression
from penstock.index.identity import Identity
from penstock.index.lengths import Layout, Lengths, Uint64s


@dataclass(frozen=True, eq=False)
class Members:
    """Where the members of a gzip file are. Each array has one more entry than there are members, for the end."""

    file_offset: Uint64s
    """Where each starts in the file."""
    stream_offset: Uint64s
    """Where what is in it starts in the uncompressed stream."""
    first_record: Uint64s
    """Number of the first record in it."""

    def __len__(self) -> int:
        return len(self.file_offset) - 1

    @property
    def records(self) -> int:
        """How many records all of them hold."""
        return int(self.first_record[-1])

    def agree_with(self, lengths: Lengths) -> bool:
        """Whether they hold as many records, and of these lengths, as far as sums tell."""
        return (self.records, int(self.stream_offset[-1])) == (lengths.count, lengths.stream_bytes)

    def holding(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of the members that hold these records."""
        return np.searchsorted(self.first_record, rows.astype(np.uint64), side="right") - 1


class ShardIndex:
    """Where every record of a file is.

    >>> index = open_index("train.tfrecord")
    >>> offsets, lengths = index.places([3, 1, 2])
    """

    def __init__(
        self,
        *,
        identity: Identity,
        compression: Compression,
        lengths: Lengths | None,
        members: Members | None = None,
        measure: Callable[[ShardIndex], Lengths] | None = None,
        unknown: dict[str, Any] | None = None,
    ) -> None:
        self.identity = identity
        """What the file's content was when it was indexed."""
        self.compression: Compression = compression
        """How the file is compressed; ``""`` where it is not."""
        self.members = members
        """The members of a gzip file, where they start and end with records and tell their size; else None."""
        self.unknown = unknown or {}
        """What a newer Penstock wrote beside these; kept for saving."""
        self.lengths = lengths
        """The lengths of the records; None where they are not known yet."""
        self.measure = measure
        """Finds the lengths when they are asked for."""

    @property
    def records(self) -> int:
        """How many records there are."""
        return self.lengths.count if self.lengths else self.members.records if self.members else 0

    @property
    def seekable(self) -> bool:
        """Whether a record can be read without reading all that come before it."""
        return not self.compression or self.members is not None

    def places(self, rows: ArrayLike) -> tuple[Uint64s, Uint64s]:
        """Where the frames of these records start in the uncompressed stream, and how long their payloads are.

        The members of a gzip file tell how many records they hold, not how long these are: for such a file, the first
        call inflates it once. :attr:`members` is there without that.
        """
        return self._measured().places(np.asarray(rows, np.int64))

    def place(self, row: int) -> tuple[int, int]:
        """Where the frame of one record starts, and how long its payload is."""
        return self._measured().place(row)

    def layout(self) -> Layout:
        """Where all records are, for native readers."""
        return self._measured().layout()

    def _measured(self) -> Lengths:
        if self.lengths is None:
            if self.measure is None:
                raise ValueError("the lengths of the records are not known")
            self.lengths = self.measure(self)
        return self.lengths

    def with_lengths(self, lengths: Lengths) -> ShardIndex:
        """The same index, where the lengths of the records are known."""
        return ShardIndex(
            identity=self.identity,
            compression=self.compression,
            lengths=lengths,
            members=self.members,
            unknown=self.unknown,
        )

    def __len__(self) -> int:
        return self.records

    def __repr__(self) -> str:
        kind = f"{self.compression} " if self.compression else ""
        return f"<ShardIndex of {self.records} records in {self.identity.size} {kind}bytes>"
