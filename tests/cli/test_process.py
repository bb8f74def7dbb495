"""Behavior of a real process: pipes, terminals, exit status."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import penstock as ps

COMMAND = [sys.executable, "-m", "penstock"]


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, timeout=60, **options)  # type: ignore[call-overload]


def test_records_go_through_a_pipe(folder: Path):
    copied = run("cat", "good.tfrecord.gz", "--format", "tfrecord")
    counted = run("count", "-", input=copied.stdout)
    assert (counted.returncode, counted.stdout) == (0, b"10\t-\n")


def test_a_reader_that_leaves_early_causes_no_message(folder: Path):
    with ps.RecordWriter("long.tfrecord") as writer:
        writer.write_many([b"x" * 1000] * 2000)
    for form in ("lines", "tfrecord", "raw"):
        process = subprocess.Popen(
            [*COMMAND, "cat", "long.tfrecord", "--format", form], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout
        assert process.stderr
        process.stdout.read(10)
        process.stdout.close()
        message = process.stderr.read()
        process.stderr.close()
        assert (process.wait(60), message) == (0, b""), form


@pytest.mark.parametrize("arguments", [["count"], ["frobnicate"], ["cat", "x", "--limit", "-1"]])
def test_usage_errors_have_status_2(arguments: list[str]):
    result = run(*arguments)
    assert result.returncode == 2
    assert b"--help" in result.stderr


def test_help_has_examples_and_the_exit_status():
    assert b"Exit status" in run("--help").stdout
    for command in ("schema", "head", "stats", "count", "verify", "repair", "convert", "cat", "index"):
        shown = run(command, "--help").stdout.decode()
        assert f"penstock {command} " in shown.partition("Examples:")[2]
        assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals")
def test_a_terminal_gets_a_table_and_no_binary(folder: Path, damaged: str):
    shown = _on_terminal("verify", damaged)
    assert "what is wrong" in shown
    assert "the payload's checksum does not match" in shown
    assert "is not for a terminal" in _on_terminal("cat", "good.tfrecord", "--format", "raw")


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals")
def test_a_narrow_terminal_gets_no_extra_columns(folder: Path):
    ps.write("data/train", {"label": ["quite a long text"] * 2})
    assert "sample" in _on_terminal("schema", "data/train", columns=90)
    narrow = _on_terminal("schema", "data/train", columns=60)
    assert "presence" in narrow
    assert "sample" not in narrow


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("command", ["count", "head", "schema", "stats"])
def test_output_that_cannot_be_written_is_reported_in_a_line(folder: Path, command: str, buffered: bool):
    ps.write("data/train", {"x": list(range(10))})
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            [*COMMAND, command, "data/train"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONUNBUFFERED": "" if buffered else "1"},
            timeout=60,
        )
    assert result.returncode == 1
    assert result.stderr == b"Error: the output cannot be written: No space left on device\n"


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals")
def test_a_narrow_terminal_wraps_no_number_and_no_name(folder: Path):
    ps.write("data/train", {"quite_a_long_name": [-(1 << 62), 1 << 62, 5], "score": [0.03055, 1.25, 4.5]})
    shown = _on_terminal("stats", "data/train", columns=60)
    lines = [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line).split() for line in shown.splitlines()]
    assert ["feature", "type", "min", "mean", "max"] in lines
    assert ["quite_a_long_name", "int64", "-4.612e+18", "1.667", "4.612e+18"] in lines
    assert ["score", "float32", "0.03055", "1.927", "4.5"] in lines
    (folder / "cut.tfrecord").write_bytes((folder / "good.tfrecord").read_bytes()[:-1])
    assert "cut.tfrecord, record 9, byte" in _on_terminal("verify", "cut.tfrecord", columns=60)


def _on_terminal(*arguments: str, columns: int = 80) -> str:
    import pty

    main, terminal = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=terminal,
        stderr=terminal,
        stdin=terminal,
        env=os.environ | {"COLUMNS": str(columns)},
    )
    os.close(terminal)
    output = b""
    while True:
        try:
            piece = os.read(main, 4096)
        except OSError:  # Linux says so where others say end of file
            break
        if not piece:
            break
        output += piece
    os.close(main)
    process.wait(60)
    return output.decode()


@pytest.mark.skipif(os.name == "nt", reason="no signal to send")
@pytest.mark.parametrize("command", ["verify", "cat"])
def test_an_interrupt_ends_even_a_read_that_waits(folder: Path, command: str):
    read_end, write_end = os.pipe()
    process = subprocess.Popen(
        [*COMMAND, command, "-"], stdin=read_end, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr
    os.write(write_end, (folder / "good.tfrecord").read_bytes())
    while select.select([read_end], [], [], 0)[0]:  # until the command has begun to read
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.stderr.read() == b"Aborted!\n"
    process.stderr.close()
    assert process.wait(60) == 130
    os.close(read_end)
    os.close(write_end)


def test_a_misspelt_command_is_corrected(penstock):
    result = penstock("cuont", "x.tfrecord")
    assert result.exit_code == 2
    assert "Did you mean 'count'?" in result.stderr


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="needs pipes that have names")
@pytest.mark.parametrize(
    ("arguments", "status", "expected"),
    [
        (("head", "--json", "-n1"), 0, b'"example": {"label": 0}'),
        (("stats",), 0, b"20 records in 1 file"),
        (("schema",), 0, b"inferred from all 20 records"),
        (("convert", "-o", "copy"), 2, b"save the data of the pipe"),
    ],
)
def test_a_pipe_with_a_name_is_read_once(folder: Path, arguments: tuple[str, ...], status: int, expected: bytes):
    with ps.RecordWriter("labels.tfrecord") as writer:
        writer.write_many(ps.Encoder(ps.Schema({"label": int})).encode([{"label": i} for i in range(20)]))
    read_end, write_end = os.pipe()  # as the shell makes it of <(cat labels.tfrecord)
    with open(write_end, "wb") as pipe:
        pipe.write(Path("labels.tfrecord").read_bytes())
    command, *options = arguments
    done = run(command, f"/dev/fd/{read_end}", *options, pass_fds=[read_end])
    os.close(read_end)
    assert done.returncode == status
    assert expected in done.stdout + done.stderr


@pytest.mark.skipif(os.name == "nt", reason="a process has its standard input")
def test_standard_input_that_is_closed_or_named_twice_is_reported(folder: Path):
    closed = subprocess.run([*COMMAND, "count", "-"], preexec_fn=lambda: os.close(0), capture_output=True, timeout=60)
    assert (closed.returncode, closed.stderr) == (1, b"penstock: -: standard input is closed\n")
    twice = run("count", "-", "-", input=(folder / "good.tfrecord").read_bytes())
    assert twice.returncode == 2
    assert b"name - once" in twice.stderr


def test_repaired_records_go_through_a_pipe_without_the_report(folder: Path, damaged: str):
    repaired = run("repair", damaged, "-o", "-")
    assert run("count", "-", input=repaired.stdout).stdout == b"8\t-\n"
    assert b"8 good records" in repaired.stderr


def test_text_that_the_output_cannot_encode_is_escaped(folder: Path):
    ps.write("data/words", {"word": ["漢字", "naïve"], "length": [2, 5]})
    western = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    shown = run("head", "data", env=western)
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert rb"'\u6f22\u5b57'" in shown.stdout
    assert "'naïve'".encode("cp1252") in shown.stdout
    assert run("stats", "data", env=western).returncode == 0
