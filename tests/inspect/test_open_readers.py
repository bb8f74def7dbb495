"""Files that are read twice, pipes included."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import penstock as ps
from penstock.inspect.open_readers import PipeReader, open_readers


def test_missing_files_are_problems(folder):
    readers, problems = open_readers(["good.tfrecord", "gone.tfrecord"])
    assert [reader.path for reader in readers] == ["good.tfrecord"]
    assert [(problem.path, problem.kind) for problem in problems] == [("gone.tfrecord", "not-found")]


def test_standard_input_is_named_once():
    with pytest.raises(ValueError, match="standard input can be read once"):
        open_readers(["-", "-"])


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="needs pipes that have names")
@pytest.mark.parametrize("taken", [0, 1, 10])
def test_a_pipe_can_be_read_again_from_its_start(folder: Path, taken: int):
    read_end, write_end = os.pipe()
    with open(write_end, "wb") as pipe:
        pipe.write((folder / "good.tfrecord").read_bytes())
    (reader,), _ = open_readers(f"/dev/fd/{read_end}")
    assert isinstance(reader, PipeReader)
    records = iter(reader)
    for _ in range(taken):
        next(records)
    assert list(reader) == list(ps.RecordReader("good.tfrecord"))
    os.close(read_end)
