"""Shards that are not there, by the names of those that are: ``train-00000-of-00004.tfrecord`` is one of four."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import islice

from penstock.cli.problems import A_FILE_IS_MISSING, COPY_ALL, Problem
from penstock.storage import split_path

_NUMBERED = re.compile(r"(.*-)(\d{5,9})(-of-(\d{5,9})\b.*)", re.DOTALL)
_MOST_TOLD = 5


def missing_by_name(files: Iterable[str]) -> list[Problem]:
    """Return a problem for each dataset of which files are missing, by what their names promise."""
    there: dict[tuple[str, str], set[int]] = defaultdict(set)
    counts: dict[tuple[str, str], int] = {}
    for file in files:
        folder, name = split_path(file)
        if numbered := _NUMBERED.fullmatch(name):
            before, number, behind, count = numbered.groups()
            there[folder + before, behind].add(int(number))
            counts[folder + before, behind] = int(count)
    return [_problem(*key, numbers, counts[key]) for key, numbers in there.items() if len(numbers) < counts[key]]


def _problem(before: str, behind: str, there: set[int], count: int) -> Problem:
    missing = count - len(there)
    told = islice((number for number in range(count) if number not in there), _MOST_TOLD)
    names = ", ".join(f"{number:05d}" for number in told) + (" ..." if missing > _MOST_TOLD else "")
    are = "is" if missing == 1 else "are"
    cause = f"{missing:,} of {count:,} shards {are} missing, by the names of the others: {names}"
    return Problem(f"{before}*{behind}", "shard-missing", cause, COPY_ALL, case=A_FILE_IS_MISSING)
