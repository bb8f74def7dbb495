"""Pipes: standard input and output as ``-``, and named ones."""

from __future__ import annotations

import gzip
import hashlib
import os
import threading
import zlib

import framing
import pytest
from framing import snappy_block as block
from processes import run_python

import penstock as ps

RECORDS = [b"record %d" % number * 50 for number in range(2000)]
DATA = framing.frames(RECORDS)

posix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zlib.compress], ids=["plain", "gzip", "zlib"])
def test_standard_input_is_read_and_its_compression_detected(pack):
    code = "import hashlib; print(hashlib.sha256(b''.join(ps.RecordReader('-'))).hexdigest())"
    expected = hashlib.sha256(b"".join(RECORDS)).hexdigest()
    assert run_python(code, input=pack(DATA)) == (0, expected.encode() + b"\n", "")


def test_standard_input_that_was_read_is_not_taken_for_an_empty_file():
    code = """
        reader = ps.RecordReader("-")
        print(reader.count())
        try:
            print(list(reader))
        except OSError as error:
            print(error.strerror)
    """
    expected = b"2000\nstandard input can be read only once, and was read before\n"
    assert run_python(code, input=DATA) == (0, expected, "")


def test_standard_input_that_is_cut_short_is_an_error():
    code = """
        try:
            list(ps.RecordReader("-"))
        except ps.TruncatedError as error:
            print(error.kind, error.path, error.record, error.offset)
    """
    last = len(DATA) - len(framing.frame(RECORDS[-1]))
    assert run_python(code, input=DATA[:-3]) == (0, b"truncated-record - 1999 %d\n" % last, "")


@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_standard_output_is_written(compression):
    code = """
        with ps.RecordWriter("-", compression=sys.argv[1]) as writer:
            writer.write_many([b"record %d" % number * 50 for number in range(2000)])
    """
    status, out, err = run_python(code, compression)
    assert (status, err) == (0, "")
    assert (gzip.decompress(out) if compression else out) == DATA


@posix
@pytest.mark.parametrize("kind", ["plain", "gzip", "snappy"])
def test_a_pipe_that_begins_with_single_bytes_is_detected_correctly(tmp_path, kind):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    # Random payloads: a block of SNAPPY that is larger than what a pipe gives at once.
    records = [os.urandom(60_000) for _ in range(4)]
    pack = {"plain": bytes, "gzip": gzip.compress, "snappy": block}[kind]
    data = pack(framing.frames(records))

    def feed():
        with open(path, "wb", buffering=0) as pipe:
            for position in range(20):
                pipe.write(data[position : position + 1])
            left = memoryview(data)[20:]
            while left:
                left = left[pipe.write(left) :]

    thread = threading.Thread(target=feed)
    thread.start()
    assert list(ps.RecordReader(path)) == records
    thread.join()


@posix
def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    received = []
    thread = threading.Thread(target=lambda: received.append(path.read_bytes()))
    thread.start()
    with ps.RecordWriter(path) as writer:
        writer.write_many(RECORDS)
    thread.join()
    assert received == [DATA]
    assert path.is_fifo()
    assert [entry.name for entry in tmp_path.iterdir()] == ["pipe"]


@posix
def test_a_reader_of_the_pipe_that_goes_away_is_an_error_of_the_writer(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    thread = threading.Thread(target=lambda: open(path, "rb").close())
    thread.start()
    writer = ps.RecordWriter(path)
    thread.join()
    with pytest.raises(BrokenPipeError) as caught:
        writer.write_many([bytes(1 << 20)] * 10)
    assert caught.value.filename == str(path)
    with pytest.raises(BrokenPipeError):
        writer.close()
