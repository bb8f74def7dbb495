"""A small dataset of every kind of column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import penstock as ps

ROWS = 200


@pytest.fixture(scope="session")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "train"
    numbers = np.arange(ROWS)
    columns = {
        "image": (numbers[:, None, None] * np.ones((1, 4, 4))).astype(np.uint8),
        "label": numbers,
        "weight": numbers.astype(np.float32) / 2,
        "tokens": [list(range(n % 5)) for n in range(ROWS)],
        "name": [f"number {n}" for n in range(ROWS)],
    }
    ps.write(path, columns, shards=3)
    return path


@pytest.fixture
def dataset(path: Path) -> ps.Dataset:
    return ps.Dataset(path)
