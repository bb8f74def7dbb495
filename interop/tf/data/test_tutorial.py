"""A typical tutorial prints the same after changing one import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from oracle import PYTHON

TUTORIAL = Path(__file__).with_name("tutorial.py")


def run(python: str | Path, script: Path, folder: Path) -> list[str]:
    folder.mkdir()
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    result = subprocess.run([python, script, folder], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout.splitlines()


def test_the_tutorial_prints_the_same_after_changing_one_import(tmp_path: Path) -> None:
    source = TUTORIAL.read_text()
    changed = source.replace("import tensorflow as tf", "import penstock.tf as tf")
    assert changed != source
    ours = tmp_path / "tutorial.py"
    ours.write_text(changed)
    expected = run(PYTHON, TUTORIAL, tmp_path / "theirs")
    assert run(sys.executable, ours, tmp_path / "ours") == expected
    assert len(expected) > 20
