"""The options for reading files of records, checked in one place, and the policies for bad records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from penstock.arguments import int_at_least, one_of
from penstock.compression import Compression, Trailing, check
from penstock.errors import CorruptDataError, MalformedExampleError
from penstock.parallel import available_cpus

OnDamage: TypeAlias = Literal["raise", "tolerate_tail", "skip", "skip_record", "skip_file"]
"""What a reader of one file does at damage; :class:`penstock.RecordReader` documents each."""
RecordError: TypeAlias = CorruptDataError | MalformedExampleError
OnBadRecord: TypeAlias = Literal["raise", "skip"] | Callable[[RecordError], Any]
"""What a dataset does with a record that is damaged or does not decode; a function is called with the error."""
IndexLocation: TypeAlias = Literal["cache", "sidecar", "none"]
"""Where an index is stored: in the user's cache folder, in a hidden file next to the data, or not at all."""


@dataclass(frozen=True)
class ReadOptions:
    """How to read files. Every reader takes these, and ignores the ones that do not apply to it."""

    compression: Compression | None = None
    """None detects it from the content."""
    verify: bool = True
    """Check payload checksums. Headers and lengths are always checked."""
    max_record_bytes: int = 1 << 30
    """A longer record is damage, whatever its header says."""
    threads: int | None = 1
    """None takes one per CPU, counted in the process that reads."""
    on_damage: OnDamage = "raise"
    nested: bool | None = True
    """Whether payloads may hold TFRecords, which matters after damage; None judges by the other records."""
    trailing: Trailing = "error"
    """What may follow a compressed stream."""
    multistream: bool = False
    """Read on if a second ZLIB stream follows the first, which TensorFlow drops."""
    require_nonempty: bool = False
    """A file without a single byte is damage: an interrupted writer leaves such a file."""
    index: IndexLocation = "cache"

    def __post_init__(self) -> None:
        if self.compression is not None:
            check(self.compression)
        object.__setattr__(self, "max_record_bytes", int_at_least("max_record_bytes", self.max_record_bytes, 0))
        if self.threads is not None:
            object.__setattr__(self, "threads", int_at_least("threads", self.threads, 1))
        object.__setattr__(self, "verify", bool(self.verify))
        one_of("trailing", self.trailing, get_args(Trailing))
        one_of("on_error", self.on_damage, get_args(OnDamage))
        one_of("index", self.index, get_args(IndexLocation))

    @property
    def thread_count(self) -> int:
        """The number of threads to read with."""
        return available_cpus() if self.threads is None else self.threads

    @property
    def skips_damage(self) -> bool:
        """Whether every record outside the damage is read."""
        return self.on_damage == "skip"
