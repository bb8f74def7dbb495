"""Arrays in memory to a finished file. What was written is read back and compared, column by column."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from contest import Bench, Entry, Goal
from decoded import expected_columns
from findings import Finding
from workloads import DATA, Workload

# The name that Penstock gives the only shard of a dataset, next to its manifest.
_OUTPUT = DATA / "output-00000-of-00001.tfrecord"
_FLOOR = "write() of 1 MiB"

# The least ratio to TensorFlow, or None: near the floor.
_COLUMNS_GOALS = {"w1": 8, "w2": None, "w2b": None, "w3": 100, "w4": 30, "w5": None, "w6": None}
_ROWS_GOALS = {"w1": 3, "w2": 20, "w2b": 2, "w3": 10, "w4": 5, "w5": None, "w6": 20}

# Rows that loops of dicts are timed on: a second or two for TensorFlow.
_ROWS = {"w1": 20_000, "w2": 2_000, "w2b": 8_000, "w3": 8_000, "w4": 20_000, "w5": 2_000, "w6": 1_000}


def run(bench: Bench) -> Iterator[Finding]:
    for workload in bench.chosen(*_COLUMNS_GOALS):
        yield write(bench, workload)


def write(bench: Bench, workload: Workload) -> Finding:
    rows = _ROWS[workload.name]
    entries = [
        _entry("penstock, columns", "penstock", "write_columns", workload, source=workload.plain),
        _entry("penstock, rows", "penstock", "write_rows", workload, rows),
        _entry("TF", "tensorflow", "write_rows", workload, rows),
        _entry("tfrecord", "tfrecord", "write_rows", workload, rows),
    ]
    if workload.name != "w6":  # tfx-bsl encodes no SequenceExamples
        entries.append(_entry("tfx-bsl, from Arrow", "tfx_bsl", "write_columns", workload))
    arguments = {"source": str(workload.plain), "output": str(_OUTPUT)}
    records = workload.expected["records"]
    entries.append(Entry(_FLOOR, "floor", "write_pieces", arguments, workload.expected, records, output=_OUTPUT))
    goals = [
        Goal(f"penstock, {what}", ("TF",) if ratio else (_FLOOR,), ratio or 0.8)
        for what, ratio in (("columns", _COLUMNS_GOALS[workload.name]), ("rows", _ROWS_GOALS[workload.name]))
    ]
    return bench.contest("Write columns or rows", workload.name, "records/s", entries, goals)


def _entry(
    name: str, contestant: str, task: str, workload: Workload, rows: int | None = None, source: Path | None = None
) -> Entry:
    arguments: dict[str, Any] = {
        "source": str(source or workload.columns),
        "workload": workload.name,
        "output": str(_OUTPUT),
    }
    if rows is not None:
        arguments["rows"] = rows
    return Entry(
        name,
        contestant,
        task,
        arguments,
        _expected(workload, rows),
        rows or workload.expected["records"],
        output=_OUTPUT,
        read_back=lambda output: expected_columns(output, workload.name),
    )


@cache
def _expected(workload: Workload, rows: int | None) -> dict[str, list[list[int]]]:
    return expected_columns(workload.plain, workload.name, rows)
