"""Tables on standard output, and as compressed text."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import penstock as ps


@pytest.fixture
def train(folder: Path) -> str:
    ps.write("data/train", {"label": list(range(5))})
    return "data/train"


def test_standard_output_has_json_lines_by_default(train, capfdbinary: pytest.CaptureFixture[bytes]):
    assert ps.convert(train, "-", limit=2).records == 2
    assert [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()] == [{"label": 0}, {"label": 1}]


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv"])
def test_standard_output_has_the_format_that_is_asked_for(train, form, capfdbinary: pytest.CaptureFixture[bytes]):
    ps.convert(train, "-", to=form)
    data = capfdbinary.readouterr().out
    table = {
        "parquet": lambda: pyarrow.parquet.read_table(io.BytesIO(data)),
        "arrow": lambda: pa.ipc.open_file(data).read_all(),
        "csv": lambda: pa.csv.read_csv(io.BytesIO(data)),
    }[form]()
    assert table["label"].to_pylist() == list(range(5))


def test_compressed_text(train, folder: Path):
    ps.convert(train, "x.csv.gz")
    assert gzip.decompress((folder / "x.csv.gz").read_bytes()) == b'"label"\n0\n1\n2\n3\n4\n'


def test_the_format_may_differ_from_the_extension(train, folder: Path):
    ps.convert(train, "x.txt", to="jsonl", limit=1)
    assert (folder / "x.txt").read_text() == '{"label": 0}\n'
