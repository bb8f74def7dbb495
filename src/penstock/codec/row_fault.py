"""A row of a batch that does not fit, found after the native decoder; the decoder adds file and record."""

from __future__ import annotations


class RowFault(Exception):
    """What is wrong with one row."""

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message)
        self.row = row
        self.message = message
