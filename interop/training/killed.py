"""Runs a training example, kills it at mid-epoch, runs it again, and compares its losses with those of a whole run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
KILLED_AT = 70  # of 192 steps, 24 an epoch; the last checkpoint is of step 60


def assert_a_kill_changes_nothing(example: str, folder: Path, **environment: str) -> None:
    """Losses are compared to the last bit."""
    data = str(folder / "data" / "digits")
    subprocess.run([sys.executable, EXAMPLES / "pack_digits.py", data], check=True, stdout=subprocess.DEVNULL)
    whole, accuracy = run(example, data, str(folder / "whole"), environment)
    killed, nothing = run(example, data, str(folder / "killed"), environment, kill_at=KILLED_AT)
    resumed, same_accuracy = run(example, data, str(folder / "killed"), environment)
    assert nothing is None
    assert max(killed) >= KILLED_AT
    assert min(resumed) == 61
    assert killed | resumed == whole
    assert all(killed[step] == resumed[step] for step in killed.keys() & resumed.keys())
    assert accuracy == same_accuracy
    assert accuracy is not None
    assert accuracy > 0.9


def run(
    example: str, data: str, checkpoint: str, environment: dict[str, str], kill_at: int | None = None
) -> tuple[dict[int, float], float | None]:
    losses: dict[int, float] = {}
    accuracy = None
    command = [sys.executable, EXAMPLES / example, data, checkpoint]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            name, value = line.split()
            if name == "accuracy":
                accuracy = float(value)
                continue
            losses[int(name)] = float(value)
            if int(name) == kill_at:
                process.kill()
    assert process.returncode == (0 if kill_at is None else -9)
    return losses, accuracy
