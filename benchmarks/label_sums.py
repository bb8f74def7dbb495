"""What must be equal whatever the order: how many labels came, and their sum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def label_sum(labels: Iterable[Any]) -> int:
    """Go through batches of labels."""
    rows = total = 0
    for some in labels:
        rows += len(some)
        total += int(sum(some)) if isinstance(some, list) else int(some.sum())
    return rows * 1_000_003 + total
