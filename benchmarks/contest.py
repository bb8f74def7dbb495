"""Lets contestants do the same task side by side: each in its own process, checked first, then in turns."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from findings import Finding, Verdict
from fingerprint import fingerprint
from workloads import Workload

import penstock as ps

HERE = Path(__file__).parent
PEERS = ("tensorflow", "tfrecord", "tfrecords", "tfx_bsl", "grain")
_TALKATIVE = ("tensorflow", "tfx_bsl", "grain")  # they report their CPU features

# Shorter calls are repeated within a turn until it lasts this long.
_TURN_SECONDS = 0.2


@dataclass(frozen=True)
class Entry:
    """One way to do the task."""

    name: str
    contestant: str
    """The module in contestants/ named after the group; a peer's runs in the peer's environment."""
    task: str
    arguments: dict[str, Any]
    expected: Any
    """The result that counts as correct; for a task with an ``output``, what ``read_back`` finds in it."""
    amount: float
    """Of the unit that the contest counts, per call."""
    cores: int = 0
    """CPU cores that the process may use; 0: all."""
    output: Path | None = None
    read_back: Callable[[Path], Any] = lambda output: fingerprint(ps.RecordReader(output))


@dataclass(frozen=True)
class Goal:
    """``ours`` must reach ``ratio`` times the best of ``against``."""

    ours: str
    against: tuple[str, ...]
    ratio: float

    def judge(self, figures: dict[str, float]) -> Verdict:
        best = max(self.against, key=figures.__getitem__)
        return Verdict(f"{self.ours} / {best}", figures[self.ours] / figures[best], self.ratio)


def python_of(contestant: str) -> str:
    return str(HERE.parent / f".venvs/{contestant}/bin/python") if contestant in PEERS else sys.executable


class Worker(AbstractContextManager["Worker"]):
    """A contestant's process."""

    def __init__(self, group: str, contestant: str, cores: int = 0) -> None:
        command = [python_of(contestant), "-W", "ignore", HERE / "worker.py"]
        self._process = subprocess.Popen(
            [*command, HERE / f"contestants/{group}_{contestant}.py", str(cores)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if contestant in _TALKATIVE else None,
            text=True,
        )

    def ask(self, task: str, arguments: dict[str, Any], rounds: int = 0) -> Any:
        """Seconds per call, or with no ``rounds`` the result."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        question = {"task": task, "arguments": arguments, "rounds": rounds}
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of task {task} died: {' '.join(map(str, self._process.args))}")  # type: ignore[arg-type]
        return json.loads(line)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()  # closes its input, which ends it


@dataclass
class Bench:
    """What a group of benchmarks works with."""

    group: str
    workloads: list[str]
    repetitions: int
    output_sizes: dict[str, int] = field(default_factory=dict)
    """Bytes of what an entry wrote last, by the entry's name."""
    _workers: dict[tuple[str, int], Worker] = field(default_factory=dict)

    def chosen(self, *names: str) -> Iterator[Workload]:
        """Those of the named workloads that were asked for."""
        return (Workload(name) for name in names if name in self.workloads)

    def contest(self, title: str, workload: str, unit: str, entries: list[Entry], goals: list[Goal]) -> Finding:
        """Check every entry's result, then time them in turns; figures are medians, in ``unit`` per second."""
        rounds = {entry.name: self._check(entry) for entry in entries}
        times: dict[str, list[float]] = {entry.name: [] for entry in entries}
        for _ in range(self.repetitions):
            for entry in entries:
                times[entry.name].append(self._ask(entry, rounds[entry.name]))
        figures = {entry.name: entry.amount / statistics.median(times[entry.name]) for entry in entries}
        return Finding(title, workload, unit, figures, [goal.judge(figures) for goal in goals])

    def result(self, contestant: str, task: str, arguments: dict[str, Any]) -> Any:
        """What a contestant returns, for others to be compared with."""
        return self._ask(Entry("", contestant, task, arguments, None, 0), 0)

    def _check(self, entry: Entry) -> int:
        """Compare the result with what is expected; return how many rounds make a turn long enough."""
        found = self._ask(entry, 0)
        if found != entry.expected:
            raise AssertionError(f"{entry.name}: expected {entry.expected}, found {found}")
        return 1 if entry.output else math.ceil(_TURN_SECONDS / self._ask(entry, 1))

    def _ask(self, entry: Entry, rounds: int) -> Any:
        with self._fresh(entry.output):
            reply = self._worker(entry).ask(entry.task, entry.arguments, rounds)
            if entry.output is None or rounds:
                return reply
            self.output_sizes[entry.name] = entry.output.stat().st_size
            return entry.read_back(entry.output)

    @contextmanager
    def _fresh(self, output: Path | None) -> Iterator[None]:
        """Let nobody pay for what stood under the name of the output."""
        try:
            yield
        finally:
            if output is not None:
                output.unlink(missing_ok=True)

    def _worker(self, entry: Entry) -> Worker:
        key = (entry.contestant, entry.cores)
        if key not in self._workers:
            self._workers[key] = Worker(self.group, *key)
        return self._workers[key]

    def close(self) -> None:
        for worker in self._workers.values():
            worker.__exit__(None, None, None)
