"""Files that come from the disk: `penstock verify` compared with plain reading. Turns begin without them in memory."""

from __future__ import annotations

import random
import shutil
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from contest import Bench, Goal, Worker
from findings import Finding
from workloads import DATA, Workload

_FILES = 8
_TASKS = {
    "penstock verify": ("verify", {}),
    "read(), one thread": ("read", {"threads": 1}),
    "read(), two threads": ("read", {"threads": 2}),
}


def run(bench: Bench) -> Iterator[Finding]:
    for workload in bench.chosen("w5"):
        with _copies(workload.plain) as paths, Worker("disk", "penstock") as worker:
            if worker.ask("drop", {"paths": paths}):  # or nothing can be said
                yield verify(bench, workload, worker, paths)


def verify(bench: Bench, workload: Workload, worker: Worker, paths: list[str]) -> Finding:
    """A disk that others use swings more from one turn to the next than contestants differ: their order changes."""
    assert worker.ask("verify", {"paths": paths}) == _FILES * workload.expected["records"]
    seconds: dict[str, list[float]] = {name: [] for name in _TASKS}
    for _ in range(2 * bench.repetitions):
        for name, (task, arguments) in random.sample(sorted(_TASKS.items()), len(_TASKS)):
            worker.ask("drop", {"paths": paths})
            seconds[name].append(worker.ask(task, {"paths": paths, **arguments}, 1))
    size = _FILES * workload.plain.stat().st_size
    figures = {name: size / statistics.median(values) for name, values in seconds.items()}
    goal = Goal("penstock verify", ("read(), one thread", "read(), two threads"), 0.9)
    return Finding("Verify files that are not in memory", workload.name, "bytes/s", figures, [goal.judge(figures)])


@contextmanager
def _copies(plain: Path) -> Iterator[list[str]]:
    paths = [DATA / f"cold-{i}.tfrecord" for i in range(_FILES)]
    try:
        for path in paths:
            shutil.copyfile(plain, path)
        yield [str(path) for path in paths]
    finally:
        for path in paths:
            path.unlink(missing_ok=True)
