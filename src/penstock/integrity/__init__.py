"""What is wrong with files, and what can be saved of them."""

from __future__ import annotations

from penstock.integrity.data_set import repair_data_set
from penstock.integrity.one_file import repair
from penstock.integrity.report import RepairReport

__all__ = ["RepairReport", "repair", "repair_data_set"]
