"""A fork in the middle of reading or writing hangs neither process and costs no file."""

from __future__ import annotations

import os
import sys

import pytest
from processes import run_python

import penstock as ps

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs fork")


@pytest.fixture(params=["", ".gz", ".zlib"])
def path(request, tmp_path):
    return tmp_path / f"some.tfrecord{request.param}"


def write_large(path):
    with ps.RecordWriter(path, level=1) as writer:
        for _ in range(200):
            writer.write(os.urandom(100_000))


def test_a_child_leaves_the_iteration_of_its_parent_and_starts_its_own(path):
    write_large(path)
    code = """
        reader = ps.RecordReader(sys.argv[1], threads=2)
        records = iter(reader)
        next(records)
        child = os.fork()
        if child == 0:
            try:
                list(records)
            except RuntimeError as error:
                assert "cannot cross a fork" in str(error)
                sys.exit(0 if len(list(reader)) == 200 else 1)
            sys.exit(2)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), sum(1 for _ in records))
    """
    assert run_python(code, path) == (0, b"0 199\n", "")


@pytest.mark.parametrize("end", ["sys.exit()", "raise ZeroDivisionError", "writer.close()", "writer.flush()"])
def test_a_child_cannot_harm_the_file_that_its_parent_writes(path, end):
    code = f"""
        with ps.RecordWriter(sys.argv[1]) as writer:
            writer.write_many([os.urandom(100_000) for _ in range(50)])
            child = os.fork()
            if child == 0:
                writer.write(b"of the child")
                {end}
                os._exit(9)
            os.waitpid(child, 0)
            writer.write(b"of the parent")
        print(len(list(ps.RecordReader(sys.argv[1]))), os.listdir(os.path.dirname(sys.argv[1])))
    """
    status, out, _ = run_python(code, path)
    assert (status, out) == (0, f"51 ['{path.name}']\n".encode())


def test_a_child_writes_a_file_of_its_own(path):
    code = """
        writer = ps.RecordWriter(sys.argv[1])
        writer.write_many([os.urandom(100_000) for _ in range(50)])
        child = os.fork()
        if child == 0:
            with ps.RecordWriter(sys.argv[1] + ".child") as own:
                own.write(b"of the child")
            sys.exit()
        os.waitpid(child, 0)
        writer.close()
        print(len(list(ps.RecordReader(sys.argv[1]))), list(ps.RecordReader(sys.argv[1] + ".child")))
    """
    assert run_python(code, path) == (0, b"50 [b'of the child']\n", "")
