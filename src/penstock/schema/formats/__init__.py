"""File formats of schemas, one module each. What a format cannot express raises, or is listed in docs/schema.md."""

from __future__ import annotations
