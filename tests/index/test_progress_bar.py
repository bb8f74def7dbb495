"""The progress bar: on a terminal, where building takes long, and nowhere else."""

from __future__ import annotations

import os
import sys

import pytest

import framing
from processes import start_python

CODE = """
os.dup2(int(sys.argv[2]), 2)
from penstock.index import open_index, progress
progress._SHOWN_AFTER_SECONDS = -1.0  # everything takes long
open_index(sys.argv[1], progress=sys.argv[3] != "False")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("asked", [None, False])
def test_a_terminal_shows_what_is_indexed(tmp_path, asked):
    import pty

    path = tmp_path / "[red]\x1b[1mtrain.tfrecord"  # which looks like markup, and is a command to the terminal
    path.write_bytes(framing.frame(b"a record") * 100)
    reader, terminal = pty.openpty()
    try:
        process = start_python(CODE, path, terminal, asked, pass_fds=[terminal])
        process.communicate(timeout=30)
        os.write(terminal, b"end")
        shown = b""
        while not shown.endswith(b"end"):
            shown += os.read(reader, 1 << 16)
    finally:
        os.close(terminal)
        os.close(reader)
    assert process.returncode == 0
    assert (b"building the index of '[red]\\x1b[1mtrain.tfrecord'" in shown) == (asked is None)
    assert asked is None or shown == b"end"
