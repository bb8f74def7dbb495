"""Tutorial code with one import changed: each record parsed by a function given to map, shuffled, batched."""

from __future__ import annotations

from collections.abc import Iterator

from contest import Bench, Entry, Goal
from findings import Finding
from workloads import Workload

_TASKS = {"traced": ("Tutorial: map, shuffle, batch", 10), "with_condition": ("Tutorial, with an if on a tensor", 3)}


def run(bench: Bench) -> Iterator[Finding]:
    for workload in bench.chosen("w1", "w3"):
        for task, (title, goal) in _TASKS.items():
            yield tutorial(bench, workload, task, title, goal)


def tutorial(bench: Bench, workload: Workload, task: str, title: str, goal: float) -> Finding:
    # TensorFlow takes seconds for a few thousand records: both are timed on a part.
    arguments, records = {"path": str(workload.head), "workload": workload.name}, workload.expected_head["records"]
    labels = bench.answer("tensorflow", task, arguments)
    entries = [
        Entry("penstock.tf", "penstock", task, arguments, labels, records),
        Entry("TensorFlow", "tensorflow", task, arguments, labels, records),
    ]
    return bench.contest(title, workload.name, "records/s", entries, [Goal("penstock.tf", ("TensorFlow",), goal)])
