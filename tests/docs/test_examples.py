"""The examples in the documentation run, and print what it says they print.

In a page, blocks run in order, in one folder: ``python`` in one namespace, each followed by a ``text`` block where it
prints; in ``console`` every line that starts with ``$ penstock`` runs, and what follows is its output.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run_as_printed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    namespace: dict[str, object] = {"__name__": page.stem}
    for (kind, body), (next_kind, next_body) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if kind == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(body, str(page), "exec"), namespace)
            assert printed.getvalue() == (next_body if next_kind == "text" else "")
        elif kind == "console":
            assert without_times(_console(body)) == without_times(body)


def _console(body: str) -> str:
    """Run the commands of a session, and return the session as it went."""
    shown = ""
    python = f'"{sys.executable}" -m penstock'
    for line in body.splitlines(keepends=True):
        if line.startswith("$ "):
            command = re.sub(r"\bpenstock\b", lambda _: python, line[2:])
            result = subprocess.run(
                command,
                shell=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=os.environ | {"COLUMNS": "200"},
            )
            shown += line + result.stdout.decode("utf-8")
    return shown


def without_times(text: str) -> str:
    return re.sub(r"\b\d+\.\d s\b", "0.0 s", text)


def test_the_tour_is_short():
    tour = next(body for kind, body in BLOCK.findall((ROOT / "README.md").read_text()) if kind == "python")
    assert len([line for line in tour.splitlines() if line.strip()]) <= 24
