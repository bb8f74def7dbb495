"""Raw records: read as bytes and in chunks, written, compressed, counted. Checksums are verified unless noted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from contest import Bench, Entry, Goal
from findings import Finding, Verdict
from payloads import WORKLOADS
from workloads import DATA, Workload

_OUTPUT = DATA / "output.tfrecord"


def run(bench: Bench) -> Iterator[Finding]:
    for workload in bench.chosen("w1", "w3", "w4", "w5"):
        yield iterate(bench, workload)
    for cores in (1, 2):
        for workload in bench.chosen(*WORKLOADS):
            yield chunks(bench, workload, cores)
    for workload in bench.chosen("w1", "w3", "w5"):
        yield write(bench, workload)
    for cores, many_members in ((1, False), (1, True), (2, True)):
        for workload in bench.chosen("w1", "w4"):
            yield gzip_read(bench, workload, cores, many_members)
    gzip_written = [gzip_write(bench, workload) for workload in bench.chosen("w1", "w3", "w4")]
    yield from (speed for speed, _ in gzip_written)
    yield from (size for _, size in gzip_written)
    for workload in bench.chosen("w1", "w3"):
        yield count(bench, workload)


def iterate(bench: Bench, workload: Workload) -> Finding:
    head, expected = str(workload.head), workload.expected_head
    entries = [
        _read("penstock", "penstock", "iterate", workload, workload.plain),
        Entry("TF one by one", "tensorflow", "one_by_one", {"path": head}, expected, expected["records"]),
        _read("TF iterator", "tensorflow", "iterator", workload, workload.plain),
        _read("TF batch(1024)", "tensorflow", "batches", workload, workload.plain),
        _read("tfrecord, unverified", "tfrecord", "iterate", workload, workload.plain),
        _read("tfrecords", "tfrecords", "iterate", workload, workload.plain),
    ]
    verifying = ("TF one by one", "TF iterator", "TF batch(1024)", "tfrecords")
    goal = Goal("penstock", verifying, {"w1": 3, "w3": 4, "w4": 4, "w5": 3}[workload.name])
    return bench.contest("Iterate payloads as Python bytes", workload.name, "records/s", entries, [goal])


def chunks(bench: Bench, workload: Workload, cores: int) -> Finding:
    path, size = str(workload.plain), workload.plain.stat().st_size
    arguments = {"path": path, "threads": cores}
    entries = [
        Entry("penstock", "penstock", "chunks", arguments, workload.expected, size, cores),
        Entry("read() + CRC", "floor", "read_and_check", arguments, size, size, cores),
        Entry("read() + our CRC", "floor", "read_and_check_fastest", arguments, size, size, cores),
    ]
    title = f"Iterate in chunks, {_cores(cores)}"
    return bench.contest(title, workload.name, "bytes/s", entries, [Goal("penstock", ("read() + CRC",), 0.8)])


def write(bench: Bench, workload: Workload) -> Finding:
    entries = [
        _write("penstock write_many", "penstock", "write_many", workload),
        _write("penstock write", "penstock", "write_loop", workload),
        _write("TF", "tensorflow", "write", workload),
        _write("write() of 1 MiB", "floor", "write_pieces", workload),
    ]
    against_floor = Goal("penstock write_many", ("write() of 1 MiB",), 0.8)
    goal = against_floor if workload.name == "w5" else Goal("penstock write_many", ("TF",), 5)
    return bench.contest("Write payloads", workload.name, "records/s", entries, [goal])


def gzip_read(bench: Bench, workload: Workload, cores: int, many_members: bool) -> Finding:
    """A single gzip member, as TensorFlow writes it, or many, as Penstock does."""
    path = workload.members if many_members else workload.gzip
    entries = [
        _read("penstock", "penstock", "iterate", workload, path, cores),
        _read("TF iterator", "tensorflow", "iterator", workload, path, cores, compression="GZIP"),
        _read("TF batch(1024)", "tensorflow", "batches", workload, path, cores, compression="GZIP"),
    ]
    goal = Goal("penstock", ("TF batch(1024)",), cores + 1)
    title = f"Iterate gzip, {_cores(cores)}, {'many members' if many_members else 'one member'}"
    return bench.contest(title, workload.name, "records/s", entries, [goal])


def gzip_write(bench: Bench, workload: Workload) -> tuple[Finding, Finding]:
    """The goal is of speed at nearly TensorFlow's size: it is asked of the quickest level that has it."""
    entries = [
        _write("penstock", "penstock", "write_many", workload, compression="GZIP"),
        _write("penstock, level 5", "penstock", "write_many", workload, compression="GZIP", level=5),
        _write("penstock, level 6", "penstock", "write_many", workload, compression="GZIP", level=6),
        _write("TF", "tensorflow", "write", workload, compression="GZIP"),
    ]
    speed = bench.contest("Write gzip: speed", workload.name, "records/s", entries, [])
    sizes = {entry.name: float(bench.output_sizes[entry.name]) for entry in entries}
    small = [entry.name for entry in entries[:-1] if sizes[entry.name] <= 1.05 * sizes["TF"]]
    quickest = max(small or ["penstock"], key=lambda name: speed.figures[name])
    speed.verdicts.append(Goal(quickest, ("TF",), 3).judge(speed.figures))
    size = Verdict(f"{quickest} / TF", sizes[quickest] / sizes["TF"], 1.05, at_most=True)
    return speed, Finding("Write gzip: size of the file", workload.name, "bytes", sizes, [size])


def count(bench: Bench, workload: Workload) -> Finding:
    records = workload.expected["records"]
    entries = [
        Entry(name, contestant, "count", {"path": str(workload.plain)}, records, records)
        for name, contestant in (("penstock", "penstock"), ("TF", "tensorflow"), ("tfrecords", "tfrecords"))
    ]
    goals = [Goal("penstock", ("TF",), 10), Goal("penstock", ("tfrecords",), 2)]
    return bench.contest("Count", workload.name, "records/s", entries, goals)


def _read(
    name: str, contestant: str, task: str, workload: Workload, path: Path, cores: int = 0, **arguments: object
) -> Entry:
    expected = workload.expected
    return Entry(name, contestant, task, {"path": str(path), **arguments}, expected, expected["records"], cores)


def _write(name: str, contestant: str, task: str, workload: Workload, **arguments: object) -> Entry:
    arguments |= {"source": str(workload.plain), "output": str(_OUTPUT)}
    expected = workload.expected
    return Entry(name, contestant, task, arguments, expected, expected["records"], output=_OUTPUT)


def _cores(cores: int) -> str:
    return "one core" if cores == 1 else f"{cores} cores"
