"""The example learns, and a run that was killed goes on with the losses of one that was not."""

from __future__ import annotations

from pathlib import Path

from killed import assert_a_kill_changes_nothing


def test_jax(tmp_path: Path):
    flags = "--xla_force_host_platform_device_count=2"
    assert_a_kill_changes_nothing("train_jax.py", tmp_path, XLA_FLAGS=flags)
