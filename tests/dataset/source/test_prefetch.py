"""Coalesced requests: rows are decoded in file order, each into its position in its batch."""

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
    "image": RNG.integers(0, 256, (ROWS, 29, 31), np.uint8),  # only the first row is aligned to a cache line
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


def test_a_shuffle_returns_every_row_once(folder: Path):
    ds = ps.Dataset(folder).shuffle(seed=7).batch(16)
    for _ in range(2):
        batches = list(ds)
        assert sorted(np.concatenate([batch["label"] for batch in batches])) == list(range(ROWS))
        for batch in batches:
            assert_same(batch, COLUMNS, batch["label"])


def test_rows_larger_than_one_read(tmp_path: Path):
    columns = {"image": RNG.integers(0, 256, (9, 300_007), np.uint8), "label": np.arange(9)}
    ps.write(tmp_path / "data", columns)
    for batch in ps.Dataset(tmp_path).shuffle(seed=1).batch(2):
        assert_same(batch, columns, batch["label"])


def test_absent_values_stay_in_their_rows(tmp_path: Path):
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


def test_a_shuffle_resumes_at_every_step(folder: Path):
    ds = ps.Dataset(folder).shuffle(seed=7).batch(40)
    whole = [batch["label"].tolist() for batch in ds]
    for step in range(len(whole)):
        resumed = iter(ps.Dataset(folder).shuffle(seed=7).batch(40))
        it = iter(ps.Dataset(folder).shuffle(seed=7).batch(40))
        for _ in range(step):
            next(it)
        resumed.load_state_dict(it.state_dict())
        assert [batch["label"].tolist() for batch in resumed] == whole[step:]


def test_damage_is_reported_and_affects_only_its_own_row(folder: Path):
    path = folder / "data-00000-of-00002.tfrecord"
    path.write_bytes(framing.flip(path.read_bytes(), 1000))
    with pytest.raises(ps.CorruptDataError, match="record 0"):
        list(ps.Dataset(folder, schema=ps.Dataset(folder).schema).shuffle(seed=7).batch(16))
    with pytest.warns(UserWarning, match="1 record"):
        labels = [row["label"] for row in ps.Dataset(folder, on_error="skip").shuffle(seed=7)]
    assert sorted(labels) == list(range(1, ROWS))


def test_the_error_of_a_malformed_row_names_its_record(folder: Path):
    schema = ps.Schema({"image": ps.Feature("uint8", (29, 30), encoding="raw"), "label": ps.Feature("int64")})
    with pytest.raises(ps.MalformedExampleError, match=r"expected 870 raw bytes, found 899.*record \d+"):
        list(ps.Dataset(folder, schema=schema).shuffle(seed=7).batch(16))


def test_a_file_that_is_truncated_after_indexing_raises(folder: Path):
    ds = ps.Dataset(folder)
    assert len(ds) == ROWS
    ds[0]  # loads the index
    path = folder / "data-00001-of-00002.tfrecord"
    path.write_bytes(path.read_bytes()[:-5000])
    with pytest.raises(ps.CorruptDataError):
        list(ds.shuffle(seed=7).batch(16))


def test_requests_for_rows_of_the_same_gzip_members_are_coalesced(tmp_path: Path):
    schema = ps.Schema({"id": ps.Feature("int64"), "data": ps.Feature("bytes")})
    rows = [{"id": number, "data": bytes([number % 251]) * (number * 37 % 900)} for number in range(3000)]
    ps.write(tmp_path / "train", rows, schema=schema, shards=3, compression="GZIP")
    ds = ps.Dataset(tmp_path / "train")
    chosen = np.random.default_rng(4).integers(0, 3000, 5000).tolist()  # many of them several times
    found = [row for batch in ds.select(chosen).batch(64) for row in batch.to_list()]
    assert found == [rows[number] for number in chosen]
    shuffled = [row for batch in ds.shuffle(seed=2).batch(64) for row in batch.to_list()]
    assert sorted(shuffled, key=lambda row: row["id"]) == rows
