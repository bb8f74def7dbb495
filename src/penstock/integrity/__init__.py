"""What is wrong with files, and what can be saved of them."""

from __future__ import annotations

from penstock.integrity.repair import RepairReport, repair, repair_dataset

__all__ = ["RepairReport", "repair", "repair_dataset"]
