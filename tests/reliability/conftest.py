from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from reliability.sandbox import Sandbox

collect_ignore = (
    [] if sys.platform == "linux" else ["test_faults.py", "test_kills.py", "test_power_loss.py", "test_hostile.py"]
)


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox
