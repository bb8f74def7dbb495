"""The examples learn, and a run that was killed goes on with the losses of one that was not."""

from __future__ import annotations

from pathlib import Path

from killed import assert_a_kill_changes_nothing


def test_torch(tmp_path: Path):
    assert_a_kill_changes_nothing("train_torch.py", tmp_path)


def test_keras_on_torch(tmp_path: Path):
    assert_a_kill_changes_nothing("train_keras.py", tmp_path, KERAS_BACKEND="torch")
