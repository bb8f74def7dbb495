"""Draws a schema from records that nobody described."""

from __future__ import annotations

from penstock.schema.inference.inference import Inference
from penstock.schema.inference.inferred import Certainty, Evidence, Inferred

__all__ = ["Certainty", "Evidence", "Inference", "Inferred"]
