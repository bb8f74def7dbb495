"""What feeding costs: memory while any workload streams, and CPU time with a device that is slower than the data."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

from contest import Bench, Worker
from findings import Finding, Verdict
from payloads import WORKLOADS
from workloads import Workload

# A ResNet-50 on one H200 takes about as long for 256 pictures. The steps are more than Penstock reads ahead at a time
# (64 MB, 400 batches of w3), so that reading is measured too.
_STEPS, _STEP_SECONDS, _MOST_TURNS = 450, 0.05, 3

_CONTESTANTS = {"penstock": "penstock", "TF": "tensorflow"}


def run(bench: Bench) -> Iterator[Finding]:
    for workload in bench.chosen(*WORKLOADS):
        figures = {name: _fresh(who, "memory", workload) for name, who in _CONTESTANTS.items()}
        verdict = Verdict("penstock", figures["penstock"] / 1e6, 300, at_most=True, unit=" MB")
        yield Finding("Peak of resident memory, batches of 256", workload.name, "bytes", figures, [verdict])
    for workload in bench.chosen("w1", "w3"):
        asked = {"steps": _STEPS, "step_seconds": _STEP_SECONDS}
        turns: dict[str, list[float]] = {name: [] for name in _CONTESTANTS}
        for _ in range(min(bench.repetitions, _MOST_TURNS)):
            for name, who in _CONTESTANTS.items():
                turns[name].append(100 * _fresh(who, "overhead", workload, **asked))
        figures = {name: statistics.median(shares) for name, shares in turns.items()}
        verdict = Verdict("penstock", figures["penstock"], 3, at_most=True, unit=" %")
        yield Finding("CPU time of shuffled batches, a step of 50 ms", workload.name, "% of a core", figures, [verdict])


def _fresh(contestant: str, task: str, workload: Workload, **asked: Any) -> Any:
    """Ask a process that has done nothing else."""
    with Worker("feeding", contestant) as worker:
        return worker.ask(task, {"path": str(workload.plain), "workload": workload.name, **asked})
