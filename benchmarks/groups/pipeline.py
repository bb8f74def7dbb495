"""Order and feeding: exact shuffles against TensorFlow's within a buffer and grain's on ArrayRecord; random access."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from contest import Bench, Entry, Goal
from findings import Finding
from workloads import Workload

# An exact shuffle against reading in order: small records cost a call of the system each.
_AGAINST_SEQUENTIAL = {"w1": 1 / 1.5, "w3": 1 / 2.5}

_CALLS, _ROWS_PER_CALL = 40, 256


def run(bench: Bench) -> Iterator[Finding]:
    for workload in bench.chosen("w1", "w3"):
        yield shuffle(bench, workload)
    for workload in bench.chosen("w1", "w3"):
        yield random_access(bench, workload)


def shuffle(bench: Bench, workload: Workload) -> Finding:
    arguments, records = {"path": str(workload.plain), "workload": workload.name}, workload.expected["records"]
    labels = bench.result("tensorflow", "shuffled", arguments)
    entries = [
        Entry("penstock, exact", "penstock", "shuffled", arguments, labels, records),
        Entry("penstock, in order", "penstock", "sequential", arguments, labels, records),
        Entry("TF, buffer of 10,000", "tensorflow", "shuffled", arguments, labels, records),
    ]
    head = {"path": str(workload.head), "workload": workload.name}
    size = workload.expected_head["bytes"]
    amount = workload.expected_head["records"]
    entries.append(Entry("grain, exact, unparsed", "grain", "shuffled", head, size, amount))
    goals = [
        Goal("penstock, exact", ("TF, buffer of 10,000",), 5),
        Goal("penstock, exact", ("penstock, in order",), _AGAINST_SEQUENTIAL[workload.name]),
    ]
    return bench.contest("Shuffle, batch, parse", workload.name, "records/s", entries, goals)


def random_access(bench: Bench, workload: Workload) -> Finding:
    arguments = {"path": str(workload.plain), "workload": workload.name}
    drawn = np.random.default_rng(1).integers(workload.expected["records"], size=(_CALLS, _ROWS_PER_CALL))
    many, one = drawn.tolist(), drawn[:8].ravel().tolist()
    entries = []
    for name, numbers in (("by_number", many), ("one_by_one", one)):
        words = name.replace("_", " ")
        rows = np.size(numbers)
        asked = {**arguments, "numbers": numbers}
        labels = bench.result("penstock", name, asked)
        size = bench.result("grain", f"records_{name}", asked)
        entries += [
            Entry(f"penstock, {words}", "penstock", name, asked, labels, rows),
            Entry(f"penstock, {words}, unparsed", "penstock", f"records_{name}", asked, size, rows),
            Entry(f"ArrayRecord, {words}, unparsed", "grain", f"records_{name}", asked, size, rows),
        ]
    goals = [
        Goal(f"penstock, {words}, unparsed", (f"ArrayRecord, {words}, unparsed",), ratio)
        for words, ratio in (("by number", 12), ("one by one", 11))
    ]
    return bench.contest("Random access", workload.name, "records/s", entries, goals)
