"""Progress: elements pass unchanged, and a line says how it goes."""

from __future__ import annotations

import logging
import os
import pty
import subprocess
import sys

import pytest

from penstock.dataset.progress import Meter, show_progress


def test_elements_pass_and_the_log_says_how_many(caplog: pytest.LogCaptureFixture):
    meter = Meter()
    with caplog.at_level(logging.INFO, "penstock"):
        assert list(show_progress(iter("abcd"), meter, total=8, name="train")) == ["a", "b", "c", "d"]
    (line,) = caplog.messages
    assert line.startswith("train: 4 (50%), ")
    assert "your code" in line
    assert meter.seconds["waiting"] > 0


def test_errors_pass():
    def failing():
        yield 1
        raise KeyError("no such thing")

    elements = show_progress(failing(), Meter(), total=None)
    assert next(elements) == 1
    with pytest.raises(KeyError):
        next(elements)


PROGRAM = """
from penstock.dataset.progress import Meter
from penstock.dataset.progress import show_progress
meter = Meter()
meter.add("reading", 0.5)
print(sum(show_progress(iter([1, 2, 3]), meter, total=3, name="[train]")))
"""


def test_a_terminal_shows_a_bar():
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "200"}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        assert process.stdout is not None
        assert process.stdout.read() == b"6\n"
    shown_text = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "[train]" in shown_text
    assert "100%" in shown_text
    assert "reading" in shown_text


def test_a_pipe_shows_nothing():
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert (result.stdout, result.stderr) == ("6\n", "")
