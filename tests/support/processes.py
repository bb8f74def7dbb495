"""Runs Python code in a process of its own: to kill it, to starve it of memory, or to give it a pipe or a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import Any

PRELUDE = """
import os, signal, sys
import penstock as ps

def limit_memory(more):
    import resource
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + more, used + more))

"""


def start_python(code: str, *arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-W", "error", "-c", PRELUDE + textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}, **options
    )


def run_python(code: str, *arguments: object, input: bytes | None = None, **options: Any) -> tuple[int, bytes, str]:
    """Run to the end; return exit status (negative: a signal), standard output and standard error."""
    process = start_python(code, *arguments, stdin=subprocess.PIPE, **options)
    out, err = process.communicate(input, timeout=30)
    return process.returncode, out, err.decode()


def shown_on_terminal(code: str, *arguments: object) -> bytes:
    """Run to the end, with a terminal as standard error; return what it shows."""
    import pty  # which Windows has not

    reader, terminal = pty.openpty()
    try:
        process = start_python(f"os.dup2({terminal}, 2)\n" + textwrap.dedent(code), *arguments, pass_fds=[terminal])
        process.communicate(timeout=30)
        os.write(terminal, b"end")
        shown = b""
        while not shown.endswith(b"end"):
            shown += os.read(reader, 1 << 16)
    finally:
        os.close(terminal)
        os.close(reader)
    assert process.returncode == 0
    return shown.removesuffix(b"end")
