"""Tasks read each row once and in order, wherever files are cut, and a worker needs nothing but the task."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.engines.splits import open_dataset, plan_tasks
from penstock.index.open import open_index

SCHEMA = ps.Schema({"x": int, "blob": bytes})


def records_as_payload(rng: np.random.Generator, rows: int) -> bytes:
    """Return a whole TFRecord file: frames that a search for headers takes for those of the file around it."""
    with ps.RecordWriter("inner.tfrecord") as writer:
        for _ in range(rows):
            writer.write(rng.bytes(int(rng.integers(0, 40))))
    return Path("inner.tfrecord").read_bytes()


def write_nested(path: str, rows: int, **options: object) -> list[int]:
    rng = np.random.default_rng(7)
    blobs = [records_as_payload(rng, int(rng.integers(0, 6))) for _ in range(rows)]
    ps.write(path, {"x": np.arange(rows), "blob": blobs}, schema=SCHEMA, **options)
    return list(range(rows))


def read(tasks: list) -> list[int]:
    """Read tasks as workers do, from their pickles."""
    found: list[int] = []
    for task in pickle.loads(pickle.dumps(tasks)):
        found += [x for batch in task.batches(["x"]) for x in batch["x"].to_pylist()]
    return found


def only_x(row: dict) -> dict:
    return {"x": row["x"]}


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_a_file_cut_at_every_byte_is_read_once_and_in_order(compression):
    expected = write_nested("data", 40, compression=compression)
    [path] = ps.Dataset("data").files
    for count in (1, 2, 7, Path(path).stat().st_size):
        assert read(plan_tasks(open_dataset("data", {}), count)) == expected


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 30), st.integers(1, 4), st.integers(1, 100), st.booleans())
def test_any_number_of_tasks_reads_each_row_once(rows, shards, count, manifest):
    if rows:
        write_nested("data", rows, shards=shards, replace=True)
        source = "data" if manifest else list(ps.Dataset("data").files)
        assert read(plan_tasks(open_dataset(source, {"schema": SCHEMA}), count)) == list(range(rows))


def test_a_large_gzip_file_of_others_is_split_at_restart_points():
    rng = np.random.default_rng(1)
    write_nested("data", 10)
    ps.write("large", {"x": np.arange(4000), "blob": [rng.bytes(1000) for _ in range(4000)]}, schema=SCHEMA)
    [plain] = ps.Dataset("large").files
    Path("foreign.tfrecord.gz").write_bytes(gzip.compress(Path(plain).read_bytes(), 1))
    tasks = plan_tasks(open_dataset("foreign.tfrecord.gz", {"schema": SCHEMA}), 3)
    assert len(tasks) == 3
    assert read(tasks) == list(range(4000))
    assert read(tasks[2:]) == list(range(4000))[-(tasks[2].rows or 0) :]


def test_a_file_of_our_gzip_members_is_split_between_them():
    rng = np.random.default_rng(1)
    blobs = [rng.bytes(2000) for _ in range(3000)]
    ps.write("large", {"x": np.arange(3000), "blob": blobs}, schema=SCHEMA, compression="GZIP")
    tasks = plan_tasks(open_dataset("large", {}), 3)
    assert len(tasks) == 3
    assert read(tasks[1:]) == list(range(3000))[tasks[0].rows :]


def test_a_worker_walks_no_headers_before_its_rows():
    expected = write_nested("data", 600)
    [path] = ps.Dataset("data").files
    tasks = plan_tasks(open_dataset("data", {"index": "none"}), 60)
    assert len(pickle.dumps(tasks[-1])) < len(pickle.dumps(tasks[0])) + 500  # its part of the index, not all of it
    with open(path, "r+b") as file:
        file.write(bytes(100))  # over the headers of the first task
    assert read(tasks[20:]) == expected[sum(task.rows for task in tasks[:20]) :]


def test_errors_of_a_task_count_records_from_the_start_of_the_file():
    write_nested("data", 50)
    [path] = ps.Dataset("data").files
    tasks = plan_tasks(open_dataset("data", {}), 5)
    offset = int(open_index(path).locations([48])[0][0])
    data = bytearray(Path(path).read_bytes())
    data[offset + 12] ^= 1
    Path(path).write_bytes(data)
    with pytest.raises(ps.CorruptDataError) as caught:
        read(tasks)
    assert (caught.value.record, caught.value.offset) == (48, offset)


def test_damage_is_skipped_once_and_all_other_rows_are_read():
    write_nested("data", 50)
    [path] = ps.Dataset("data").files
    offset = int(open_index(path).locations([20])[0][0])
    data = bytearray(Path(path).read_bytes())
    data[offset + 12] ^= 1
    Path(path).write_bytes(data)
    with pytest.warns(UserWarning, match="1 record"):
        found = read(plan_tasks(open_dataset(path, {"schema": SCHEMA, "on_error": "skip"}), 5))
    assert found == [x for x in range(50) if x != 20]


@pytest.mark.parametrize(
    "change",
    [lambda ds: ds[7:31], lambda ds: ds.map(only_x), lambda ds: ds.filter("x >= 0")],
    ids=["slice", "map", "filter"],
)
def test_datasets_with_transforms_are_split_too(change):
    write_nested("data", 50, shards=3)
    ds = change(ps.Dataset("data"))
    assert read(plan_tasks(ds, 6)) == [int(row["x"]) for row in ds]


def test_a_limit_stops_a_task():
    write_nested("data", 50, shards=3)
    [task] = plan_tasks(open_dataset("data", {}), 1)
    assert sum(batch.num_rows for batch in task.batches(limit=20)) == 20


def test_dense_columns_are_tensors_where_asked_for():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    ps.write("dense", {"x": x})
    [task] = plan_tasks(open_dataset("dense", {}), 1, tensors=True)
    [batch] = task.batches()
    np.testing.assert_array_equal(batch["x"].to_numpy_ndarray(), x)
