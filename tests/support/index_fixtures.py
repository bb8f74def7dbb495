"""Files to index, and the cache folder that their indexes go to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import penstock as ps

RECORDS = [b"x" * (i * 37 % 501) for i in range(5000)]


@pytest.fixture
def cache() -> Path:
    return Path(os.environ["PENSTOCK_CACHE"])


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write records to a file; return its path."""

    def write(name: str, records: Iterable[bytes] = RECORDS) -> Path:
        with ps.RecordWriter(tmp_path / name) as writer:
            writer.write_many(records)
        return tmp_path / name

    return write
