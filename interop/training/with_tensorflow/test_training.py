"""The examples learn, and a run that was killed goes on with the losses of one that was not."""

from __future__ import annotations

from pathlib import Path

import pytest
from killed import assert_a_kill_changes_nothing


@pytest.mark.parametrize("example", ["train_tensorflow.py", "train_tensorflow_fit.py"])
def test_tensorflow(example: str, tmp_path: Path):
    assert_a_kill_changes_nothing(example, tmp_path)


def test_keras_on_tensorflow(tmp_path: Path):
    assert_a_kill_changes_nothing("train_keras.py", tmp_path, KERAS_BACKEND="tensorflow")
