"""Writes datasets: shards, and the manifest that describes them."""

from __future__ import annotations

from penstock.writing.commit import abort, commit
from penstock.writing.write import append, write
from penstock.writing.writer import Writer

__all__ = ["Writer", "abort", "append", "commit", "write"]
