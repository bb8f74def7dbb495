"""One TensorFlow process for the whole run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings
from oracle import Oracle

# An example goes through another process, so that its time says nothing.
settings.register_profile("interop", deadline=None, max_examples=25)
settings.load_profile("interop")


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    oracle = Oracle()
    yield oracle
    oracle.close()
