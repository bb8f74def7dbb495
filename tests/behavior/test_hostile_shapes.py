"""Shapes that no record fills: nothing is allocated for them, and the error names the record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from png_files import png

import penstock as ps
from penstock.errors import MalformedExampleError

SHAPES = [(1 << 31,), (1 << 16, 1 << 15), (1 << 40,)]
resource = pytest.importorskip("resource")
ROWS = 40
LARGE = ((8 << 20) + 1,)
"""More than 64 MiB of int64."""


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Let allocations fail that are larger than 2 GiB."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 30), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def _write(path: Path, values) -> Path:
    with ps.RecordWriter(path) as writer:
        schema = ps.Schema({"a": ps.Feature("bytes") if isinstance(values[0], bytes) else ps.Feature("int64", (2,))})
        for record in ps.Encoder(schema).encode({"a": values}):
            writer.write(record)
    return path


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is limited by what Linux reports")
@pytest.mark.parametrize("optional", [False, True], ids=["required", "optional"])
@pytest.mark.parametrize("encoding", ["list", "raw", "tensor", "image"])
def test_a_shape_that_no_record_fills_takes_no_memory(tmp_path, little_memory, encoding, optional):
    path = _write(tmp_path / "data.tfrecord", [[1, 2]] * ROWS if encoding == "list" else [b"\x08\x09"] * ROWS)
    for shape in [(1 << 15, 1 << 15, 3)] if encoding == "image" else SHAPES:
        dtype = "uint8" if encoding == "image" else "int64"
        schema = ps.Schema({"a": ps.Feature(dtype, shape, encoding=encoding, optional=optional)})
        ds = ps.Dataset(path, schema=schema)
        for read in (
            lambda ds=ds: next(iter(ds)),
            lambda ds=ds: next(iter(ds.batch(32))),
            lambda ds=ds: next(iter(ds.shuffle(seed=1).batch(32))),
            lambda ds=ds: ds[0],
            lambda ds=ds: ds[[3, 1]],
            lambda ds=ds, schema=schema: ps.Decoder(schema).decode(ds.records(range(ROWS))),
        ):
            with pytest.raises(MalformedExampleError, match='feature "a"'):
                read()


@pytest.mark.parametrize(("encoding", "dtype"), [("list", "int64"), ("raw", "float64")])
def test_large_rows_that_are_there_are_read(tmp_path, encoding, dtype):
    array = np.arange(LARGE[0], dtype=dtype)
    schema = ps.Schema({"a": ps.Feature(dtype, LARGE, encoding=encoding), "n": int})
    ps.write(tmp_path / "data", {"a": [array], "n": [5]}, schema=schema, progress=False)
    ds = ps.Dataset(tmp_path / "data")
    np.testing.assert_array_equal(ds[0]["a"], array)
    (batch,) = ds.batch(2)
    assert batch["a"].shape == (1, *LARGE)
    np.testing.assert_array_equal(batch["a"][0], array)


def test_large_rows_may_be_absent(tmp_path):
    array = np.arange(LARGE[0], dtype=np.int64)
    schema = ps.Schema({"a": ps.Feature("int64", LARGE, optional=True), "n": int})
    records = ps.Encoder(schema).encode([{"a": None, "n": 1}, {"a": array, "n": 2}])
    column = ps.Decoder(schema).decode(records)["a"]
    assert column.valid.tolist() == [False, True]
    np.testing.assert_array_equal(column.values[1], array)
    assert not column.values[0].any()


def test_large_images_that_are_there_are_read():
    image = np.zeros((8192, 8192, 1), np.uint8)
    image[:, 0] = 7
    file = png(8192, 8192, image.tobytes())
    (record,) = ps.Encoder(ps.Schema({"a": ps.Feature("bytes")})).encode({"a": [file]})
    schema = ps.Schema({"a": ps.Feature("uint8", (8192, 8192, 1), encoding="png")})
    pixels = ps.Decoder(schema).decode([record])["a"]
    np.testing.assert_array_equal(pixels, image[None])
