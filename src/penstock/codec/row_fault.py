"""A row of a batch that does not fit, found in Python; decoder and encoder add where it comes from."""

from __future__ import annotations


class RowFault(Exception):
    """What is wrong with one row."""

    def __init__(self, row: int, message: str, feature: str | None = None) -> None:
        super().__init__(message)
        self.row = row
        self.message = message
        self.feature = feature
