"""Ray reads and writes each row once, whatever is cut, retried or killed; a failed write leaves nothing."""

from __future__ import annotations

import doctest
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import ray

import penstock as ps
import penstock.ray

ROWS = 300


@pytest.fixture(scope="module", autouse=True)
def _cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dataset of one file whose payloads hold whole TFRecord files, frames and all."""
    folder = tmp_path_factory.mktemp("data")
    with ps.RecordWriter(folder / "inner.tfrecord") as writer:
        for i in range(5):
            writer.write(bytes(i))
    inner = (folder / "inner.tfrecord").read_bytes()
    rng = np.random.default_rng(0)
    ps.write(
        folder / "train",
        {
            "id": np.arange(ROWS),
            "x": np.arange(ROWS * 12, dtype=np.float32).reshape(ROWS, 3, 4),
            "nested": [inner * int(rng.integers(0, 4)) for _ in range(ROWS)],
            "tokens": [list(range(i % 4)) for i in range(ROWS)],
        },
        schema=ps.Schema(
            {"id": int, "x": ps.Feature("float32", (3, 4)), "nested": bytes, "tokens": ps.Feature(int, (None,))}
        ),
    )
    return folder / "train"


def ids(ds: ray.data.Dataset) -> list[int]:
    return sorted(row["id"] for row in ds.take_all())


def visible(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@pytest.mark.parametrize("parallelism", [1, 8, 50])
def test_tasks_share_one_file_and_read_each_record_once(data: Path, parallelism: int):
    source = penstock.ray.PenstockDatasource(data)
    assert 0.9 * parallelism <= len(source.get_read_tasks(parallelism)) <= parallelism
    ds = penstock.ray.read(data, parallelism=parallelism)
    assert ids(ds) == list(range(ROWS))


def test_dense_columns_arrive_as_arrays(data: Path):
    [batch] = penstock.ray.read(data, columns=["x", "id"]).sort("id").limit(2).iter_batches(batch_format="numpy")
    np.testing.assert_array_equal(batch["x"], np.arange(24, dtype=np.float32).reshape(2, 3, 4))


def test_columns_that_are_not_selected_are_not_decoded(data: Path):
    wrong = ps.Schema({"id": int, "tokens": ps.Feature("float32", (7,))})  # decoding tokens would raise
    ds = penstock.ray.read(data, schema=wrong).select_columns(["id"])
    assert ds.sum("id") == sum(range(ROWS))
    assert penstock.ray.read(data, columns=["tokens"]).schema().names == ["tokens"]


def test_count_and_limit(data: Path):
    ds = penstock.ray.read(data, parallelism=4)
    assert ds.count() == ROWS
    assert len(ds.limit(7).take_all()) == 7


def test_damage_names_the_record(data: Path, tmp_path: Path):
    source = ps.Dataset(data).files[0]
    copy = tmp_path / "damaged.tfrecord"
    content = bytearray(Path(source).read_bytes())
    content[-10] ^= 1
    copy.write_bytes(content)
    schema = ps.Dataset(data).schema
    with pytest.raises(Exception, match=f"record {ROWS - 1}"):
        penstock.ray.read(copy, schema=schema, parallelism=3).materialize()
    assert ids(penstock.ray.read(copy, schema=schema, parallelism=3, on_error="skip")) == list(range(ROWS - 1))


def test_a_round_trip_returns_every_value(data: Path, tmp_path: Path):
    manifest = penstock.ray.write(penstock.ray.read(data, parallelism=5), tmp_path / "copy", compression="GZIP")
    assert (manifest.records, len(manifest.shards)) == (ROWS, 5)
    assert manifest.verify(tmp_path) == []
    assert ps.Dataset(tmp_path / "copy").schema["x"].shape == (3, 4)
    before, after = (ps.Dataset(path).to_arrow() for path in (data, tmp_path / "copy"))
    assert after.select(before.column_names).cast(before.schema) == before


def test_arrays_of_map_batches_are_written_as_dense_columns(tmp_path: Path):
    ds = ray.data.range(10).map_batches(lambda batch: {"id": batch["id"], "t": np.ones((len(batch["id"]), 2, 3))})
    penstock.ray.write(ds, tmp_path / "dense", float64="float32")
    assert ps.Dataset(tmp_path / "dense").schema["t"].shape == (2, 3)


def test_values_absent_in_one_block_make_the_column_optional_in_all(tmp_path: Path):
    tables = [pa.table({"x": [1, 2]}), pa.table({"x": pa.array([None, 4], pa.int64())})]
    penstock.ray.write(ray.data.from_arrow(tables), tmp_path / "some")
    assert [row["x"] for row in ps.Dataset(tmp_path / "some")] == [1, 2, None, 4]


def test_a_task_whose_worker_is_killed_is_written_once(tmp_path: Path):
    calm = penstock.ray.write(ray.data.range(100, override_num_blocks=4), tmp_path / "calm")

    def die_once(batch: dict) -> dict:
        marker = tmp_path / f"died-{batch['id'][0]}"
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), 9)
        return batch

    ds = ray.data.range(100, override_num_blocks=4).map_batches(die_once)
    again = penstock.ray.write(ds, tmp_path / "killed")
    assert again.records == 100
    assert sorted(shard.crc32c for shard in again.shards) == sorted(shard.crc32c for shard in calm.shards)
    assert ids(penstock.ray.read(tmp_path / "killed")) == list(range(100))
    assert not [name for name in visible(tmp_path) if ".part-" in name]


def test_a_failed_job_leaves_nothing(tmp_path: Path):
    def fail(batch: dict) -> dict:
        if 99 in batch["id"]:
            raise ValueError("on purpose")
        return batch

    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(Exception, match="on purpose"):
        penstock.ray.write(ray.data.range(100, override_num_blocks=4).map_batches(fail), folder / "train")
    assert visible(folder) == []


def test_an_existing_dataset_is_replaced_only_when_asked(data: Path, tmp_path: Path):
    penstock.ray.write(ray.data.range(3), tmp_path / "train")
    with pytest.raises(FileExistsError):
        penstock.ray.write(ray.data.range(4), tmp_path / "train")
    assert penstock.ray.write(ray.data.range(4), tmp_path / "train", replace=True).records == 4


@pytest.mark.parametrize("name", penstock.ray.__all__)
def test_examples_in_docstrings_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    ps.write("train", {"x": np.arange(100, dtype=np.float32), "label": np.arange(100)}, shards=2)
    names = {"ps": ps, "penstock": penstock, "ray": ray}
    [example] = doctest.DocTestFinder(recurse=False).find(getattr(penstock.ray, name), name, globs=names)
    assert example.examples
    printed: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=printed.append)
    assert not printed, "".join(printed)
