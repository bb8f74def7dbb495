"""Beam reads and writes each row once, wherever a source is split; a pipeline that fails leaves nothing."""

from __future__ import annotations

import doctest
import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest
from apache_beam.io import source_test_utils
from apache_beam.testing.util import assert_that, equal_to

import penstock as ps
import penstock.beam
from penstock.beam import _Elements, _Source
from penstock.engines.splits import open_dataset, plan_splits

ROWS = 60
SCHEMA = ps.Schema({"id": int, "nested": bytes})


def write_nested(folder: Path, rows: int = ROWS, **options: Any) -> str:
    """Write a dataset of one file whose payloads hold whole TFRecord files, frames and all."""
    with ps.RecordWriter(folder / "inner.tfrecord") as writer:
        for i in range(3):
            writer.write(bytes(i))
    inner = (folder / "inner.tfrecord").read_bytes()
    ps.write(folder / "train", {"id": np.arange(rows), "nested": [inner * (i % 3) for i in range(rows)]}, **options)
    return str(folder / "train")


def source_of(path: str, batch: int | None) -> _Source:
    [split] = plan_splits(open_dataset(path, {}), 1)
    return _Source(split, _Elements(["id"], batch, False))


def ids(elements: Iterable[Any]) -> list[int]:
    found: list[int] = []
    for element in elements:
        found += [element["id"]] if isinstance(element, dict) else element["id"].to_pylist()
    return found


def test_every_dynamic_split_yields_each_row_once(tmp_path: Path):
    source = source_of(write_nested(tmp_path, 12), None)
    source_test_utils.assert_split_at_fraction_exhaustive(source)
    source_test_utils.assert_reentrant_reads_succeed((source, None, None))


@pytest.mark.parametrize("batch", [1, 4, 7])
def test_a_split_at_any_moment_of_batched_reads_yields_each_row_once(tmp_path: Path, batch: int):
    source = source_of(write_nested(tmp_path, 20), batch)
    for read_before in range(20 // batch + 1):
        for position in range(1, 20):
            tracker = source.get_range_tracker(None, None)
            reader = source.read(tracker)
            found = [element for _, element in zip(range(read_before), reader, strict=False)]
            split = tracker.try_split(position)
            found += reader
            if split is not None:
                found += source.read(source.get_range_tracker(split[0], 20))
            assert ids(found) == list(range(20)), (read_before, position)


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_initial_splits_of_every_size_yield_each_row_once(tmp_path: Path, compression: str):
    source = source_of(write_nested(tmp_path, compression=compression), 8)
    for size in (1, 50, 1000, 1 << 30):
        bundles = source.split(size)
        found = [
            e for b in bundles for e in b.source.read(b.source.get_range_tracker(b.start_position, b.stop_position))
        ]
        assert ids(found) == list(range(ROWS))


def test_a_file_without_random_access_is_read_whole(tmp_path: Path):
    write_nested(tmp_path)
    [plain] = tmp_path.glob("train-*")
    (tmp_path / "other.tfrecord.gz").write_bytes(gzip.compress(plain.read_bytes()))
    with beam.Pipeline() as pipeline:
        rows = pipeline | penstock.beam.ReadFromPenstock(tmp_path / "other.tfrecord.gz", schema=SCHEMA, batch=None)
        assert_that(rows | beam.Map(lambda row: row["id"]), equal_to(list(range(ROWS))))


def test_a_pipeline_reads_batches_of_chosen_columns(tmp_path: Path):
    path = write_nested(tmp_path, shards=3)
    with beam.Pipeline() as pipeline:
        batches = pipeline | penstock.beam.ReadFromPenstock(path, columns=["id"], batch=16)
        assert_that(batches | beam.FlatMap(lambda batch: batch["id"].to_pylist()), equal_to(list(range(ROWS))))


def test_read_all_reads_what_elements_name(tmp_path: Path):
    write_nested(tmp_path, shards=3)
    files = [str(path) for path in tmp_path.glob("train-*")]
    with beam.Pipeline() as pipeline:
        rows = pipeline | beam.Create(files) | penstock.beam.ReadAllFromPenstock(batch=None, schema=SCHEMA)
        assert_that(rows | beam.Map(lambda row: row["id"]), equal_to(list(range(ROWS))))


@pytest.mark.parametrize("shards", [None, 1, 4])
@pytest.mark.parametrize("batches", [False, True])
def test_rows_and_batches_are_written_once(tmp_path: Path, shards: int | None, batches: bool):
    elements = [{"id": i, "nested": b"x"} for i in range(100)]
    if batches:
        elements = [pa.RecordBatch.from_pylist(elements[i : i + 10]) for i in range(0, 100, 10)]
    with beam.Pipeline() as pipeline:
        _ = (
            pipeline
            | beam.Create(elements)
            | penstock.beam.WriteToPenstock(str(tmp_path / "out"), schema=SCHEMA, shards=shards)
        )
    ds = ps.Dataset(tmp_path / "out")
    assert sorted(int(row["id"]) for row in ds) == list(range(100))
    assert shards in (None, len(ds.files))
    assert ps.Manifest.load(tmp_path / "out.penstock.json").verify(tmp_path) == []


@pytest.mark.parametrize("batches", [False, True])
@pytest.mark.parametrize("shards", [None, 2])
def test_by_writes_a_dataset_for_each_key(tmp_path: Path, batches: bool, shards: int | None):
    elements = [{"id": i, "nested": b"ab/."[i % 4 : i % 4 + 1]} for i in range(40)]
    if batches:
        elements = [pa.RecordBatch.from_pylist(elements[:20]), pa.RecordBatch.from_pylist(elements[20:])]
    with beam.Pipeline() as pipeline:
        _ = (
            pipeline
            | beam.Create(elements)
            | penstock.beam.WriteToPenstock(
                str(tmp_path / "out"), schema=SCHEMA, shards=shards, by=lambda row: row["id"] % 4
            )
        )
    for key in range(4):
        found = sorted(int(row["id"]) for row in ps.Dataset(tmp_path / "out" / str(key)))
        assert found == list(range(key, 40, 4))


def test_keys_are_names_of_datasets_whatever_they_hold(tmp_path: Path):
    rows = [{"name": name} for name in ("a/b", "..", "x y", "é.tfrecord")]
    with beam.Pipeline() as pipeline:
        _ = (
            pipeline
            | beam.Create(rows)
            | penstock.beam.WriteToPenstock(str(tmp_path / "out"), schema=ps.Schema({"name": str}), by="name")
        )
    assert len(list((tmp_path / "out").glob("*.penstock.json"))) == 4


@pytest.mark.parametrize("batches", [False, True])
def test_rows_of_nan_and_null_are_written(tmp_path: Path, batches: bool):
    keys = pa.array([[float("nan"), None, 1.5][i % 3] for i in range(30)], pa.float32())
    table = pa.table({"id": range(30), "key": keys})
    elements = table.to_batches(max_chunksize=7) if batches else table.to_pylist()
    schema = ps.Schema({"id": int, "key": ps.Feature("float32", optional=True)})
    with beam.Pipeline() as pipeline:
        written = (
            pipeline
            | beam.Create(elements)
            | penstock.beam.WriteToPenstock(str(tmp_path / "out"), schema=schema, shards=2, by="key")
            | beam.MapTuple(lambda key, manifest: (str(key), manifest.records))
        )
        assert_that(written, equal_to([("nan", 10), ("None", 10), ("1.5", 10)]))
    for rest, name in enumerate(["nan", "__HIVE_DEFAULT_PARTITION__", "1%2E5"]):
        assert sorted(int(row["id"]) for row in ps.Dataset(tmp_path / "out" / name)) == list(range(rest, 30, 3))


@pytest.mark.parametrize("shards", [None, 2])
def test_keys_that_share_a_name_are_refused(tmp_path: Path, shards: int | None):
    rows = [{"id": i, "nested": b""} for i in range(8)]
    write = penstock.beam.WriteToPenstock(
        str(tmp_path / "out"), schema=SCHEMA, shards=shards, by=lambda row: [1, "1"][row["id"] // 4]
    )
    with pytest.raises(Exception, match="would share a dataset"), beam.Pipeline() as pipeline:
        _ = pipeline | beam.Create(rows) | write
    assert not list((tmp_path / "out").glob("*.penstock.json"))


def test_nothing_to_write_is_a_dataset_without_rows(tmp_path: Path):
    with beam.Pipeline() as pipeline:
        _ = pipeline | beam.Create([]) | penstock.beam.WriteToPenstock(str(tmp_path / "out"), schema=SCHEMA)
    assert len(ps.Dataset(tmp_path / "out")) == 0


def test_a_failed_pipeline_leaves_nothing_visible(tmp_path: Path):
    def fail(row: dict[str, Any]) -> dict[str, Any]:
        if row["id"] == 90:
            raise ValueError("on purpose")
        return row

    rows = [{"id": i, "nested": b""} for i in range(100)]
    with pytest.raises(Exception, match="on purpose"), beam.Pipeline() as pipeline:
        _ = (
            pipeline
            | beam.Create(rows)
            | beam.Map(fail)
            | penstock.beam.WriteToPenstock(str(tmp_path / "out"), schema=SCHEMA, shards=3)
        )
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == []
    ps.write(tmp_path / "out", rows[:3], schema=SCHEMA, part=0)
    ps.abort(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_bundles_that_fail_twice_are_written_once(tmp_path: Path):
    marker = tmp_path / "attempts"

    def fail_twice(row: dict[str, Any]) -> dict[str, Any]:
        if row["id"] == 50:
            with marker.open("a") as file:
                file.write("x")
            if len(marker.read_text()) < 3:
                raise ValueError("on purpose")
        return row

    rows = [{"id": i, "nested": b""} for i in range(100)]
    options = beam.options.pipeline_options.PipelineOptions(["--runner=BundleBasedDirectRunner"])
    with beam.Pipeline(options=options) as pipeline:
        _ = (
            pipeline
            | beam.Create(rows)
            | beam.Map(fail_twice)
            | penstock.beam.WriteToPenstock(str(tmp_path / "out"), schema=SCHEMA)
        )
    assert marker.read_text() == "xxx"
    assert sorted(int(row["id"]) for row in ps.Dataset(tmp_path / "out")) == list(range(100))


@pytest.mark.parametrize("name", penstock.beam.__all__)
def test_examples_in_docstrings_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    ps.write("train", {"x": np.arange(100, dtype=np.float32), "label": np.arange(100)}, shards=2)
    names = {"ps": ps, "penstock": penstock, "beam": beam}
    [example] = doctest.DocTestFinder(recurse=False).find(getattr(penstock.beam, name), name, globs=names)
    assert example.examples
    printed: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=printed.append)
    assert not printed, "".join(printed)
