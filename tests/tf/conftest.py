"""Resets global state after each test of ``penstock.tf``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import penstock.tf as tf


@pytest.fixture(autouse=True)
def reset_seed() -> Iterator[None]:
    """Remove the global seed, which affects all shuffles of later tests."""
    yield
    tf.random.set_seed(None)
