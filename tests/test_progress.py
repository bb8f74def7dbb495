"""The progress bar: on a terminal, all at once in one display, and nowhere else."""

from __future__ import annotations

import sys

import pytest
from processes import shown_on_terminal

CODE = """
os.environ |= {"COLUMNS": "200", "TERM": "xterm"}
from penstock.progress import ProgressBar
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
    shown = shown_on_terminal(CODE)
    assert b"50%  4.0 MB of 8.0 MB  0:00:0" in shown
    assert b"1,234  0:00:0" in shown
    assert b"12.3/s" in shown
    assert b"hidden" not in shown
    assert b"short" not in shown
