"""penstock index."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.index import load_index


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("PENSTOCK_CACHE", str(folder))
    return folder


def test_indexes_are_stored_in_the_cache_folder(penstock, cache: Path):
    result = penstock("index", "good.tfrecord", "good.tfrecord.gz")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert [line[:5] for line in lines[1:]] == [
        ["10", "240", "B", "random", "good.tfrecord"],
        ["10", *lines[2][1:3], "random", "good.tfrecord.gz"],
    ]
    assert all(line[5:] == ["in", "the", "cache", "folder"] for line in lines[1:])
    shown = json.loads(penstock("index", "good.tfrecord", "good.tfrecord.gz", "--json").stdout)
    assert {Path(entry["index"]) for entry in shown["files"]} == set(cache.iterdir())
    assert load_index("good.tfrecord").records == 10


def test_a_sidecar_is_next_to_the_data(penstock, folder: Path, cache: Path):
    assert penstock("index", "--sidecar", "good.tfrecord").exit_code == 0
    assert (folder / ".good.tfrecord.index").exists()
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("kind", ["dali", "tfindex"])
def test_for_other_tools(penstock, folder: Path, kind: str):
    assert penstock("index", "--format", kind, "good.tfrecord").exit_code == 0
    suffix = ".idx" if kind == "dali" else ".tfindex"
    lines = (folder / f"good.tfrecord{suffix}").read_text().splitlines()
    assert lines == [f"{24 * i} 24" for i in range(10)]


def test_for_other_tools_in_a_file_or_a_folder(penstock, folder: Path):
    assert penstock("index", "--format", "dali", "good.tfrecord", "-o", "one.idx").exit_code == 0
    (folder / "many").mkdir()
    assert penstock("index", "--format", "dali", "good.tfrecord", "-o", "many").exit_code == 0
    assert (folder / "many/good.tfrecord.idx").read_bytes() == (folder / "one.idx").read_bytes()


def test_other_tools_cannot_use_an_index_of_a_compressed_file(penstock, folder: Path):
    result = penstock("index", "--format", "dali", "good.tfrecord.gz")
    assert result.exit_code == 1
    assert "only plain files, and this one is GZIP" in result.stderr
    assert not (folder / "good.tfrecord.gz.idx").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["-o", "x.idx", "good.tfrecord"],
        ["--format", "dali", "--sidecar", "good.tfrecord"],
        ["--format", "dali", "-o", "x.idx", "good.tfrecord", "good.tfrecord.gz"],
    ],
)
def test_options_that_do_not_go_together(penstock, arguments):
    assert penstock("index", *arguments).exit_code == 2


def test_json_and_problems(penstock, damaged: str):
    result = penstock("index", "--json", "good.tfrecord", damaged, "gone.tfrecord", "-")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["problems"]) == (1, 3)
    good, bad, gone, stream = document["files"]
    assert (good["records"], good["compression"], good["seekable"], good["problem"]) == (10, "", True, None)
    assert Path(good["index"]).exists()
    assert (bad["problem"]["kind"], bad["problem"]["record"]) == ("truncated-record", 9)
    assert gone["problem"]["kind"] == "not-found"
    assert "a stream cannot be indexed" in stream["problem"]["cause"]


def test_a_cache_folder_that_cannot_be_written_is_noted(penstock, monkeypatch):
    monkeypatch.setenv("PENSTOCK_CACHE", "good.tfrecord/inside-a-file")
    result = penstock("index", "good.tfrecord")
    assert result.exit_code == 0
    assert "not stored" in result.stdout
