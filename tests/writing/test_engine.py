"""Which shard each row goes to: in order, of the sizes that were asked for."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from manifest_reading import values

import penstock as ps

LIGHT, HEAVY = b"x", b"x" * 200_000

SIZES = {"grow": [LIGHT] * 600 + [HEAVY] * 100, "shrink": [HEAVY] * 60 + [LIGHT] * 2000}

SOURCES: dict[str, Callable[[int], Any]] = {
    "columns": lambda rows: {"x": np.arange(rows)},
    "Arrow table": lambda rows: pa.table({"x": pa.array(range(rows), pa.int64())}),
    "list of rows": lambda rows: [{"x": x} for x in range(rows)],
    "list of tables": lambda rows: [
        pa.table({"x": pa.array(part, pa.int64())}) for part in (range(rows // 2), range(rows // 2, rows))
    ],
    "generator": lambda rows: ({"x": x} for x in range(rows)),
    "Arrow reader": lambda rows: pa.table({"x": pa.array(range(rows), pa.int64())}).to_reader(max_chunksize=97),
}


def names(folder: str | Path) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("at_once", [True, False])
def test_rows_of_changing_size_are_all_written_once(tmp_path: Path, sizes: str, shards: int, at_once: bool):
    rows = [{"x": number, "data": data} for number, data in enumerate(SIZES[sizes])]
    with ps.Writer(tmp_path / "set", shards=shards) as writer:
        if at_once:
            writer.write_rows(rows)
        else:
            for row in rows:
                writer.write(row)
    assert values(tmp_path, writer.manifest) == list(range(len(rows)))


@settings(max_examples=60, deadline=None)
@given(
    source=st.sampled_from(list(SOURCES)),
    rows=st.integers(0, 400),
    option=st.sampled_from(["shards", "rows_per_shard", "shard_bytes"]),
    size=st.integers(1, 120),
    compression=st.sampled_from(["", "GZIP", "ZLIB", "SNAPPY"]),
    mapped=st.booleans(),
)
def test_rows_come_back_in_order(source: str, rows: int, option: str, size: int, compression: str, mapped: bool):
    size = size * 20 if option == "shard_bytes" else size
    with tempfile.TemporaryDirectory() as folder:
        manifest = ps.write(
            f"{folder}/data",
            SOURCES[source](rows),
            schema=ps.Schema({"x": int}),
            compression=compression,
            map=dict if mapped else None,
            **{option: size},
        )
        assert values(folder, manifest) == list(range(rows))
        by_name = [record for name in names(folder)[:-1] for record in ps.RecordReader(f"{folder}/{name}")]
        assert by_name == ps.Encoder(manifest.schema).encode([{"x": x} for x in range(rows)])
        counts = [shard.records for shard in manifest.shards]
        if option == "shards":
            assert len(counts) == size
            assert max(counts) - min(counts) <= 1
        elif option == "rows_per_shard":
            assert counts == [size] * (rows // size) + [rows % size] * (rows % size > 0 or not rows)


def test_a_shard_ends_with_the_row_that_brings_it_to_its_size(tmp_path: Path):
    rows = [{"x": x, "data": bytes(x % 1000)} for x in range(3000)]
    manifest = ps.write(tmp_path / "data", iter(rows), shard_bytes="0.1MB")
    assert len(manifest.shards) > 10
    for shard in manifest.shards[:-1]:
        *_, last = ps.RecordReader(tmp_path / shard.name)
        assert shard.bytes - len(last) - 16 < 100_000 <= shard.bytes
    table = ps.write(tmp_path / "table", pa.Table.from_pylist(rows), schema=manifest.schema, shard_bytes=100_000)
    packed = ps.write(tmp_path / "packed", rows, shard_bytes=100_000, compression="GZIP")
    counts = [shard.records for shard in manifest.shards]
    assert [shard.records for shard in table.shards] == counts
    assert [shard.records for shard in packed.shards] == counts  # measured before compression


def test_shards_of_unknown_number_get_their_names_in_the_end(tmp_path: Path):
    ps.write(tmp_path / "data", ({"x": x} for x in range(7)), rows_per_shard=3)
    expected = [f"data-{number:05d}-of-00003.tfrecord" for number in range(3)]
    assert names(tmp_path) == [*expected, "data.penstock.json"]
    manifest = ps.write("memory://numbers/data", ({"x": x} for x in range(7)), rows_per_shard=3)
    assert [shard.name for shard in manifest.shards] == expected
    assert manifest.verify("memory://numbers") == []
    assert values("memory://numbers", manifest) == list(range(7))


@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_a_copy_of_a_dataset_has_its_order(tmp_path: Path, compression: str):
    ps.write(tmp_path / "data", {"x": np.arange(1000)}, shards=3)
    ds = ps.Dataset(tmp_path / "data")
    for name, (data, rows) in {
        "copy": (ds, range(1000)),
        "shuffled": (ds.shuffle(seed=3), [int(row["x"]) for row in ds.shuffle(seed=3)]),
        "filtered": (ds.filter(lambda row: row["x"] % 3 == 0), range(0, 1000, 3)),
        "batched": (ds.batch(7), range(1000)),
        "mapped": (ds.map(lambda row: {"x": row["x"] + 1}), range(1, 1001)),
        "joined": (ds.concat(ds), [*range(1000), *range(1000)]),
        "part": (ds.skip(10).take(100), range(10, 110)),
    }.items():
        manifest = ps.write(tmp_path / name, data, shards=4, compression=compression)
        assert values(tmp_path, manifest) == list(rows)
        counts = [shard.records for shard in manifest.shards]
        assert max(counts) - min(counts) <= 1


def test_rows_of_parquet_keep_their_order(tmp_path: Path):
    pq.write_table(pa.table({"x": range(10_000)}), tmp_path / "x.parquet", row_group_size=777)
    batches = pq.ParquetFile(tmp_path / "x.parquet").iter_batches(batch_size=500)
    assert values(tmp_path, ps.write(tmp_path / "data", batches, shards=3)) == list(range(10_000))


def test_only_a_shuffled_stream_is_dealt(tmp_path: Path):
    manifest = ps.write(tmp_path / "data", ({"x": x} for x in range(1000)), shards=4, shuffle=1)
    found = values(tmp_path, manifest)
    assert sorted(found) == list(range(1000)) != found
    assert [shard.records for shard in manifest.shards] == [250] * 4
