"""A write that failed cannot be followed by a close that succeeds; what was flushed survives kill -9."""

from __future__ import annotations

import errno
import os
import signal

import pytest
from processes import run_python

import penstock as ps

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs /dev/full and kill -9")

SUFFIXES = ["", ".gz", ".zlib", ".snappy"]
KINDS = ["", "GZIP", "ZLIB", "SNAPPY"]


def assert_full(attempt):
    with pytest.raises(OSError, match="No space left on device") as caught:
        attempt()
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == "/dev/full"


@pytest.mark.parametrize("compression", KINDS)
def test_a_failed_flush_is_final(compression):
    writer = ps.RecordWriter("/dev/full", atomic=False, compression=compression)
    writer.write(b"record")
    assert_full(writer.flush)
    assert_full(lambda: writer.write(b"more"))
    assert_full(lambda: writer.write_many([b"more"]))
    assert_full(writer.flush)
    assert_full(writer.sync)
    assert_full(writer.close)
    assert_full(writer.close)
    assert writer.closed


@pytest.mark.parametrize("compression", KINDS)
def test_close_reports_a_full_disk(compression):
    writer = ps.RecordWriter("/dev/full", atomic=False, compression=compression)
    writer.write(b"record")
    assert_full(writer.close)
    assert_full(writer.close)


def test_a_full_disk_is_noticed_while_writing():
    writer = ps.RecordWriter("/dev/full", atomic=False)
    assert_full(lambda: [writer.write(bytes(1 << 20)) for _ in range(10)])
    assert_full(writer.close)


def test_a_swallowed_error_comes_back_at_the_end_of_the_block():
    with pytest.raises(OSError, match="No space left"), ps.RecordWriter("/dev/full", atomic=False) as writer:
        writer.write(b"record")
        try:
            writer.flush()
        except OSError:
            pass


def test_an_exception_of_the_block_stays_the_one_that_is_seen():
    with pytest.raises(ZeroDivisionError) as caught, ps.RecordWriter("/dev/full", atomic=False) as writer:
        writer.write(b"record")
        raise ZeroDivisionError
    assert any("No space left" in note for note in caught.value.__notes__)


def test_a_failed_writer_that_is_dropped_makes_no_second_noise(recwarn):
    writer = ps.RecordWriter("/dev/full", atomic=False)
    writer.write(b"record")
    assert_full(writer.close)
    del writer
    assert not recwarn.list


def test_a_device_is_written_to_and_not_replaced():
    with ps.RecordWriter("/dev/null") as writer:
        writer.write(b"record")
    assert not os.path.isfile("/dev/null")
    assert not [name for name in os.listdir("/dev") if name.endswith(".partial")]


KILLED = """
    writer = ps.RecordWriter(sys.argv[1], atomic=sys.argv[2] == "True")
    writer.write_many([b"record %d" % number for number in range(1000)])
    writer.flush()
    writer.write(b"not flushed")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("atomic", [True, False])
def test_what_was_flushed_survives_kill_9(tmp_path, suffix, atomic):
    path = tmp_path / f"some.tfrecord{suffix}"
    status, _, _ = run_python(KILLED, path, atomic)
    assert status == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    if atomic:
        assert left.name.startswith(f".{path.name}.")
        assert left.name.endswith(".partial")
    else:
        assert left == path
    # A zlib stream ends with its writer; everything else is whole after a flush.
    reader = ps.RecordReader(left, on_error="tolerate_tail" if suffix == ".zlib" else "raise")
    assert list(reader) == [b"record %d" % number for number in range(1000)]


def test_a_missing_folder_is_reported_by_the_given_name(tmp_path):
    path = tmp_path / "none" / "some.tfrecord"
    with pytest.raises(FileNotFoundError) as caught:
        ps.RecordWriter(path)
    assert caught.value.filename == str(path)
