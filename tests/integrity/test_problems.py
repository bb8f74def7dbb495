"""What is wrong with a file: the likely cause of damage, and errors as problems."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

import penstock as ps
from penstock.integrity.problems import problem_of

DAMAGE = {
    "bit rot": lambda data: data[:100] + b"?" + data[101:],
    "missing bytes": lambda data: data[:900] + data[1200:],
    "appended bytes": lambda data: data + random.Random(2).randbytes(300),
    "overwritten, missing or extra bytes": lambda data: data[:1000] + random.Random(2).randbytes(900) + data[1900:],
    "copied as text": lambda data: data.replace(b"\n", b"\r\n"),
    "zero-filled block": lambda data: data[:1000] + bytes(1500) + data[2500:],
    "torn tail": lambda data: data[:-3],
    "not a TFRecord": lambda data: b"<html>" + data,
    "truncated": lambda data: gzip.compress(data)[:-100],
}

MORE_DAMAGE = [
    ("bit rot", lambda data: data[:416] + bytes([data[416] ^ 1]) + data[417:]),  # a length
    ("bit rot", lambda data: data[:416] + b"another 12 b" + data[428:]),  # a whole header, the payload is good
    ("bit rot", lambda data: data[:500] + b"some bytes of a payload" + data[523:]),
    ("missing bytes", lambda data: data[: 18 * 416 + 200] + data[19 * 416 :]),  # its header claims the file's end
    ("overwritten, missing or extra bytes", lambda data: data[:1000] + b"some too many" + data[1000:]),
    ("overwritten, missing or extra bytes", lambda data: data[:822] + data[842:]),  # of two records
    ("appended bytes", lambda data: data + b"log: the copy is complete\n"),
]


@pytest.mark.parametrize(("cause", "damage"), [*DAMAGE.items(), *MORE_DAMAGE])
def test_the_likely_cause_is_named(folder: Path, write_records, cause: str, damage):
    seeded = random.Random(1)
    name = write_records("large.tfrecord", [seeded.randbytes(400) for _ in range(20)])
    (folder / name).write_bytes(damage((folder / name).read_bytes()))
    report = ps.verify(name)
    assert report.problems[0].damage == cause
    saved = json.loads(report.to_json())["files"][0]["saved"]
    assert sum(saved.values()) == report.records


def test_a_wrong_compression_is_named(folder):
    (problem,) = ps.verify("good.tfrecord.gz", compression="").problems
    assert problem.damage == "wrong compression"
    assert problem.cause.endswith("this is GZIP data")


def test_files_that_are_not_tfrecords_are_named(folder: Path):
    (folder / "page.tfrecord").write_text("<!doctype html><title>404</title>")
    (folder / "pointer.tfrecord").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\n")
    page, pointer = ps.verify(["page.tfrecord", "pointer.tfrecord"]).problems
    assert "an HTML or XML page" in page.cause
    assert "git lfs pull" in pointer.cause


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (FileNotFoundError(2, "No such file or directory", "god.tfrecord"), "did you mean good.tfrecord?"),
        (PermissionError(13, "Permission denied", "good.tfrecord"), "good.tfrecord: no permission to read it"),
        (
            OSError(28, "No space left on device", ".new.tfrecord.0123abcd.partial"),
            "new.tfrecord: it cannot be written: ",
        ),
        (ps.NotSeekableError("one stream", path="x.gz"), "x.gz: it is one compressed stream"),
        (ps.SchemaError("no such feature"), "no such feature"),
        (KeyError("bucket"), "'bucket' (KeyError)"),
    ],
)
def test_an_error_becomes_a_problem_that_has_it(folder: Path, error: Exception, text: str):
    problem = problem_of("god.tfrecord" if isinstance(error, FileNotFoundError) else "x", error)
    assert text in str(problem)
    assert problem.error is error
    assert "error" not in problem._document()
