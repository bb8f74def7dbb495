"""What tests of ``penstock.tf`` leave behind is taken back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import penstock.tf as tf


@pytest.fixture(autouse=True)
def no_seed_is_left_behind() -> Iterator[None]:
    """The global seed decides on the orders of all shuffles behind it, those of other tests too."""
    yield
    tf.random.set_seed(None)
