"""ps.verify: whether files are whole, what is wrong with them, and that each byte is read once."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import framing
import numpy as np
import pytest
from schema_examples import example, example_list

import penstock as ps
from penstock.codec.images import encode_image
from penstock.compression.detect import CERTAIN_BYTES

EXAMPLES = ps.Encoder(ps.Schema({"x": ps.Feature("int64")})).encode([{"x": i} for i in range(20)])
IMAGES = ps.Schema({"image": ps.Feature("uint8", [None, None, 3], encoding="jpeg"), "x": ps.Feature("int64")})
TENSORS = ps.Schema({"t": ps.Feature("float32", [None], encoding="tensor")})


def test_sound_files_are_ok(folder):
    report = ps.verify(".")
    assert (report.ok, report.records, report.bytes) == (True, 20, 480)
    assert str(report) == (
        "ok: 2 files, 20 records, 480 B; every checksum matches; the payloads of 2 files are not Examples "
        "(they seem to be text)"
    )


def test_all_damage_is_listed_with_its_place(damaged: str):
    report = ps.verify(["good.tfrecord", damaged, "gone.tfrecord"])
    found = [(problem.kind, problem.record, problem.offset, problem.stop) for problem in report.problems]
    assert found == [("data-crc", 3, 72, 96), ("truncated-record", 9, 216, 235), ("not-found", None, None, None)]
    assert isinstance(report.problems[0].error, ps.ChecksumError)
    good, bad, gone = report.files
    assert (good.before_damage, bad.before_damage, gone.before_damage) == (None, 3, None)
    assert (good.records, bad.records, gone.records) == (10, 8, 0)
    lines = str(report).splitlines()
    assert lines[0] == f"{damaged}, record 3, byte 72 to 96: bit rot, the payload's checksum does not match"
    assert lines[-1].startswith("not ok: 3 problems in 2 of 3 files, 18 records whose checksums match, ")


def test_json_has_the_keys_of_the_command_but_for_advice(penstock, damaged: str):
    found = json.loads(ps.verify(damaged).to_json())
    assert (found["records"], found["problems"]) == (8, 2)
    printed = json.loads(penstock("verify", damaged, "--json").stdout)
    for problem in printed["files"][0]["problems"]:
        assert problem.pop("advice")
    assert found == printed


def test_files_one_by_one_and_in_parallel_give_the_same_report(damaged: str):
    assert ps.verify(".", jobs=1) == ps.verify(".", jobs=4)


def test_a_record_that_is_not_an_example_among_examples_is_a_problem(write_records: Callable[..., str]):
    report = ps.verify(write_records("mixed.tfrecord", [*EXAMPLES[:7], b"no Example", *EXAMPLES[7:]]))
    assert [(problem.kind, problem.record) for problem in report.problems] == [("malformed-example", 7)]
    assert report.files[0].examples is True


def test_other_messages_are_not_examples(write_records: Callable[..., str]):
    others = [example_list([example(a=i), example(a=2)]) for i in range(30)]
    (file,) = ps.verify(write_records("ranking.tfrecord", others)).files
    assert (file.examples, file.problems) == (False, ())
    assert file.seems == "ExampleListWithContext (ELWC, of TF-Ranking)"
    (problem,) = ps.verify(write_records("ranking.tfrecord.gz", [*EXAMPLES, others[0]])).problems
    assert (problem.kind, problem.record) == ("malformed-example", len(EXAMPLES))
    assert "another message" in problem.cause
    (file,) = ps.verify(write_records("empty.tfrecord", [b"", example()])).files
    assert (file.examples, file.problems) == (True, ())


def test_examples_are_checked_against_the_schema_file(folder: Path, write_records: Callable[..., str]):
    name = write_records("train.tfrecord", EXAMPLES)
    assert ps.verify(name).ok
    ps.Schema({"x": ps.Feature("float32")}).save(folder / "train.schema.json")
    problem = ps.verify(name).problems[0]
    assert str(problem).startswith('train.tfrecord, record 0: feature "x": expected float')


def test_records_in_doubt_are_counted(folder: Path):
    data = bytearray(framing.frames(b"record %d" % number * 5 for number in range(60)))
    data[500:700] = data[1500:1700] = bytes(200)
    (folder / "holes.tfrecord").write_bytes(data)
    (file,) = ps.verify("holes.tfrecord").files
    assert file.doubtful == ps.repair("holes.tfrecord", None).doubtful > 5


def write_images(folder: Path, count: int, *, broken: tuple[int, ...]) -> str:
    """Write Examples with sound checksums, some of whose images are cut short."""
    stored = ps.Schema({"image": ps.Feature("bytes"), "x": ps.Feature("int64")})
    jpeg = encode_image(np.arange(3 * 32 * 32, dtype=np.uint8).reshape(32, 32, 3), "jpeg")
    rows = [{"image": jpeg[: len(jpeg) // 2] if i in broken else jpeg, "x": i} for i in range(count)]
    with ps.RecordWriter(folder / "images.tfrecord") as writer:
        writer.write_many(ps.Encoder(stored).encode(rows))
    IMAGES.save(folder / "images.schema.json")
    return "images.tfrecord"


def test_decode_finds_damaged_images_in_sound_records(folder: Path):
    name = write_images(folder, 30, broken=(4, 21))
    assert ps.verify(name).ok
    (file,) = ps.verify(name, decode=True).files
    assert (file.records, file.decoded) == (30, ("image",))
    found = [(problem.kind, problem.record, problem.feature) for problem in file.problems]
    assert found == [("malformed-example", 4, "image"), ("malformed-example", 21, "image")]


def test_decode_finds_tensors_that_do_not_fit_the_schema(folder: Path):
    good = ps.Encoder(TENSORS).encode([{"t": np.ones(3, np.float32)}] * 5)
    bad = ps.Encoder(ps.Schema({"t": ps.Feature("bytes")})).encode([{"t": b"no tensor"}])
    with ps.RecordWriter(folder / "tensors.tfrecord") as writer:
        writer.write_many([*good, *bad, *good])
    TENSORS.save(folder / "tensors.schema.json")
    assert ps.verify("tensors.tfrecord").ok
    problems = ps.verify("tensors.tfrecord", decode=True).problems
    assert [(problem.record, problem.feature) for problem in problems] == [(5, "t")]


def test_decode_reports_that_pillow_is_missing(folder: Path, monkeypatch: pytest.MonkeyPatch):
    name = write_images(folder, 3, broken=(1,))
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    report = ps.verify(name, decode=True)
    (problem,) = report.problems
    assert (problem.kind, report.files[0].decoded, report.records) == ("missing-extra", None, 3)
    assert "image not decoded" in problem.cause
    assert "penstock[image]" in problem.cause


def test_decode_reports_files_without_a_schema(folder):
    assert "; 1 file without images or tensors in a schema" in str(ps.verify("good.tfrecord", decode=True))


# Datasets.


@pytest.fixture
def data(tmp_path: Path) -> Path:
    ps.write(tmp_path / "data" / "train", {"x": np.arange(99)}, shards=3)
    return tmp_path / "data"


@pytest.mark.parametrize("name", ["", "train", "train.penstock.json"])
def test_a_whole_dataset_is_ok(data: Path, name: str):
    assert str(ps.verify(data / name)).startswith("ok: 3 files and 1 manifest, 99 records")


@pytest.mark.parametrize("name", ["", "train", "train.penstock.json"])
def test_missing_changed_and_extra_shards_are_reported(data: Path, name: str):
    first, second, third = sorted(data.glob("*.tfrecord"))
    first.unlink()
    second.write_bytes(third.read_bytes())  # every record is good, but these are others
    extra = data / "train-00003-of-00004.tfrecord"
    shutil.copy(third, extra)
    report = ps.verify(data / name)
    assert [(Path(problem.path).name, problem.kind) for problem in report.problems] == [
        (first.name, "manifest-missing"),
        (second.name, "manifest-checksum"),
        (extra.name, "manifest-extra"),
    ]
    assert [dataset.has_manifest for dataset in report.datasets] == [True]


def test_damage_in_a_shard_is_reported_with_its_checksum(data: Path):
    shard = sorted(data.glob("*.tfrecord"))[1]
    shard.write_bytes(framing.flip(shard.read_bytes(), 14))
    assert [problem.kind for problem in ps.verify(data).problems] == ["data-crc", "manifest-checksum"]


@pytest.mark.parametrize("name", ["train-{:05d}-of-00009.tfrecord", "mnist-train.tfrecord-{:05d}-of-00009"])
def test_names_show_what_is_missing_without_a_manifest(tmp_path: Path, name: str):
    for number in (0, 4):
        ps.RecordWriter(tmp_path / name.format(number)).close()
    report = ps.verify(tmp_path)
    (problem,) = report.problems
    assert problem.kind == "shard-missing"
    expected = "7 of 9 shards are missing, judged by the names of the others: 00001, 00002, 00003, 00005, 00006 ..."
    assert problem.cause == expected
    assert str(report).splitlines()[-1].startswith("not ok: 1 problem in 0 of 2 files, 0 records")
    for number in range(9):
        ps.RecordWriter(tmp_path / name.format(number)).close()
    assert ps.verify(tmp_path).ok


def test_shards_next_to_a_named_file_are_not_missed(tmp_path: Path):
    path = tmp_path / "train-00000-of-00009.tfrecord"
    ps.RecordWriter(path).close()
    assert str(ps.verify(path)).endswith("; 1 file has no records")


def test_a_file_that_is_not_a_manifest_is_reported(data: Path):
    (data / "train.penstock.json").write_text("{}")
    report = ps.verify(data / "train.penstock.json")
    assert [problem.kind for problem in report.problems] == ["error"]
    assert "not a Penstock manifest" in report.problems[0].cause


# What is read.


def bytes_read() -> int:
    """Return the bytes that this process has read so far, by all of its threads."""
    with open("/proc/self/io") as file:
        return int(file.readline().removeprefix("rchar: "))


@pytest.mark.skipif(not os.path.exists("/proc/self/io"), reason="the system does not count what is read")
@pytest.mark.parametrize("compression", [None, "GZIP", "SNAPPY"])
@pytest.mark.parametrize("decode", [False, True])
def test_every_byte_is_read_once(tmp_path: Path, compression: str | None, decode: bool):
    """Frames, payloads and the checksums of whole files are all checked in one read, of one manifest."""
    rows = {"x": np.random.default_rng(7).integers(0, 1 << 60, (1000, 2000)), "t": np.arange(1000)}
    schema = ps.Schema({"x": ps.Feature("int64", [2000]), "t": ps.Feature("int64", encoding="tensor")})
    ps.write(tmp_path / "train", rows, schema=schema, shards=3, compression=compression)
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert size > 4 << 20
    assert ps.verify(tmp_path / "train", decode=decode).ok  # which also imports what it needs
    one_look = -bytes_read() + bytes_read()
    before = bytes_read() + one_look
    assert ps.verify(tmp_path / "train", decode=decode).ok
    # The first bytes of each shard are read before, to detect its compression.
    assert bytes_read() - before == size + 3 * CERTAIN_BYTES
