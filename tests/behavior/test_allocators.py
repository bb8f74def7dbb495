"""The caller may provide the memory of dense columns."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock import _core

SCHEMA = ps.Schema({"x": ps.Feature("float32", (3,)), "n": "int64", "t": ps.Feature("int64", (None,)), "s": "bytes"})
ROWS = 700


@pytest.fixture(scope="module")
def records() -> list[bytes]:
    rng = np.random.default_rng(1)
    lengths = np.arange(ROWS) % 5
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    views = np.zeros((ROWS, 4), np.int32)
    columns = [
        _core.EncodeColumn("x", "float32", rng.normal(size=(ROWS, 3)).astype(np.float32), count=3),
        _core.EncodeColumn("n", "int64", np.arange(ROWS)),
        _core.EncodeColumn("t", "int64", np.arange(offsets[-1]), offsets=offsets),
        _core.EncodeColumn("s", "view", views),
    ]
    frames = _core.FrameBuffer()
    _core.encode_rows(columns, ROWS, 0, 1 << 30, frames)
    stream = _core.StreamRecords()
    (chunk,) = stream.feed(frames.take())
    return list(chunk)


def test_columns_are_decoded_into_the_memory_that_is_given(records: list[bytes]):
    x = np.full((ROWS, 3), np.nan, np.float32)
    batch = ps.Decoder(SCHEMA).decode(records, out={"x": x})
    assert batch["x"] is x
    assert np.array_equal(x, ps.Decoder(SCHEMA).decode(records)["x"])


def test_an_allocator_makes_every_dense_column_of_numbers(records: list[bytes]):
    made: dict[str, np.ndarray] = {}

    def allocate(name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        made[name] = np.empty(shape, dtype)
        return made[name]

    batch = ps.Decoder(SCHEMA).decode(records, allocate=allocate)
    assert set(made) == {"x", "n"}
    assert batch["n"] is made["n"]
    assert np.array_equal(made["n"], np.arange(ROWS))


def test_an_allocator_serves_batches_that_are_decoded_ahead(records: list[bytes]):
    made = []

    def allocate(name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        made.append(np.empty(shape, dtype))
        return made[-1]

    chunk = _core.chunk_from_records(records)
    decoder = ps.Decoder(SCHEMA, columns=["n"])
    batches = list(decoder.decode_batches([chunk], 64, allocate=allocate))
    assert all(batch["n"] is array for batch, array in zip(batches, made, strict=True))
    assert np.array_equal(np.concatenate(made), np.arange(ROWS))


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("x", np.empty((ROWS, 3)), "must be float32"),
        ("x", np.empty((ROWS - 1, 3), np.float32), "must be float32"),
        ("x", np.empty((3, ROWS), np.float32).T, "C-contiguous"),
        ("n", np.broadcast_to(np.int64(0), (ROWS,)), "C-contiguous and writable"),
        ("t", np.empty(ROWS, np.int64), "dense columns of numbers"),
        ("s", np.empty(ROWS, object), "dense columns of numbers"),
        ("y", np.empty(ROWS, np.int64), "which is not decoded"),
    ],
)
def test_memory_that_does_not_fit_raises(records: list[bytes], name: str, array: np.ndarray, message: str):
    with pytest.raises(ValueError, match=message):
        ps.Decoder(SCHEMA).decode(records, out={name: array})
