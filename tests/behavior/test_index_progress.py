"""The progress bar: on a terminal, where building takes long, and nowhere else."""

from __future__ import annotations

import sys

import framing
import pytest
from processes import shown_on_terminal

CODE = """
import penstock.index.open as building
from penstock.index import open_index
building._SHOWN_AFTER_SECONDS = -1.0  # everything takes long
open_index(sys.argv[1], progress=sys.argv[2] != "False")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("asked", [None, False])
def test_a_terminal_shows_what_is_indexed(tmp_path, asked):
    path = tmp_path / "[red]\x1b[1mtrain.tfrecord"  # which looks like markup, and is a command to the terminal
    path.write_bytes(framing.frame(b"a record") * 100)
    shown = shown_on_terminal(CODE, path, asked)
    assert (b"building the index of '[red]\\x1b[1mtrain.tfrecord'" in shown) == (asked is None)
    assert asked is None or not shown
