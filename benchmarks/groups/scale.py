"""From one thread to all cores: batches in order and shuffled, gzip members, checks, statistics and differences.

Each figure stands beside ``read() + CRC + copy`` with as many threads. Files are in the page cache: sixteen of each
workload, so that threads meet both within a file and at the ends of files.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from contest import Bench, Entry, Goal
from findings import Finding, Verdict
from workload_columns import BATCH
from workloads import DATA, Workload

import penstock as ps

_SHARDS = 16
_SHARD_BYTES = 64 << 20

# Batches of each workload.
_BATCHES = {"w1": (128, 1024, 4096), "w3": (128, 1024, 4096), "w4": (128, 1024, 4096), "w5": (64,)}
# Goals at all cores: the share of the floor, or how many times the rate of one thread of sixteen, by batch.
_OF_FLOOR = {"w1": 0.6, "w5": 0.6}
_SPEEDUP = {128: 6 / 16, 1024: 12 / 16, 4096: 12 / 16}
_SHUFFLED = {"w1": 0.5, "w3": 0.35, "w4": 0.35, "w5": 0.5}
_NO_SLOWER = 0.95
_GZIP_SPEEDUP = 10 / 16


def run(bench: Bench) -> Iterator[Finding]:
    for workload in bench.chosen(*_BATCHES):
        shards = _shards(workload)
        for batch in _BATCHES[workload.name]:
            yield in_order(bench, workload, shards, batch)
        yield shuffled(bench, workload, shards)
        yield verify(bench, workload, shards)
        yield stats(bench, workload, shards)
        yield diff(bench, workload, shards)
    for workload in bench.chosen("w3"):
        yield inflate(bench, workload)
        yield deflate(bench, workload)


def threads() -> list[int]:
    """Return 1, 2, 4, ... up to the cores that may be used."""
    most = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return sorted({most, *itertools.takewhile(lambda count: count < most, (1 << i for i in range(10)))})


def in_order(bench: Bench, workload: Workload, shards: list[str], batch: int) -> Finding:
    rows, size = _amounts(shards)
    entries = []
    for count in threads():
        arguments = {"paths": shards, "workload": workload.name, "batch": batch, "threads": count}
        entries.append(Entry(_name(count), "penstock", "batches", arguments, rows, rows))
        floor = {"paths": shards, "threads": count}
        entries.append(Entry(f"floor, {count}", "floor", "copy", floor, size, rows))
    goals = [*_no_slower(), *_beside_floor(workload, batch)]
    return _with_efficiency(bench.contest("Batches in order", f"{workload.name}, {batch}", "rows/s", entries, goals))


def shuffled(bench: Bench, workload: Workload, shards: list[str]) -> Finding:
    rows, _ = _amounts(shards)
    entries = []
    for count in threads():
        arguments = {"paths": shards, "workload": workload.name, "batch": BATCH[workload.name], "threads": count}
        entries.append(Entry(_name(count), "penstock", "shuffled", arguments, rows, rows))
    entries.append(Entry("in order, all", "penstock", "batches", arguments, rows, rows))
    goals = [*_no_slower(), Goal(_name(threads()[-1]), ("in order, all",), _SHUFFLED[workload.name])]
    return bench.contest("Exact shuffle", workload.name, "rows/s", entries, goals)


def verify(bench: Bench, workload: Workload, shards: list[str]) -> Finding:
    """Verification beside a read of all records, on all cores."""
    rows, _ = _amounts(shards)
    entries = [
        Entry("verify", "penstock", "verify", {"paths": shards}, rows, rows),
        Entry("chunks()", "penstock", "chunks", {"paths": shards, "threads": threads()[-1]}, rows, rows),
    ]
    return bench.contest("Verify", workload.name, "rows/s", entries, [Goal("verify", ("chunks()",), 0.7)])


def stats(bench: Bench, workload: Workload, shards: list[str]) -> Finding:
    """Statistics beside decoding all columns, on all cores."""
    rows, _ = _amounts(shards)
    described = {"paths": shards, "workload": workload.name}
    entries = [
        Entry("stats", "penstock", "stats", described, rows, rows),
        Entry("decode", "penstock", "batches", {**described, "batch": 1024, "threads": threads()[-1]}, rows, rows),
    ]
    return bench.contest("Stats", workload.name, "rows/s", entries, [Goal("stats", ("decode",), 0.5)])


def diff(bench: Bench, workload: Workload, shards: list[str]) -> Finding:
    """Two equal datasets compared, beside a read of both, on all cores."""
    rows, _ = _amounts(shards)
    half = len(shards) // 2
    sides = {"paths": shards[:half], "others": shards[half:], "workload": workload.name}
    entries = [
        Entry("by position", "penstock", "diff", {**sides, "by_key": False}, rows, rows),
        Entry("by key", "penstock", "diff", {**sides, "by_key": True}, rows, rows),
        Entry("chunks()", "penstock", "chunks", {"paths": shards, "threads": threads()[-1]}, rows, rows),
    ]
    return bench.contest("Diff", workload.name, "rows/s", entries, [Goal("by position", ("chunks()",), 0.8)])


def inflate(bench: Bench, workload: Workload) -> Finding:
    shards = _copies(workload.members, "members")
    rows = _SHARDS * workload.expected["records"]
    entries = []
    for count in threads():
        arguments = {"paths": shards, "workload": workload.name, "batch": 1024, "threads": count}
        entries.append(Entry(_name(count), "penstock", "batches", arguments, rows, rows))
    goals = [*_no_slower(), Goal(_name(threads()[-1]), (_name(1),), _GZIP_SPEEDUP * threads()[-1])]
    return bench.contest("Gzip members, read", workload.name, "rows/s", entries, goals)


def deflate(bench: Bench, workload: Workload) -> Finding:
    """Processes bound to some of the cores: writing takes no number of threads."""
    rows = 5 * workload.expected["records"]
    entries = []
    for count in threads():
        output = DATA / f"scale-written-{count}"
        arguments = {"columns": str(workload.columns), "workload": workload.name, "output": str(output)}
        entries.append(Entry(_name(count), "penstock", "write_gzip", arguments, rows, rows, cores=count))
    goals = [*_no_slower(), Goal(_name(threads()[-1]), (_name(1),), _GZIP_SPEEDUP * threads()[-1])]
    return bench.contest("Gzip members, written", workload.name, "rows/s", entries, goals)


def _name(count: int) -> str:
    return f"{count} thread{'s' * (count > 1)}"


def _no_slower() -> list[Goal]:
    """Return that no number of threads is slower than half of it."""
    return [Goal(_name(more), (_name(less),), _NO_SLOWER) for less, more in itertools.pairwise(threads())]


def _beside_floor(workload: Workload, batch: int) -> list[Goal]:
    most = threads()[-1]
    if workload.name in _OF_FLOOR:
        return [Goal(_name(most), (f"floor, {most}",), _OF_FLOOR[workload.name])]
    return [Goal(_name(most), (_name(1),), _SPEEDUP[batch] * most)]


def _with_efficiency(finding: Finding) -> Finding:
    """Add the share of the floor with as many threads, which is no goal by itself."""
    for count in threads():
        share = finding.figures[_name(count)] / finding.figures[f"floor, {count}"]
        finding.verdicts.append(Verdict(f"{_name(count)} / floor, {count}", share, 0.0))
    return finding


def _amounts(shards: list[str]) -> tuple[int, int]:
    """Return the rows and the bytes of all shards."""
    return _SHARDS * sum(map(len, ps.RecordReader(shards[0]).chunks())), sum(os.path.getsize(path) for path in shards)


def _shards(workload: Workload) -> list[str]:
    """Return copies of a part of a workload, made once."""
    if workload.plain.stat().st_size <= _SHARD_BYTES:
        return _copies(workload.plain, "plain")
    part = DATA / f"scale-{workload.name}.tfrecord"
    if _is_older(part, workload.plain):
        size = 0
        with ps.RecordWriter(part) as writer:
            for chunk in ps.RecordReader(workload.plain).chunks():
                writer.write_many(list(chunk))
                size += int(chunk.spans[:, 1].sum())
                if size >= _SHARD_BYTES:
                    break
    return _copies(part, "plain")


def _copies(path: Path, kind: str) -> list[str]:
    copies = [DATA / f"scale-{kind}-{path.name}-{i:02d}" for i in range(_SHARDS)]
    for copy in copies:
        if _is_older(copy, path):
            copy.write_bytes(path.read_bytes())
    return [str(copy) for copy in copies]


def _is_older(file: Path, than: Path) -> bool:
    return not file.exists() or file.stat().st_mtime < than.stat().st_mtime
