"""Small datasets of every kind of file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from numbered import SCHEMA, row_of, write_shards

import penstock as ps


@pytest.fixture(scope="session")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[str]]:
    """Return the files of a dataset of numbered records; the kinds are those of ``write_shards``."""
    made: dict[str, list[str]] = {}

    def make(kind: str) -> list[str]:
        if kind not in made:
            made[kind] = write_shards(tmp_path_factory.mktemp(kind), kind)
        return made[kind]

    return make


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A dataset with its manifest."""
    rows = [row_of(number) for number in range(20)]
    ps.write(tmp_path / "set" / "train", rows, schema=SCHEMA, shards=3)
    return tmp_path / "set"
