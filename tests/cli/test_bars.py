"""The progress bar: on a terminal, all at once in one display, and nowhere else."""

from __future__ import annotations

import os
import sys

import pytest

from processes import start_python

CODE = """
os.dup2(int(sys.argv[1]), 2)
os.environ |= {"COLUMNS": "200", "TERM": "xterm"}
from penstock.progress_bar import ProgressBar
with (
    ProgressBar("reading", 8_000_000, "bytes", stays=True) as reading,
    ProgressBar("training", None, "", stays=True) as training,
):
    with ProgressBar("hidden", 1, "rows", show=False) as hidden, ProgressBar("short", 1, "rows", after=60) as short:
        hidden.advance(1)
        short.advance(1)
        reading.advance(2_000_000)
        training.reach(1234, "12.3/s")
        reading.reach(4_000_000)
training.advance(1)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_bars_of_one_terminal():
    import pty

    reader, terminal = pty.openpty()
    try:
        process = start_python(CODE, terminal, pass_fds=[terminal])
        process.communicate(timeout=30)
        os.write(terminal, b"end")
        shown = b""
        while not shown.endswith(b"end"):
            shown += os.read(reader, 1 << 16)
    finally:
        os.close(terminal)
        os.close(reader)
    assert process.returncode == 0
    assert b"50%  4.0 MB of 8.0 MB  0:00:0" in shown
    assert b"1,234  0:00:0" in shown
    assert b"12.3/s" in shown
    assert b"hidden" not in shown
    assert b"short" not in shown
