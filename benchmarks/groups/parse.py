"""Files to batches of columns. All cores for everybody; TensorFlow's columns are what the others' are compared with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from contest import Bench, Entry, Goal
from findings import Finding
from workloads import Workload

_AGAINST_TENSORFLOW = {"w1": 10, "w2": 4, "w2b": 6, "w3": 10, "w4": 8, "w5": 6, "w6": 10}
_NEAR_THE_FLOOR = ("w1", "w2", "w2b", "w5")

# Those who take seconds for a few thousand records are timed on a part.
_ON_A_PART = ("TF tutorial", "tfrecord")


def run(bench: Bench) -> Iterator[Finding]:
    for workload in bench.chosen(*_AGAINST_TENSORFLOW):
        yield parse(bench, workload)
    for workload in bench.chosen("w1", "w5"):
        yield project(bench, workload)


def parse(bench: Bench, workload: Workload) -> Finding:
    contestants = {
        "penstock": ("penstock", "parse"),
        "TF best practice": ("tensorflow", "best"),
        "TF tutorial": ("tensorflow", "tutorial"),
        "tfx-bsl, to Arrow": ("tfx_bsl", "parse"),
        "tfrecord, unverified": ("tfrecord", "parse"),
    }
    expected = {path: bench.result("tensorflow", "best", _arguments(workload, path)) for path in _files(workload)}
    entries = []
    for name, (contestant, task) in contestants.items():
        path, records = workload.plain, workload.expected["records"]
        if name.startswith(_ON_A_PART):
            path, records = workload.head, workload.expected_head["records"]
        entries.append(Entry(name, contestant, task, _arguments(workload, path), expected[path], records))
    size = workload.plain.stat().st_size
    floor = {"path": str(workload.plain), "threads": os.cpu_count()}
    entries.append(Entry("read() + CRC + copy", "floor", "read_check_copy", floor, size, workload.expected["records"]))
    goals = [Goal("penstock", ("TF best practice",), _AGAINST_TENSORFLOW[workload.name])]
    if workload.name in _NEAR_THE_FLOOR:
        goals.append(Goal("penstock", ("read() + CRC + copy",), 0.6))
    return bench.contest("Parse into batches", workload.name, "records/s", entries, goals)


def project(bench: Bench, workload: Workload) -> Finding:
    """One small feature of large records, compared with an iteration that looks into none."""
    records, arguments = workload.expected["records"], _arguments(workload, workload.plain)
    expected = bench.result("tensorflow", "best_label", arguments)
    entries = [Entry("TF best practice", "tensorflow", "best_label", arguments, expected, records)]
    goals = []
    for verify in (True, False):
        suffix = "" if verify else ", unverified"
        ours, passing = f"penstock{suffix}", f"no look inside{suffix}"
        options = {**arguments, "verify": verify}
        entries.append(Entry(ours, "penstock", "parse_label", options, expected, records))
        entries.append(Entry(passing, "penstock", "read_payloads", options, records, records))
        goals.append(Goal(ours, (passing,), 0.8))
    return bench.contest("Parse the label alone", workload.name, "records/s", entries, goals)


def _files(workload: Workload) -> tuple[Path, Path]:
    return workload.plain, workload.head


def _arguments(workload: Workload, path: Path) -> dict[str, str]:
    return {"path": str(path), "workload": workload.name}
