"""Threads, open files and memory are given back: at the end, at an early stop, and after an error."""

from __future__ import annotations

import gc
import os
import sys
import time

import framing
import numpy as np
import pytest
from processes import run_python

import penstock as ps

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


def held():
    """Threads and open files of this process."""
    return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))


def nothing_more_than(before):
    """Whether no more is held than before; the system takes a moment to forget a thread that has ended."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if all(now <= then for now, then in zip(held(), before, strict=True)):
            return True
        os.sched_yield()
    return False


@pytest.fixture(params=["", ".gz", ".zlib"])
def path(request, tmp_path):
    path = tmp_path / f"large.tfrecord{request.param}"
    with ps.RecordWriter(path, level=1) as writer:
        for _ in range(240):
            writer.write(os.urandom(50_000))
    return path


@pytest.fixture
def without_collector():
    np.zeros(1).sum()  # NumPy has threads of its own from its first use on
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collector")
def test_an_early_stop_ends_threads_and_closes_the_file(path):
    before = held()
    for _ in range(3):
        for _ in ps.RecordReader(path, threads=4):
            break
        assert nothing_more_than(before)


@pytest.mark.usefixtures("without_collector")
def test_an_error_ends_threads_and_closes_the_file(path):
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + bytes(64) + data[len(data) // 2 + 64 :])
    before = held()
    errors = []
    for policy in ["raise", "skip_file"]:
        try:
            list(ps.RecordReader(path, threads=4, on_error=policy))
        except ps.CorruptDataError as error:
            errors.append(error)  # kept, with all its frames
        assert nothing_more_than(before)
    assert len(errors) == 1


@pytest.mark.usefixtures("without_collector")
def test_a_count_that_hops_closes_the_file(path):
    before = held()
    assert ps.RecordReader(path).count() == 240
    assert nothing_more_than(before)


@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_writers_that_closed_or_gave_up_hold_nothing(tmp_path, suffix):
    path = tmp_path / f"some.tfrecord{suffix}"
    before = held()
    for number in range(3):
        try:
            with ps.RecordWriter(path) as writer:
                writer.write_many([os.urandom(1 << 20)] * 4)
                if number == 1:
                    raise ZeroDivisionError
        except ZeroDivisionError:
            pass
        assert writer.closed
        assert nothing_more_than(before)


def test_memory_stays_flat_over_many_epochs(path):
    code = """
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        def read(passes):
            for _ in range(passes):
                assert sum(map(len, ps.RecordReader(sys.argv[1], threads=2))) == 240 * 50_000
            return resident()

        before = read(5)
        print((read(30) - before) >> 20)
    """
    status, out, err = run_python(code, path)
    assert (status, err) == (0, "")
    assert int(out) < 16  # MiB, after 360 were read: less than a buffer for each epoch


def test_nothing_is_said_when_the_interpreter_ends_in_the_middle(path):
    code = """
        reader = ps.RecordReader(sys.argv[1], threads=2)
        records, chunks = iter(reader), reader.chunks()
        kept = next(records), next(chunks)
        print("end")
    """
    assert run_python(code, path) == (0, b"end\n", "")


def test_the_file_is_closed_once_damage_is_found(tmp_path):
    path = tmp_path / "bad.tfrecord"
    path.write_bytes(framing.flip(framing.frame(b"bad"), 0))
    before = held()
    for _ in range(20):
        with pytest.raises(ps.ChecksumError):
            list(ps.RecordReader(path))
    assert nothing_more_than(before)
