"""A writer that is killed loses nothing that was flushed, and leaves no half of anything under a final name."""

from __future__ import annotations

import pytest
from reliability.kills import WRITERS, kill_writers
from reliability.sandbox import Sandbox


@pytest.mark.parametrize("work", WRITERS)
def test_nothing_is_lost_to_a_kill(sandbox: Sandbox, work: str):
    result = kill_writers(sandbox, 8, works=[work])
    assert result.kills > 0
    assert (result.lost, result.problems) == (0, [])
