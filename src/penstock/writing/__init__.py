"""Writes datasets: shards of even size, and the manifest that says what is in them."""

from __future__ import annotations

from penstock.writing.commit import commit
from penstock.writing.write import write
from penstock.writing.writer import Writer

__all__ = ["Writer", "commit", "write"]
