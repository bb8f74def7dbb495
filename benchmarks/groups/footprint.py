"""What Penstock weighs: its import, its installed files, and its memory while it streams a file of 4 GB."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import distribution
from pathlib import Path

from contest import Bench, Worker, python_of
from findings import Finding, Verdict
from workloads import DATA, Workload

ROOT = Path(__file__).parents[2]
_LARGE = 4 << 30

# Time and resident bytes that an import adds to a fresh process, after others.
_IMPORT = """
import json, os, sys, time
def resident(): return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
*before, module = sys.argv[1:]
for name in before: __import__(name)
start, memory = time.perf_counter(), resident()
__import__(module)
print(json.dumps([time.perf_counter() - start, resident() - memory]))
"""

_SIZE = """
from importlib.metadata import files
print(sum(file.locate().stat().st_size for file in files("penstock") if file.locate().exists()))
"""


def run(bench: Bench) -> Iterator[Finding]:
    yield from imports(bench)
    for workload in bench.chosen("w1"):
        yield memory(workload)


def imports(bench: Bench) -> Iterator[Finding]:
    installed = _installed()
    commands = {
        "penstock above NumPy": [installed, "-c", _IMPORT, "numpy", "penstock"],
        "NumPy": [installed, "-c", _IMPORT, "numpy"],
        "TF above NumPy": [python_of("tensorflow"), "-W", "ignore", "-c", _IMPORT, "numpy", "tensorflow"],
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    resident: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(bench.repetitions + 1):
        for name, command in commands.items():
            out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
            if turn:  # the first one compiles and fills the page cache
                time, memory = json.loads(out)
                seconds[name].append(time)
                resident[name].append(memory)
    times = {name: statistics.median(values) for name, values in seconds.items()}
    ours = "penstock above NumPy"
    yield Finding("Import", "time", "s", times, [Verdict(ours, times[ours], 0.03, at_most=True, unit=" s")])
    sizes = {name: statistics.median(values) for name, values in resident.items()}
    yield Finding("Resident after import", "", "bytes", sizes, [_megabytes(ours, sizes[ours], 10)])
    own = int(subprocess.run([installed, "-c", _SIZE], check=True, capture_output=True).stdout)
    yield Finding("Installed", "", "bytes", {"penstock": own}, [_megabytes("own files", own, 5)])


def memory(workload: Workload) -> Finding:
    """Stream a small file, then a large one: the peak must not grow with the file."""
    figures: dict[str, float] = {}
    with _large_file(workload.plain) as large:
        for task in ("chunks", "payloads"):
            with Worker("footprint", "penstock") as worker:
                small = worker.ask(task, {"path": str(workload.plain)})
                figures[f"{task}, {workload.name}"] = small
                figures[f"{task}, 4 GB"] = worker.ask(task, {"path": str(large)})
    growth = max(figures[f"{task}, 4 GB"] - figures[f"{task}, {workload.name}"] for task in ("chunks", "payloads"))
    peak = max(figures.values())
    verdicts = [_megabytes("peak", peak, 300), _megabytes("growth from the small file to the large one", growth, 16)]
    return Finding("Peak of resident memory while streaming", "", "bytes", figures, verdicts)


def _megabytes(what: str, size: float, most: float) -> Verdict:
    return Verdict(what, size / 1e6, most, at_most=True, unit=" MB")


@contextmanager
def _large_file(plain: Path) -> Iterator[Path]:
    """The records of a file again and again, up to 4 GB: TFRecord files can be strung together."""
    large = DATA / "large.tfrecord"
    if shutil.disk_usage(DATA).free < 2 * _LARGE:
        raise RuntimeError(f"the memory benchmark needs {2 * _LARGE >> 30} GB of free disk in {DATA}")
    try:
        with large.open("wb") as sink:
            while sink.tell() < _LARGE:
                with plain.open("rb") as source:
                    shutil.copyfileobj(source, sink, 1 << 20)
        yield large
    finally:
        large.unlink(missing_ok=True)


def _installed() -> str:
    """The Python of an environment that has Penstock as users have it: from a wheel, not linked to the source."""
    folder, wheels = DATA / "installed", DATA / "wheels"
    python = folder / "bin/python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    shutil.rmtree(wheels, ignore_errors=True)
    options = ["--no-deps", "--no-build-isolation", f"-Cbuild-dir={DATA / 'build'}", "-w", wheels]
    _quietly(sys.executable, "-m", "pip", "wheel", "-q", ROOT, *options)
    # The same NumPy as everywhere in this run: what is measured is the difference to it.
    numpy = f"numpy=={distribution('numpy').version}"
    _quietly(python, "-m", "pip", "install", "-q", numpy, *wheels.glob("penstock-*.whl"))
    _quietly(python, "-m", "pip", "install", "-q", "--no-deps", "--force-reinstall", *wheels.glob("penstock-*.whl"))
    return str(python)


def _quietly(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True)
