"""Steps of robot data: in order, shuffled, with pictures left encoded; and statistics of their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from contest import Bench, Entry, Goal
from findings import Finding
from robot_data import made

import penstock as ps


def run(bench: Bench) -> Iterator[Finding]:
    folder = made()
    count = int(ps.rlds.open(folder).lengths.sum())

    def entry(name: str, contestant: str, task: str, **arguments: Any) -> Entry:
        return Entry(name, contestant, task, {"folder": str(folder), **arguments}, count, count)

    decoded = [
        entry("penstock in order", "penstock", "steps", shuffled=False, decode=True),
        entry("penstock shuffled", "penstock", "steps", shuffled=True, decode=True),
        entry("TF in order", "tensorflow", "steps", shuffled=False, decode=True),
        entry("TF shuffled in a buffer", "tensorflow", "steps", shuffled=True, decode=True),
        entry("decoding alone", "penstock", "decoding"),
    ]
    goals = [
        Goal("penstock in order", ("decoding alone",), 0.85),
        Goal("penstock shuffled", ("decoding alone",), 0.85),
        Goal("penstock shuffled", ("penstock in order",), 0.9),
        Goal("penstock shuffled", ("TF shuffled in a buffer",), 1),
    ]
    yield bench.contest("Steps with two JPEG pictures of 256 x 256", "robot", "steps", decoded, goals)
    encoded = [
        entry("penstock shuffled", "penstock", "steps", shuffled=True, decode=False),
        entry("TF shuffled in a buffer", "tensorflow", "steps", shuffled=True, decode=False),
        entry("TF in order", "tensorflow", "steps", shuffled=False, decode=False),
    ]
    goals = [Goal("penstock shuffled", ("TF shuffled in a buffer", "TF in order"), 3)]
    yield bench.contest("Steps with encoded pictures", "robot", "steps", encoded, goals)
    means = bench.result("penstock", "statistics", {"folder": str(folder)})
    statistics = [
        Entry(name, contestant, "statistics", {"folder": str(folder)}, means, count)
        for name, contestant in (("penstock", "penstock"), ("TF and NumPy", "tensorflow"))
    ]
    goals = [Goal("penstock", ("TF and NumPy",), 5)]
    yield bench.contest("Statistics of the numbers of steps", "robot", "steps", statistics, goals)
