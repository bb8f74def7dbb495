"""penstock cat."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import penstock as ps

RECORDS = [b"record %d" % i for i in range(10)]  # what the fixture folder holds


def test_lines_have_number_offset_length_and_preview(penstock):
    result = penstock("cat", "good.tfrecord", "--skip", "1", "--limit", "2")
    assert result.exit_code == 0
    assert [line.split(maxsplit=3) for line in result.stdout.splitlines()] == [
        ["1", "24", "8", "record 1"],
        ["2", "48", "8", "record 2"],
    ]


def test_a_preview_is_short_and_harmless(penstock):
    with ps.RecordWriter("odd.tfrecord") as writer:
        writer.write("über\n\x1b[2J".encode() + b"\xff" + b"x" * 1000)
    line = penstock("cat", "odd.tfrecord").stdout
    assert "über\\n\\x1b[2J\\xffxxx" in line
    assert line.endswith("…\n")
    assert len(line) < 120


def test_hex_and_base64_are_one_record_a_line(penstock):
    assert penstock("cat", "good.tfrecord", "--format", "hex", "--limit", "1").stdout == RECORDS[0].hex() + "\n"
    lines = penstock("cat", "good.tfrecord", "--format", "base64").stdout.split()
    assert [base64.b64decode(line) for line in lines] == RECORDS


def test_raw_is_payloads_alone(penstock):
    assert penstock("cat", "good.tfrecord.gz", "--format", "raw").stdout_bytes == b"".join(RECORDS)


def test_tfrecord_is_a_plain_file(penstock, folder: Path):
    result = penstock("cat", "good.tfrecord.gz", "--format", "tfrecord")
    assert result.stdout_bytes == (folder / "good.tfrecord").read_bytes()


def test_json_lines(penstock):
    lines = penstock("cat", "good.tfrecord", "--json", "--limit", "1").stdout.splitlines()
    payload = base64.b64encode(RECORDS[0]).decode()
    expected = {"path": "good.tfrecord", "record": 0, "offset": 0, "length": 8, "payload": payload}
    assert [json.loads(line) for line in lines] == [expected]


def test_skip_and_limit_count_over_all_files(penstock):
    result = penstock("cat", "good.tfrecord", "good.tfrecord.gz", "--skip", "9", "--limit", "2", "--format", "raw")
    assert result.stdout_bytes == b"record 9record 0"


def test_several_files_are_titled(penstock):
    result = penstock("cat", "good.tfrecord", "good.tfrecord.gz", "--limit", "11")
    assert [line for line in result.stdout.splitlines() if line.startswith("==>")] == [
        "==> good.tfrecord <==",
        "==> good.tfrecord.gz <==",
    ]


def test_damage_ends_a_file_after_the_records_before_it(penstock, damaged: str):
    result = penstock("cat", damaged, "good.tfrecord", "--format", "raw")
    assert result.exit_code == 1
    assert result.stdout_bytes == b"".join(RECORDS[:3] + RECORDS)
    assert "record 3, byte 72" in result.stderr


def test_skip_damaged_saves_the_good_records(penstock, damaged: str, folder: Path):
    result = penstock("cat", damaged, "--skip-damaged", "--format", "tfrecord")
    assert result.exit_code == 1  # something is missing, and a script should know
    (folder / "saved.tfrecord").write_bytes(result.stdout_bytes)
    assert list(ps.RecordReader("saved.tfrecord")) == RECORDS[:3] + RECORDS[4:9]


def test_json_with_a_format_raises(penstock):
    result = penstock("cat", "good.tfrecord", "--json", "--format", "hex")
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr
