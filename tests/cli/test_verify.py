"""penstock verify."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import framing
import numpy as np

import penstock as ps


def test_success_is_one_line(penstock):
    result = penstock("verify", ".")
    assert result.exit_code == 0
    assert result.stdout.startswith("ok: 2 files, 20 records, 480 B; every checksum matches; ")
    assert result.stdout.endswith(" s)\n")
    assert result.stdout.count("\n") == 1


def test_all_damage_is_listed_with_its_place_and_what_to_do(penstock, damaged: str):
    result = penstock("verify", "good.tfrecord", damaged)
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert lines[0] == "damaged.tfrecord, record 3, byte 72 to 96: bit rot, the payload's checksum does not match"
    assert lines[1] == "damaged.tfrecord, record 9, byte 216 to 235: torn tail, the file ends inside a record"
    assert "penstock repair FILE -o NEW" in lines[2]
    assert lines[-2] == "damaged.tfrecord: 8 records can be saved, 3 before the first damage, 5 after it"
    assert lines[-1].startswith("not ok: 2 problems in 1 of 2 files, 18 records whose checksums match, ")


def test_json(penstock, damaged: str):
    result = penstock("verify", "--json", damaged)
    found = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (found["records"], found["problems"]) == (8, 2)
    (file,) = found["files"]
    assert file["saved"] == {"before": 3, "after": 5}
    keys = ["path", "records", "bytes", "examples", "decoded", "seems", "saved", "doubtful", "problems"]
    assert list(file) == keys
    keys = ["path", "kind", "cause", "advice", "record", "offset", "stop", "damage", "feature"]
    assert list(file["problems"][0]) == keys


def test_a_missing_file_does_not_keep_the_others_from_being_checked(penstock):
    result = penstock("verify", "gone.tfrecord", "good.tfrecord")
    assert result.exit_code == 1
    assert "gone.tfrecord: no such file" in result.stdout
    assert "1 of 2 files, 10 records whose checksums match" in result.stdout


def test_a_truncated_gzip_file_is_damage(penstock, folder: Path):
    path = folder / "good.tfrecord.gz"
    path.write_bytes(path.read_bytes()[:-1])
    result = penstock("verify", "good.tfrecord.gz")
    assert result.exit_code == 1
    assert "the compressed stream is incomplete" in result.stdout


def test_a_file_without_good_records_is_reported_as_such(penstock, folder: Path):
    lines = b"".join(b"%d\n" % number for number in range(100))
    data = framing.frames([lines] * 5).replace(b"\n", b"\r\n")
    (folder / "text.tfrecord").write_bytes(data)
    result = penstock("verify", "text.tfrecord")
    assert "copied as text" in result.stdout
    assert "text.tfrecord: 0 records can be saved" in result.stdout
    assert "are good" not in result.stdout


def test_records_in_doubt_are_noted(penstock, folder: Path):
    data = bytearray(framing.frames(b"record %d" % number * 5 for number in range(60)))
    data[500:700] = data[1500:1700] = bytes(200)
    (folder / "holes.tfrecord").write_bytes(data)
    doubtful = ps.repair("holes.tfrecord", None).doubtful
    assert f"; {doubtful} more are in doubt" in penstock("verify", "holes.tfrecord").stdout


def test_payloads_after_many_malformed_ones_are_not_checked(penstock, write_records: Callable[..., str]):
    lines = penstock("verify", write_records("odd.tfrecord", [b"", *[b"no example"] * 30])).stdout.splitlines()
    assert lines[-2] == "odd.tfrecord: payloads after 10 malformed records were not checked"
    assert lines[-1].startswith("not ok: 10 problems in 1 of 1 file, 31 records whose checksums match, ")


def test_a_name_that_is_cut_short_is_completed(penstock):
    assert "did you mean good.tfrecord?" in penstock("verify", "good.").stdout


def test_decode_is_passed_on(penstock):
    result = penstock("verify", "good.tfrecord", "--decode")
    assert result.exit_code == 0
    assert "1 file without images or tensors in a schema" in result.stdout


def test_advice_is_given_once_and_in_a_sentence(penstock, folder: Path):
    ps.write("data/train", {"x": np.arange(99)}, shards=3)
    for path in sorted((folder / "data").glob("*.tfrecord"))[:2]:
        path.unlink()
    result = penstock("verify", "data")
    assert result.exit_code == 1
    assert result.stdout.count("where a file is missing: copy the dataset again, all of its files") == 1
