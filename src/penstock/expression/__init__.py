"""Conditions on the columns of a row, such as ``label == 3``: parsed, checked against columns, evaluated with NumPy."""

from __future__ import annotations

from penstock.expression.condition import RowCondition

__all__ = ["RowCondition"]
