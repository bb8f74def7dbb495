"""Batches larger than the nearer caches: what is written around them arrives, wherever rows and steps begin."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from schema_examples import example, sequence_example

import penstock as ps
from penstock import Decoder, Feature, Schema

LARGE = 5 << 18


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [64, 65, 77, 300])
def test_dense_rows_of_any_size_arrive(tmp_path: Path, size: int, threads: int):
    schema = Schema(
        {
            "floats": Feature("float32", (size,)),
            "raw": Feature("uint8", (4 * size + 1,), encoding="raw"),
            "n": Feature("int64"),
        }
    )
    rows = LARGE // (8 * size)
    rng = np.random.default_rng(size)
    floats = rng.random((rows, size), np.float32)
    raw = rng.integers(0, 256, (rows, 4 * size + 1), np.uint8)
    path = tmp_path / "large.tfrecord"
    with ps.RecordWriter(path) as writer:
        writer.write_many(example(floats=floats[i].tolist(), raw=raw[i].tobytes(), n=i) for i in range(rows))
    [batch] = Decoder(schema, threads=threads).decode_files([path], rows)
    np.testing.assert_array_equal(batch["floats"], floats)
    np.testing.assert_array_equal(batch["raw"], raw)
    np.testing.assert_array_equal(batch["n"], np.arange(rows))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [1, 2, 3, 64, 65, 128])
def test_steps_of_any_size_arrive(tmp_path: Path, size: int, threads: int):
    schema = Schema({"n": Feature("int64")}, sequence={"steps": Feature("float32", (size,))})
    steps = 20
    rows = LARGE // (4 * size * steps) if size >= 64 else 50
    floats = np.random.default_rng(size).random((rows, steps, size), np.float32)
    path = tmp_path / "large.tfrecord"
    with ps.RecordWriter(path) as writer:
        writer.write_many(sequence_example({"n": i}, {"steps": row.tolist()}) for i, row in enumerate(floats))
    # Once with places unknown, and once foreseen.
    decoder = Decoder(schema, threads=threads)
    for _ in range(2):
        batches = list(decoder.decode_files([path] * 4, rows))
        for batch in batches:
            column = batch["steps"]
            assert isinstance(column, ps.Ragged)
            assert set(column.lengths) == {steps}
            np.testing.assert_array_equal(np.reshape(column.values, floats.shape), floats)
        assert len(batches) == 4
