"""The floor of the group "scale"."""

from __future__ import annotations

from collections.abc import Sequence

from floor import read_and_check, read_check_copy


def copy(paths: Sequence[str], threads: int) -> int:
    """Read, check and copy files, each on all threads."""
    return sum(read_check_copy(path, threads) for path in paths)


def read(paths: Sequence[str], threads: int) -> int:
    """Read and check files, each on all threads."""
    return sum(read_and_check(path, threads) for path in paths)
