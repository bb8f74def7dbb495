"""Tutorial code with one import changed: each record parsed by a function given to map, shuffled, batched."""

from __future__ import annotations

from collections.abc import Iterator

from contest import Bench, Entry, Goal
from findings import Finding
from workloads import Workload

# What is made of the label; penstock.tf traces all but the last, which runs for each element.
_LABELS = {
    "as it is": ("Tutorial: map, shuffle, batch", 10),
    "with a condition": ("Tutorial, with an if on a tensor", 10),
    "with a loop": ("Tutorial, with a while on a tensor", 10),
    "with a function": ("Tutorial, with tf.py_function", 3),
}


def run(bench: Bench) -> Iterator[Finding]:
    for workload in bench.chosen("w1", "w3"):
        for label, (title, goal) in _LABELS.items():
            yield tutorial(bench, workload, label, title, goal)


def tutorial(bench: Bench, workload: Workload, label: str, title: str, goal: float) -> Finding:
    # TensorFlow takes seconds for a few thousand records: both are timed on a part.
    arguments = {"path": str(workload.head), "workload": workload.name, "label": label}
    records = workload.expected_head["records"]
    labels = bench.result("tensorflow", "tutorial", arguments)
    entries = [
        Entry("penstock.tf", "penstock", "tutorial", arguments, labels, records),
        Entry("TensorFlow", "tensorflow", "tutorial", arguments, labels, records),
    ]
    return bench.contest(title, workload.name, "records/s", entries, [Goal("penstock.tf", ("TensorFlow",), goal)])
