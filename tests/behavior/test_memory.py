"""Memory stays flat, whatever the size of the data and the number of epochs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import penstock as ps

# Reads a dataset in a process of its own and reports how much its memory grew, in bytes.
PROGRAM = """
import json, sys
import numpy as np
import penstock as ps

def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) << 10

ds = ps.Dataset(sys.argv[1], threads=2)
ds[0], len(ds)
next(iter(ds[:2].batch(2)))
change = {
    "in order": lambda ds: ds,
    "shuffled": lambda ds: ds.shuffle(seed=3),
    "windows": lambda ds: ds.shuffle(seed=3, window=500),
}
before, seen, peaks = peak(), [], []
for epoch in range(int(sys.argv[3])):
    numbers = [batch["number"] for batch in change[sys.argv[2]](ds).epoch(epoch).batch(64)]
    seen.append(bool((np.sort(np.concatenate(numbers)) == np.arange(len(ds))).all()))
    peaks.append(peak() - before)
print(json.dumps({"whole": all(seen), "peaks": peaks}))
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of about 300 MB."""
    folder = tmp_path_factory.mktemp("large")
    noise = np.random.default_rng(0).integers(0, 256, 1 << 20, dtype=np.uint8)

    def batches():
        for start in range(0, 20_000, 1000):
            numbers = np.arange(start, start + 1000)
            images = np.lib.stride_tricks.sliding_window_view(noise, 15_000)[numbers]
            yield ps.Batch({"image": images, "number": numbers})

    ps.write(folder / "large", batches(), shards=4)
    return folder


def run(folder: Path, order: str, epochs: int) -> dict:
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), order, str(epochs)], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("order", ["shuffled", "in order", "windows"])
def test_data_ten_times_larger_than_the_memory_is_read(large, order):
    size = sum(file.stat().st_size for file in large.glob("*.tfrecord"))
    report = run(large, order, 1)
    assert report["whole"]
    assert report["peaks"][0] < size / 10


def test_memory_is_flat_over_twenty_epochs(large):
    ps.write(large / "small" / "small", [{"image": np.zeros(15_000, np.uint8), "number": i} for i in range(600)])
    report = run(large / "small", "shuffled", 20)
    assert report["whole"]
    # How many batches are on their way at once is up to the scheduler; to keep one of each epoch would be 16 MB.
    assert report["peaks"][-1] - report["peaks"][2] < 4 << 20
