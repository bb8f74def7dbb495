"""What a repair did, or would do."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from penstock.errors import CorruptDataError


@dataclass(frozen=True)
class RepairReport:
    """What became of one damaged file."""

    source: str
    target: str | None
    """The new file; None where it was not written."""
    records: int
    """Records that were saved: all outside the damage."""
    doubtful: int
    """Records that may lie inside the payload of a damaged record."""
    doubtful_target: str | None
    """The file that these were written to, where there are any."""
    damage: tuple[CorruptDataError, ...]
    """What is damaged, in order: ``offset`` to ``stop`` is lost, in the uncompressed stream."""
    expected: int | None = None
    """Records that the file had, by the manifest of its data set; None where there is none."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing was damaged."""
        return not self.damage

    @property
    def lost_ranges(self) -> list[tuple[int, int | None]]:
        """The bytes that no record could be read from; None stands for an end that is not known."""
        return [(error.offset or 0, error.stop) for error in self.damage if error.kind != "doubtful"]

    @property
    def causes(self) -> dict[str, int]:
        """How often each kind of damage occurs."""
        return dict(Counter(error.kind for error in self.damage))
