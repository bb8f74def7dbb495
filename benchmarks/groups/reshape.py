"""Datasets larger than the memory that may be used, in other shards and orders, compared with a copy of the bytes.

A copy reads and writes pieces of 1 MiB, and then has the disk write everything; so do the others.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from contest import Bench, Worker
from findings import Finding, Verdict
from workloads import DATA, Workload

SOURCE_BYTES = int(os.environ.get("RESHAPE_BYTES", 2 << 30))
MEMORY = SOURCE_BYTES // 4
GOALS = {
    "reshard": 1.3,
    "merge": 1.3,
    "split": 1.3,
    "rename": 2.0,
    "drop": 2.0,
    "shuffle": 3.0,
    "sort": 3.0,
    "unique": 3.0,
}
"""At most so many times the seconds of a copy."""


def run(bench: Bench) -> Iterator[Finding]:
    if not list(bench.chosen("w1")):
        return
    DATA.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="reshape-", dir=DATA))
    try:
        with Worker("reshape", "penstock") as worker:
            places = {"folder": str(folder), "memory": MEMORY}
            size = worker.ask("make", {"folder": str(folder), "size": SOURCE_BYTES})
            seconds: dict[str, list[float]] = {task: [] for task in ("copy", *GOALS)}
            for _ in range(bench.repetitions):
                for task in random.sample(sorted(seconds), len(seconds)):
                    worker.ask("prepare", places)
                    seconds[task].append(worker.ask(task, places, 1))
            figures = {task: statistics.median(values) for task, values in seconds.items()}
            verdicts = [
                Verdict(f"{task} / copy", figures[task] / figures["copy"], goal, at_most=True)
                for task, goal in GOALS.items()
            ]
            speeds = {task: size / figure for task, figure in figures.items()}
            yield Finding("Reshape data of four times the memory", Workload("w1").name, "bytes/s", speeds, verdicts)
            most = worker.ask("peak", {})
            grown = Verdict(
                "memory above that of the process / memory that may be used", most / MEMORY, 1.0, at_most=True
            )
            yield Finding("Memory", Workload("w1").name, "bytes", {"peak": most}, [grown])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
