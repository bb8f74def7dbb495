"""Blocks of rows that raise an error together, and are computed one by one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any


class OneByOne:
    """Computes the rows of a block that has failed. Where none of them fails, the fault is ours, and a warning says so:
    the values are right, and the speed is not."""

    def __init__(self, error: Exception, rows: int) -> None:
        self._error: Exception | None = error
        self._left = rows

    def compute(self, function: Callable[[Any], Any], row: Any) -> Any:
        """Compute one row."""
        try:
            found = function(row)
        except Exception:
            self._error = None  # which was that of a row, as it has to be
            raise
        self._left -= 1
        if not self._left and self._error is not None:
            raised = f"{type(self._error).__name__}: {self._error}"
            warnings.warn(
                f"elements are computed one by one, for many at once raised {raised}. "
                "This is a fault of penstock.tf: please report it",
                RuntimeWarning,
                stacklevel=2,
            )
        return found
