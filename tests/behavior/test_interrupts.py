"""Ctrl-C ends every wait, and what is left is known."""

from __future__ import annotations

import os
import select
import signal
import sys

import pytest
from processes import run_python, start_python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs named pipes and /proc")


def interrupted(code, *arguments, until):
    """Start code, interrupt it when ``until`` returns, and return how it ended."""
    with start_python(code, *arguments) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            until()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
    return process.returncode, out, err.decode()


@pytest.fixture
def pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_while_a_pipe_gives_nothing(pipe):
    code = """
        print("ready")
        list(ps.RecordReader(sys.argv[1]))
    """
    ends = []
    # Opening the other end waits until the reader has opened its own.
    status, _, err = interrupted(code, pipe, until=lambda: ends.append(os.open(pipe, os.O_WRONLY)))
    os.close(ends[0])
    assert status in (1, -signal.SIGINT)
    assert "KeyboardInterrupt" in err


@pytest.mark.parametrize("step", ["write_many([bytes(1 << 20)] * 20)", "flush()", "close()"])
def test_while_a_pipe_takes_nothing(pipe, step):
    code = f"""
        try:
            with ps.RecordWriter(sys.argv[1]) as writer:
                writer.write(bytes(900_000))
                print("ready")
                writer.{step}
        except KeyboardInterrupt:
            print("interrupted", writer.closed)
    """
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    # The pipe has something to read when the writer has begun to fill it.
    status, out, err = interrupted(code, pipe, until=lambda: select.select([end], [], []))
    os.close(end)
    assert (status, out, err) == (0, b"interrupted True\n", "")


def test_a_handler_may_close_the_writer_that_it_interrupts(pipe):
    code = """
        import os, signal, threading
        end = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK)
        writer = ps.RecordWriter(sys.argv[1])

        def read_all():
            os.set_blocking(end, True)
            while os.read(end, 1 << 20):
                pass

        def close(number, frame):
            threading.Thread(target=read_all, daemon=True).start()
            writer.close()

        signal.signal(signal.SIGINT, close)
        print("ready")
        try:
            writer.write_many([bytes(1 << 20)] * 20)
        except ValueError:
            print("closed", writer.closed)
    """
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    status, out, _ = interrupted(code, pipe, until=lambda: select.select([end], [], []))
    os.close(end)
    assert (status, out) == (0, b"closed True\n")


def test_while_a_large_file_is_searched_for_records(tmp_path):
    path = tmp_path / "file.tfrecord"
    with open(path, "wb") as file:
        file.truncate(200 << 30)  # no blocks, all zeros: minutes of searching
    code = """
        def interrupt(number, frame):
            raise KeyboardInterrupt

        from penstock import _core
        signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            _core.salvage_scan(sys.argv[1], 0, 200 << 30)
        except KeyboardInterrupt:
            print("interrupted")
    """
    assert run_python(code, path) == (0, b"interrupted\n", "")
