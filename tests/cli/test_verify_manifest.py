"""penstock verify compares a dataset with its manifest."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import penstock as ps
from penstock.cli import main


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ps.write(tmp_path / "data" / "train", {"x": np.arange(99)}, shards=3)
    return tmp_path / "data"


@pytest.mark.parametrize("name", ["", "train.penstock.json"])
def test_a_whole_dataset_is_ok(folder: Path, name: str):
    result = CliRunner().invoke(main, ["verify", str(folder / name)])
    assert result.exit_code == 0
    assert "ok: 3 files and 1 manifest, 99 records" in result.output


@pytest.mark.parametrize("name", ["", "train.penstock.json"])
def test_what_is_missing_or_swapped_is_reported(folder: Path, name: str):
    first, second, third = sorted(folder.glob("*.tfrecord"))
    first.unlink()
    second.write_bytes(third.read_bytes())  # every record is good, but they are not these
    result = CliRunner().invoke(main, ["verify", str(folder / name), "--json"])
    assert result.exit_code == 1
    problems = [problem for report in json.loads(result.output)["files"] for problem in report["problems"]]
    assert [(Path(problem["path"]).name, problem["kind"]) for problem in problems] == [
        (first.name, "manifest-missing"),
        (second.name, "manifest-checksum"),
    ]


def test_advice_is_given_once_and_in_a_sentence(folder: Path):
    first, second, _ = sorted(folder.glob("*.tfrecord"))
    first.unlink()
    second.unlink()
    output = CliRunner().invoke(main, ["verify", str(folder)]).output
    assert output.count("where a file is missing: copy the dataset again, all of its files") == 1


@pytest.mark.parametrize("name", ["train-{:05d}-of-00009.tfrecord", "mnist-train.tfrecord-{:05d}-of-00009"])
def test_names_tell_what_is_missing_where_no_manifest_does(tmp_path: Path, name: str):
    for number in (0, 4):
        ps.RecordWriter(tmp_path / name.format(number)).close()
    result = CliRunner().invoke(main, ["verify", str(tmp_path)])
    assert result.exit_code == 1
    assert (
        "7 of 9 shards are missing, by the names of the others: 00001, 00002, 00003, 00005, 00006 ..." in result.output
    )
    assert "not ok: 1 problem in 0 of 2 files, 0 records whose checksums match" in result.output
    for number in range(9):
        ps.RecordWriter(tmp_path / name.format(number)).close()
    assert CliRunner().invoke(main, ["verify", str(tmp_path)]).exit_code == 0


def test_files_that_are_named_are_all_that_is_asked_for(tmp_path: Path):
    path = tmp_path / "train-00000-of-00009.tfrecord"
    ps.RecordWriter(path).close()
    result = CliRunner().invoke(main, ["verify", str(path)])
    assert result.exit_code == 0
    assert "1 file holds no record" in result.output


def test_a_manifest_that_is_none_is_reported(folder: Path):
    (folder / "train.penstock.json").write_text("{}")
    result = CliRunner().invoke(main, ["verify", str(folder / "train.penstock.json")])
    assert result.exit_code == 1
    assert "not a Penstock manifest" in result.output
