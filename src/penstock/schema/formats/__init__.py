"""Schemas in the formats of others, one file each. What a format cannot say is refused, or listed in docs/schema.md."""

from __future__ import annotations
