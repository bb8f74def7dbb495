"""What the examples of a dataset hold: features, schemas, their files and formats, and inference from records."""

from __future__ import annotations

from penstock.schema.default import NO_DEFAULT
from penstock.schema.feature import Encoding, Feature, Kind, Shape
from penstock.schema.schema import Schema, check_schema

__all__ = ["NO_DEFAULT", "Encoding", "Feature", "Kind", "Schema", "Shape", "check_schema"]
