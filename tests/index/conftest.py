"""A cache folder of its own for every test, and files to index."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import penstock as ps

RECORDS = [b"x" * (i * 37 % 501) for i in range(5000)]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write records to a file; answer its path."""

    def write(name: str, records: Iterable[bytes] = RECORDS) -> Path:
        with ps.RecordWriter(tmp_path / name) as writer:
            writer.write_many(records)
        return tmp_path / name

    return write
