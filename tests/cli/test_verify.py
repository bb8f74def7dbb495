"""penstock verify."""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

import framing
import numpy as np
import pytest
from schema_examples import example, example_list

import penstock as ps
from penstock.codec.images import encode_image


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
    "missing bytes": lambda data: data[:900] + data[1200:],
    "appended bytes": lambda data: data + random.Random(2).randbytes(300),
    "overwritten, missing or extra bytes": lambda data: data[:1000] + random.Random(2).randbytes(900) + data[1900:],
    "copied as text": lambda data: data.replace(b"\n", b"\r\n"),
    "zero-filled block": lambda data: data[:1000] + bytes(1500) + data[2500:],
    "torn tail": lambda data: data[:-3],
    "not a TFRecord": lambda data: b"<html>" + data,
    "truncated": lambda data: gzip.compress(data)[:-100],
}


MORE_DAMAGE = [
    ("bit rot", lambda data: data[:416] + bytes([data[416] ^ 1]) + data[417:]),  # a length
    ("bit rot", lambda data: data[:416] + b"another 12 b" + data[428:]),  # a whole header, the payload is good
    ("bit rot", lambda data: data[:500] + b"some bytes of a payload" + data[523:]),
    ("missing bytes", lambda data: data[: 18 * 416 + 200] + data[19 * 416 :]),  # its header claims the file's end
    ("overwritten, missing or extra bytes", lambda data: data[:1000] + b"some too many" + data[1000:]),
    ("overwritten, missing or extra bytes", lambda data: data[:822] + data[842:]),  # of two records
    ("appended bytes", lambda data: data + b"log: the copy is complete\n"),
]


@pytest.mark.parametrize(("cause", "harm"), [*DAMAGE.items(), *MORE_DAMAGE])
def test_what_happened_is_named(penstock, folder: Path, write_records: Callable[..., str], cause: str, harm):
    chance = random.Random(1)
    name = write_records("large.tfrecord", [chance.randbytes(400) for _ in range(20)])
    (folder / name).write_bytes(harm((folder / name).read_bytes()))
    report = json.loads(penstock("verify", name, "--json").stdout)["files"][0]
    assert report["problems"][0]["damage"] == cause
    assert sum(report["saved"].values()) == report["records"]


def test_where_no_record_is_good_none_is_said_to_be(penstock, folder: Path):
    lines = b"".join(b"%d\n" % number for number in range(100))
    data = framing.frames([lines] * 5).replace(b"\n", b"\r\n")
    (folder / "text.tfrecord").write_bytes(data)
    result = penstock("verify", "text.tfrecord")
    assert "copied as text" in result.stdout
    assert "text.tfrecord: 0 records can be saved" in result.stdout
    assert "are good" not in result.stdout


def test_a_wrong_compression_is_named(penstock):
    result = penstock("verify", "good.tfrecord.gz", "--compression", "none", "--json")
    assert json.loads(result.stdout)["files"][0]["problems"][0]["damage"] == "wrong compression"


EXAMPLES = ps.Encoder(ps.Schema({"x": ps.Feature("int64")})).encode([{"x": i} for i in range(20)])


def test_payloads_that_are_no_examples_are_told_once_and_are_no_damage(penstock):
    result = penstock("verify", ".")
    assert result.exit_code == 0
    assert result.stdout.rstrip().endswith("the payloads of 2 files are no Examples (they seem to be text)")


def test_a_record_that_is_no_example_among_examples_is_a_problem(penstock, write_records: Callable[..., str]):
    name = write_records("mixed.tfrecord", [*EXAMPLES[:7], b"no Example", *EXAMPLES[7:]])
    answer = json.loads(penstock("verify", name, "--json").stdout)
    (problem,) = answer["files"][0]["problems"]
    assert (problem["kind"], problem["record"]) == ("malformed-example", 7)
    assert answer["files"][0]["examples"] is True


def test_other_messages_are_no_examples(penstock, write_records: Callable[..., str]):
    others = [example_list([example(a=i), example(a=2)]) for i in range(30)]
    report = json.loads(penstock("verify", write_records("ranking.tfrecord", others), "--json").stdout)["files"][0]
    assert (report["examples"], report["problems"]) == (False, [])
    assert report["seems"] == "ExampleListWithContext (ELWC, of TF-Ranking)"
    mixed = write_records("ranking.tfrecord.gz", [*EXAMPLES, others[0]])
    (problem,) = json.loads(penstock("verify", mixed, "--json").stdout)["files"][0]["problems"]
    assert (problem["kind"], problem["record"]) == ("malformed-example", len(EXAMPLES))
    assert "another message" in problem["cause"]
    empty = json.loads(penstock("verify", write_records("empty.tfrecord", [b"", example()]), "--json").stdout)["files"][
        0
    ]
    assert (empty["examples"], empty["problems"]) == (True, [])


def test_examples_are_checked_against_the_schema_beside_them(penstock, folder: Path, write_records: Callable[..., str]):
    name = write_records("train.tfrecord", EXAMPLES)
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


IMAGES = ps.Schema({"image": ps.Feature("uint8", [None, None, 3], encoding="jpeg"), "x": ps.Feature("int64")})
TENSORS = ps.Schema({"t": ps.Feature("float32", [None], encoding="tensor")})


def write_images(folder: Path, count: int, *, broken: tuple[int, ...]) -> str:
    """A file of Examples with sound checksums, whose images are cut short in some records."""
    stored = ps.Schema({"image": ps.Feature("bytes"), "x": ps.Feature("int64")})
    jpeg = encode_image(np.arange(3 * 32 * 32, dtype=np.uint8).reshape(32, 32, 3), "jpeg")
    rows = [{"image": jpeg[: len(jpeg) // 2] if i in broken else jpeg, "x": i} for i in range(count)]
    with ps.RecordWriter(folder / "images.tfrecord") as writer:
        writer.write_many(ps.Encoder(stored).encode(rows))
    IMAGES.save(folder / "images.schema.json")
    return "images.tfrecord"


def test_decode_finds_images_that_are_damaged_in_records_that_are_not(penstock, folder: Path):
    name = write_images(folder, 30, broken=(4, 21))
    assert penstock("verify", name).exit_code == 0
    result = penstock("verify", name, "--decode", "--json")
    (report,) = json.loads(result.stdout)["files"]
    assert (result.exit_code, report["records"], report["decoded"]) == (1, 30, ["image"])
    found = [(p["path"], p["kind"], p["record"], p["feature"]) for p in report["problems"]]
    assert found == [(name, "malformed-example", 4, "image"), (name, "malformed-example", 21, "image")]
    assert 'images.tfrecord, record 4: feature "image": an image of ' in penstock("verify", name, "--decode").stdout


def test_decode_finds_tensors_that_are_not_what_the_schema_says(penstock, folder: Path):
    good = ps.Encoder(TENSORS).encode([{"t": np.ones(3, np.float32)}] * 5)
    bad = ps.Encoder(ps.Schema({"t": ps.Feature("bytes")})).encode([{"t": b"no tensor"}])
    with ps.RecordWriter(folder / "tensors.tfrecord") as writer:
        writer.write_many([*good, *bad, *good])
    TENSORS.save(folder / "tensors.schema.json")
    assert penstock("verify", "tensors.tfrecord").exit_code == 0
    (report,) = json.loads(penstock("verify", "tensors.tfrecord", "--decode", "--json").stdout)["files"]
    assert [(p["record"], p["feature"]) for p in report["problems"]] == [(5, "t")]


def test_decode_says_that_images_were_not_decoded_without_pillow(penstock, folder: Path, monkeypatch):
    name = write_images(folder, 3, broken=(1,))
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    result = penstock("verify", name, "--decode", "--json")
    (report,) = json.loads(result.stdout)["files"]
    (problem,) = report["problems"]
    assert (result.exit_code, problem["kind"], report["decoded"], report["records"]) == (1, "missing-extra", [], 3)
    assert "image not decoded" in problem["cause"]
    assert "no schema" not in penstock("verify", name, "--decode").stdout
    assert "penstock[image]" in problem["cause"]


def test_decode_says_where_no_schema_tells_what_to_decode(penstock):
    result = penstock("verify", "good.tfrecord", "--decode")
    assert result.exit_code == 0
    assert "no schema says what to decode in 1 file" in result.stdout
