"""What stats finds of a feature, compared with NumPy: also where files, chunks and threads divide the records."""

from __future__ import annotations

import collections
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from png_files import png
from schema_examples import example

import penstock as ps
from penstock.inspect.feature_stats import FeatureStats

ROWS = 30_000


def stats_of(path: Path | str, **options: Any) -> dict[str, FeatureStats]:
    report = ps.stats(path, **options)
    assert report.ok, str(report)
    assert json.loads(report.to_json())
    return report.features


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    rng = np.random.default_rng(3)
    columns: dict[str, Any] = {
        "label": rng.zipf(1.5, ROWS).clip(max=900),
        "many": rng.permutation(ROWS),
        "score": rng.normal(0, 100, ROWS).astype(np.float32),
        "pixels": rng.integers(0, 256, (ROWS, 50), np.uint8),
        "name": [f"name {number}" for number in rng.integers(0, 50, ROWS)],
    }
    path = tmp_path_factory.mktemp("table")
    ps.write(path / "table", columns, shards=3, progress=False)
    return path / "table", columns


def test_ranges_and_histograms_equal_those_of_numpy(table: tuple[Path, dict[str, Any]]):
    path, columns = table
    found = stats_of(path)
    for name in ("label", "many", "score", "pixels"):
        values, column = found[name].values, columns[name]
        assert (values.count, values.min, values.max) == (column.size, column.min(), column.max())
        assert values.mean == pytest.approx(column.mean(dtype=np.float64))
        document = found[name].histogram._document()
        assert document is not None
        edges = document["start"] + document["width"] * np.arange(len(document["counts"]) + 1)
        bins = np.searchsorted(edges, column.reshape(-1), side="right") - 1
        assert np.bincount(bins, minlength=len(edges) - 1).tolist() == document["counts"]
    assert found["pixels"].lengths.min == found["pixels"].lengths.max == 50


def test_values_are_counted_exactly_up_to_a_bound(table: tuple[Path, dict[str, Any]]):
    path, columns = table
    found = stats_of(path)
    for name in ("label", "name"):
        counts = collections.Counter(columns[name] if name == "name" else columns[name].tolist())
        frequencies = found[name].frequencies
        assert frequencies is not None
        assert (frequencies.exact, frequencies.distinct) == (True, len(counts))
        assert [count for _, count in frequencies.top] == [count for _, count in counts.most_common(10)]
        assert all(counts[value] == count for value, count in frequencies.top)
    assert found["score"].frequencies is None
    assert found["pixels"].frequencies is None


def test_more_distinct_values_are_estimated(table: tuple[Path, dict[str, Any]]):
    frequencies = stats_of(table[0])["many"].frequencies
    assert frequencies is not None
    assert not frequencies.exact
    assert abs(frequencies.distinct - ROWS) < ROWS * 0.1
    assert str(frequencies).startswith("about ")


def test_a_frequent_value_among_many_is_found(write_records):
    write_records("x.tfrecord", [example(a=7 if i % 3 else i) for i in range(60_000)])
    frequencies = stats_of("x.tfrecord")["a"].frequencies
    assert frequencies is not None
    value, count = frequencies.top[0]
    assert (value, frequencies.exact) == (7, False)
    assert abs(count - 40_000) < 4_000


def test_pictures_have_formats_and_sizes(write_records):
    pictures = [png(7, height, bytes(7 * height)) for height in (5, 9)]
    jpeg = bytes.fromhex("ffd8ffe000104a46494600010100000100010000ffc0000b080010002001011100")
    write_records("x.tfrecord", [example(a=data) for data in [*pictures, jpeg, b"no picture"]])
    found = stats_of("x.tfrecord")["a"].pictures
    assert found is not None
    assert found.formats == {"jpeg": 1, "png": 2}
    assert (found.heights.min, found.heights.max, found.widths.min, found.widths.max) == (5, 16, 7, 32)


def test_records_that_differ_in_their_counts_are_summed_up_with_the_others(write_records):
    rows = [example(a=[1, 2, 3] if i % 2_000 == 1_999 else i % 5, b="x" * (i % 200)) for i in range(9_000)]
    write_records("x.tfrecord", rows)
    found = stats_of("x.tfrecord")
    assert (found["a"].rows, found["a"].values.count, found["a"].lengths.max) == (9_000, 9_008, 3)
    assert found["b"].frequencies is None  # some values are long


def test_a_gzip_file_has_the_statistics_of_a_plain_one(write_records, tmp_path: Path):
    rows = [example(a=i % 7, b=float(i)) for i in range(5_000)]
    write_records("x.tfrecord", rows)
    with ps.RecordWriter("x.tfrecord.gz", compression="GZIP") as writer:
        writer.write_many(list(ps.RecordReader("x.tfrecord")))
    plain, gzip = (ps.stats(path)._document() for path in ("x.tfrecord", "x.tfrecord.gz"))
    assert plain["features"] == gzip["features"]
