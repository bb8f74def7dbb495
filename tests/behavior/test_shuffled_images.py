"""Rows of many bytes, shuffled: they are decoded in the order of the files, each to its place in its batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import framing
import numpy as np
import pytest

import penstock as ps

ROWS = 150
RNG = np.random.default_rng(0)
COLUMNS: dict[str, Any] = {
    "image": RNG.integers(0, 256, (ROWS, 29, 31), np.uint8),  # no row but the first starts with a cache line
    "floats": RNG.normal(size=(ROWS, 300)).astype(np.float32),
    "label": np.arange(ROWS),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ps.write(tmp_path / "data", COLUMNS, shards=2)
    return tmp_path


def assert_same(batch: Any, columns: dict[str, Any], rows: Any) -> None:
    for name, column in columns.items():
        np.testing.assert_array_equal(batch[name], column[rows])


def test_every_row_comes_once_with_its_own_values(folder: Path):
    ds = ps.Dataset(folder).shuffle(seed=7).batch(16)
    for _ in range(2):
        batches = list(ds)
        assert sorted(np.concatenate([batch["label"] for batch in batches])) == list(range(ROWS))
        for batch in batches:
            assert_same(batch, COLUMNS, batch["label"])


def test_rows_that_are_larger_than_a_read_are_whole(tmp_path: Path):
    columns = {"image": RNG.integers(0, 256, (9, 300_007), np.uint8), "label": np.arange(9)}
    ps.write(tmp_path / "data", columns)
    for batch in ps.Dataset(tmp_path).shuffle(seed=1).batch(2):
        assert_same(batch, columns, batch["label"])


def test_values_that_are_absent_are_so_in_their_own_rows(tmp_path: Path):
    schema = ps.Schema({"image": ps.Feature("uint8", (30, 30), optional=True), "label": ps.Feature("int64")})
    image = COLUMNS["image"][0, :30, :30].copy()
    image.resize(30, 30)
    rows = [{"label": n} if n % 30 == 0 else {"image": image, "label": n} for n in range(60)]
    ps.write(tmp_path / "data", rows, schema=schema)
    for row in ps.Dataset(tmp_path).shuffle(seed=1):
        if row["label"] % 30 == 0:
            assert row["image"] is None
        else:
            np.testing.assert_array_equal(row["image"], image)


def test_a_pass_goes_on_from_every_step(folder: Path):
    ds = ps.Dataset(folder).shuffle(seed=7).batch(40)
    whole = [batch["label"].tolist() for batch in ds]
    for step in range(len(whole)):
        resumed = iter(ps.Dataset(folder).shuffle(seed=7).batch(40))
        it = iter(ps.Dataset(folder).shuffle(seed=7).batch(40))
        for _ in range(step):
            next(it)
        resumed.load_state_dict(it.state_dict())
        assert [batch["label"].tolist() for batch in resumed] == whole[step:]


def test_damage_is_named_and_costs_its_own_row_alone(folder: Path):
    path = folder / "data-00000-of-00002.tfrecord"
    path.write_bytes(framing.flip(path.read_bytes(), 1000))
    with pytest.raises(ps.CorruptDataError, match="record 0"):
        list(ps.Dataset(folder, schema=ps.Dataset(folder).schema).shuffle(seed=7).batch(16))
    with pytest.warns(UserWarning, match="1 record"):
        labels = [row["label"] for row in ps.Dataset(folder, on_error="skip").shuffle(seed=7)]
    assert sorted(labels) == list(range(1, ROWS))


def test_a_row_that_does_not_fit_the_schema_is_named(folder: Path):
    schema = ps.Schema({"image": ps.Feature("uint8", (29, 30), encoding="raw"), "label": ps.Feature("int64")})
    with pytest.raises(ps.MalformedExampleError, match=r"expected 870 raw bytes, found 899.*record \d+"):
        list(ps.Dataset(folder, schema=schema).shuffle(seed=7).batch(16))


def test_a_file_that_is_cut_short_under_way_is_an_error(folder: Path):
    ds = ps.Dataset(folder)
    assert len(ds) == ROWS
    ds[0]  # the index is there
    path = folder / "data-00001-of-00002.tfrecord"
    path.write_bytes(path.read_bytes()[:-5000])
    with pytest.raises(ps.CorruptDataError):
        list(ds.shuffle(seed=7).batch(16))
