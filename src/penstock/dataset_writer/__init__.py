"""Writes data sets: shards of even size, and the manifest that says what is in them."""

from __future__ import annotations

from penstock.dataset_writer.joined import commit
from penstock.dataset_writer.one_call import write
from penstock.dataset_writer.writer import Writer

__all__ = ["Writer", "commit", "write"]
