"""An output that cannot be written is reported as that, and not as a problem of the input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import penstock as ps

resource = pytest.importorskip("resource", reason="no limits of the size of files")


def limit_file_size() -> None:
    """Let no file grow beyond a kilobyte, like a full disk, also for root."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


@pytest.mark.parametrize("output", ["new.parquet", "new.jsonl", "new"])
def test_a_full_disk_is_a_problem_of_the_output(folder: Path, output: str):
    ps.write("data/train", {"x": np.random.default_rng(7).integers(0, 1 << 60, 5000)})
    command = [sys.executable, "-m", "penstock", "convert", "data/train", "-o", output]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, preexec_fn=limit_file_size)
    assert result.returncode == 1
    assert "it cannot be written: " in result.stderr
    assert "too large; choose another place" in result.stderr
    assert str(Path(output).stem) in result.stderr.partition(": it cannot")[0]
    assert "train-0" not in result.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["data", "good.tfrecord", "good.tfrecord.gz"]


def test_a_schema_file_that_is_not_there_is_named(penstock, folder: Path):
    result = penstock("head", "good.tfrecord", "--schema", "gone.json")
    assert result.exit_code == 1
    assert result.stderr.startswith("penstock: gone.json: no such file")
