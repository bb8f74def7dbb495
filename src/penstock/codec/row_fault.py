"""A row of a batch that does not fit, found in Python; decoder and encoder add where it comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from penstock.errors import MalformedExampleError

Locate: TypeAlias = Callable[[int], tuple[str | None, int]]
"""Tells the file and the record that a row of a batch comes from."""


class RowFault(Exception):
    """What is wrong with one row."""

    def __init__(self, row: int, message: str, feature: str | None = None) -> None:
        super().__init__(message)
        self.row = row
        self.message = message
        self.feature = feature


def malformed(fault: RowFault, locate: Locate) -> MalformedExampleError:
    """Answer the error for a record that does not decode."""
    path, record = locate(fault.row)
    parts = [path, f"record {record}", None if fault.feature is None else f'feature "{fault.feature}"']
    where = ", ".join(part for part in parts if part is not None)
    return MalformedExampleError(f"{fault.message}: {where}", path=path, record=record, feature=fault.feature)
