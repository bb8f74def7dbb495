"""A cache of its own for each test, and small data sets of every kind of file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import penstock as ps
from numbered import SCHEMA, row_of, write_shards


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="session")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[str]]:
    """Answer the files of a data set of numbered records; the kinds are those of ``write_shards``."""
    made: dict[str, list[str]] = {}

    def make(kind: str) -> list[str]:
        if kind not in made:
            made[kind] = write_shards(tmp_path_factory.mktemp(kind), kind)
        return made[kind]

    return make


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A data set with its manifest."""
    rows = [row_of(number) for number in range(20)]
    ps.write(tmp_path / "set" / "train", rows, schema=SCHEMA, shards=3)
    return tmp_path / "set"
