"""penstock verify."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

import framing
import penstock as ps
from schema_examples import example, example_list


def test_all_is_well_in_one_line(penstock):
    result = penstock("verify", ".")
    assert result.exit_code == 0
    assert result.stdout.startswith("ok: 2 files, 20 records, 480 B in ")
    assert result.stdout.count("\n") == 1


def test_every_damage_is_listed_with_its_place_and_what_to_do(penstock, damaged: str):
    result = penstock("verify", "good.tfrecord", damaged)
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert lines[0] == "damaged.tfrecord, record 3, byte 72 to 96: bit rot, the payload's checksum does not match"
    assert lines[1] == "damaged.tfrecord, record 9, byte 216 to 235: torn tail, the file ends inside a record"
    assert "penstock repair FILE -o NEW" in lines[2]
    assert lines[-2] == "damaged.tfrecord: 8 records can be saved, 3 before the first damage, 5 behind it"
    assert lines[-1].startswith("not ok: 2 problems in 1 of 2 files, 18 records whose checksums match, ")


def test_json(penstock, damaged: str):
    result = penstock("verify", "--json", damaged)
    answer = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (answer["records"], answer["problems"]) == (8, 2)
    found = [(p["kind"], p["record"], p["offset"], p["stop"]) for p in answer["files"][0]["problems"]]
    assert found == [("data-crc", 3, 72, 96), ("truncated-record", 9, 216, 235)]


def test_a_missing_file_does_not_keep_the_others_from_being_checked(penstock):
    result = penstock("verify", "gone.tfrecord", "good.tfrecord")
    assert result.exit_code == 1
    assert "gone.tfrecord: no such file" in result.stdout
    assert "1 of 2 files, 10 records whose checksums match" in result.stdout


def test_what_is_no_tfrecord_is_named(penstock, folder: Path):
    (folder / "page.tfrecord").write_text("<!doctype html><title>404</title>")
    (folder / "pointer.tfrecord").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\n")
    result = penstock("verify", "page.tfrecord", "pointer.tfrecord")
    assert result.exit_code == 1
    assert "an HTML or XML page" in result.stdout
    assert "git lfs pull" in result.stdout


def test_files_one_by_one_and_at_once_give_the_same_report(penstock, damaged: str):
    one = json.loads(penstock("verify", ".", "--json", "--jobs", "1").stdout)
    four = json.loads(penstock("verify", ".", "--json", "--jobs", "4").stdout)
    assert one == four


def test_a_truncated_gzip_file_is_damage(penstock, folder: Path):
    path = folder / "good.tfrecord.gz"
    path.write_bytes(path.read_bytes()[:-1])
    result = penstock("verify", "good.tfrecord.gz")
    assert result.exit_code == 1
    assert "the compressed stream is incomplete" in result.stdout


DAMAGE = {
    "bit rot": lambda data: data[:100] + b"?" + data[101:],
    "zero-filled block": lambda data: data[:1000] + bytes(1500) + data[2500:],
    "torn tail": lambda data: data[:-3],
    "not a TFRecord": lambda data: b"<html>" + data,
    "truncated": lambda data: gzip.compress(data)[:-100],
}


@pytest.mark.parametrize("cause", DAMAGE)
def test_what_happened_is_named(penstock, folder: Path, write: Callable[..., str], cause: str):
    chance = random.Random(1)
    name = write("large.tfrecord", [chance.randbytes(400) for _ in range(20)])
    (folder / name).write_bytes(DAMAGE[cause]((folder / name).read_bytes()))
    report = json.loads(penstock("verify", name, "--json").stdout)["files"][0]
    assert report["problems"][0]["damage"] == cause
    assert sum(report["saved"].values()) == report["records"]


def test_a_wrong_compression_is_named(penstock):
    result = penstock("verify", "good.tfrecord.gz", "--compression", "none", "--json")
    assert json.loads(result.stdout)["files"][0]["problems"][0]["damage"] == "wrong compression"


EXAMPLES = ps.Encoder(ps.Schema({"x": ps.Feature("int64")})).encode([{"x": i} for i in range(20)])


def test_payloads_that_are_no_examples_are_told_once_and_are_no_damage(penstock):
    result = penstock("verify", ".")
    assert result.exit_code == 0
    assert result.stdout.rstrip().endswith("the payloads of 2 files are no Examples (they seem to be text)")


def test_a_record_that_is_no_example_among_examples_is_a_problem(penstock, write: Callable[..., str]):
    name = write("mixed.tfrecord", [*EXAMPLES[:7], b"no Example", *EXAMPLES[7:]])
    answer = json.loads(penstock("verify", name, "--json").stdout)
    (problem,) = answer["files"][0]["problems"]
    assert (problem["kind"], problem["record"]) == ("malformed-example", 7)
    assert answer["files"][0]["examples"] is True


def test_other_messages_are_no_examples(penstock, write: Callable[..., str]):
    others = [example_list([example(a=i), example(a=2)]) for i in range(30)]
    report = json.loads(penstock("verify", write("ranking.tfrecord", others), "--json").stdout)["files"][0]
    assert (report["examples"], report["problems"]) == (False, [])
    assert report["seems"] == "ExampleListWithContext (ELWC, of TF-Ranking)"
    mixed = write("ranking.tfrecord.gz", [*EXAMPLES, others[0]])
    (problem,) = json.loads(penstock("verify", mixed, "--json").stdout)["files"][0]["problems"]
    assert (problem["kind"], problem["record"]) == ("malformed-example", len(EXAMPLES))
    assert "another message" in problem["cause"]
    empty = json.loads(penstock("verify", write("empty.tfrecord", [b"", example()]), "--json").stdout)["files"][0]
    assert (empty["examples"], empty["problems"]) == (True, [])


def test_examples_are_checked_against_the_schema_beside_them(penstock, folder: Path, write: Callable[..., str]):
    name = write("train.tfrecord", EXAMPLES)
    assert penstock("verify", name).exit_code == 0
    ps.Schema({"x": ps.Feature("float32")}).save(folder / "train.schema.json")
    result = penstock("verify", name)
    assert result.exit_code == 1
    assert 'train.tfrecord, record 0: feature "x": expected float' in result.stdout


def test_records_in_doubt_are_counted(penstock, folder: Path):
    data = bytearray(framing.frames(b"record %d" % number * 5 for number in range(60)))
    data[500:700] = data[1500:1700] = bytes(200)
    (folder / "holes.tfrecord").write_bytes(data)
    (report,) = json.loads(penstock("verify", "holes.tfrecord", "--json").stdout)["files"]
    assert report["doubtful"] == ps.repair("holes.tfrecord", None).doubtful > 5
    assert f"; {report['doubtful']} more are in doubt" in penstock("verify", "holes.tfrecord").stdout


def test_where_many_payloads_are_malformed_it_is_told_that_the_rest_was_not_looked_at(penstock, folder: Path):
    with ps.RecordWriter(folder / "odd.tfrecord") as writer:
        writer.write_many([b"", *[b"no example"] * 30])
    lines = penstock("verify", "odd.tfrecord").stdout.splitlines()
    assert lines[-2] == "odd.tfrecord: behind 10 records that are malformed, no payload was looked at"
    assert lines[-1].startswith("not ok: 10 problems in 1 of 1 file, 31 records whose checksums match, ")


def test_a_name_that_is_cut_short_is_told_in_full(penstock):
    assert "did you mean good.tfrecord?" in penstock("verify", "good.").stdout
