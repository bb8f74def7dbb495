"""Run the command in this process, in a folder with a few files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import penstock as ps
from penstock.cli import main

RECORDS = [b"record %d" % i for i in range(10)]

Run = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a good plain file and a good gzip file of the same ten records."""
    monkeypatch.chdir(tmp_path)
    for name in ("good.tfrecord", "good.tfrecord.gz"):
        with ps.RecordWriter(name) as writer:
            writer.write_many(RECORDS)
    return tmp_path


@pytest.fixture
def penstock(folder: Path) -> Run:
    """Call the command line; the result has exit_code, stdout and stderr."""

    def run(*arguments: str) -> Result:
        # Exceptions that click does not handle would be a traceback for the user.
        return CliRunner().invoke(main, arguments, catch_exceptions=False)

    return run


@pytest.fixture
def damaged(folder: Path) -> str:
    """The good file with one bit of record 3's payload changed, and its last five bytes cut off."""
    data = bytearray((folder / "good.tfrecord").read_bytes())
    data[3 * (16 + 8) + 12] ^= 1
    (folder / "damaged.tfrecord").write_bytes(data[:-5])
    return "damaged.tfrecord"


@pytest.fixture
def write_records(folder: Path) -> Callable[..., str]:
    """Write payloads to a file in the working directory; return its name."""

    def write_records(name: str, payloads: Iterable[bytes]) -> str:
        with ps.RecordWriter(name) as writer:
            writer.write_many(payloads)
        return name

    return write_records
