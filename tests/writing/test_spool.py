"""Streams of unknown length: rows keep their order, whatever is written, and nothing else is left."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from manifest_reading import values

import penstock as ps
from penstock.writing import spool

COMPRESSIONS = ["", "GZIP", "ZLIB", "SNAPPY"]


def stream(sizes: list[int]) -> Iterator[dict[str, Any]]:
    return ({"x": number, "data": bytes([number % 256]) * size} for number, size in enumerate(sizes))


def check(folder: Path, manifest: ps.Manifest, rows: int, shards: int) -> None:
    assert values(folder, manifest) == list(range(rows))
    counts = [shard.records for shard in manifest.shards]
    assert len(counts) == shards
    assert max(counts) - min(counts) <= 1
    assert manifest.verify(folder) == []
    assert len(os.listdir(folder)) == shards + 1


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.sampled_from([0, 3, 700, 90_000, 1_500_000]), max_size=40),
    shards=st.integers(1, 7),
    compression=st.sampled_from(COMPRESSIONS),
    run_bytes=st.sampled_from([1, 1 << 20, spool.RUN_BYTES]),
)
def test_any_rows_come_back_in_order(sizes: list[int], shards: int, compression: str, run_bytes: int):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(spool, "RUN_BYTES", run_bytes)
        schema = ps.Schema({"x": int, "data": bytes})
        manifest = ps.write(
            f"{folder}/data", stream(sizes), schema=schema, shards=shards, compression=compression, level=1
        )
        check(Path(folder), manifest, len(sizes), shards)


@settings(max_examples=25, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 3000), max_size=8),
    shards=st.integers(1, 5),
    compression=st.sampled_from(COMPRESSIONS),
)
def test_any_batches_come_back_in_order(lengths: list[int], shards: int, compression: str):
    with tempfile.TemporaryDirectory() as folder:
        starts = np.cumsum([0, *lengths])
        batches = (
            ps.Batch({"x": np.arange(start, stop), "data": np.zeros((stop - start, 50), np.float32)})
            for start, stop in pairwise(starts.tolist())
        )
        schema = ps.Schema({"x": int, "data": ps.Feature("float32", (50,))})
        manifest = ps.write(f"{folder}/data", batches, schema=schema, shards=shards, compression=compression)
        check(Path(folder), manifest, int(starts[-1]), shards)


def test_gzip_members_state_their_records_after_shards_are_cut(tmp_path: Path):
    manifest = ps.write(tmp_path / "data", stream([50_000] * 100), shards=3, compression="GZIP")
    for shard in manifest.shards:
        path = tmp_path / shard.name
        assert ps.RecordReader(path).count() == shard.records
        assert len(list(ps.RecordReader(path))) == shard.records
        with gzip.open(path) as file:  # anybody reads it
            assert len(file.read()) > 50_000 * shard.records


def test_runs_for_a_remote_dataset_are_local_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen = set()

    def rows() -> Iterator[dict[str, Any]]:
        for row in stream([20_000] * 2000):
            seen.update(os.listdir(tmp_path))
            yield row

    try:
        manifest = ps.write("memory://spool/data", rows(), shards=3)
        assert values("memory://spool", manifest) == list(range(2000))
        assert manifest.verify("memory://spool") == []
    finally:
        fsspec.filesystem("memory").rm("/spool", recursive=True)
    assert any("run-00000" in name for name in seen)
    assert os.listdir(tmp_path) == []


def test_a_full_disk_while_shards_are_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    unlink = os.unlink

    def failing(path: str) -> None:
        if "run-00001" in str(path) and os.path.exists(path):
            unlink(path)
            raise OSError(5, "Input/output error", path)
        unlink(path)

    monkeypatch.setattr(spool, "RUN_BYTES", 1 << 20)
    monkeypatch.setattr(os, "unlink", failing)
    with pytest.raises(OSError, match="Input/output"):
        ps.write(tmp_path / "data", stream([100_000] * 100), shards=4)
    assert os.listdir(tmp_path) == []
