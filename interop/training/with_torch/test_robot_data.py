"""The guide to robot data: its script trains on two ranks, and a run that was killed goes on as if nothing was."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "robot-data.md").read_text(encoding="utf-8")
DATA = re.search(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SCRIPT = re.search(r"`train.py`.*?^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("guide")
    assert DATA is not None
    assert SCRIPT is not None
    subprocess.run([sys.executable, "-c", DATA[1]], cwd=folder, check=True)
    (folder / "train.py").write_text(SCRIPT[1])
    return folder


def train(folder: Path, ranks: int, *, kill_after: int | None = None) -> list[str]:
    """Run the script, and return what it printed: all, or the lines up to the one after which it is killed."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}", "train.py"]
    environment = os.environ | {"PENSTOCK_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    lines = []
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if len(lines) == kill_after:
                os.killpg(process.pid, signal.SIGKILL)
                break
    assert kill_after is not None or process.returncode == 0
    return lines


def test_a_killed_run_goes_on_with_the_losses_of_one_that_was_not(folder: Path):
    whole = train(folder, 2)
    assert len(whole) == 2 * (40 // 4)
    (folder / "policy.pt").unlink()
    first = train(folder, 2, kill_after=7)
    rest = train(folder, 2)
    # What was trained between the last line that was seen and the kill is not printed again.
    done = int(rest[0].split()[0]) - 1
    assert done >= len(first)
    assert first == whole[: len(first)]
    assert rest == whole[done:]


def test_one_rank_goes_on_with_what_two_began(folder: Path):
    (folder / "policy.pt").unlink(missing_ok=True)
    train(folder, 2, kill_after=4)
    rest = train(folder, 1)
    # Two epochs of 80 steps in batches of 4: each step of two ranks took two batches.
    first = int(rest[0].split()[0])
    assert len(rest) == 40 - 2 * (first - 1)
