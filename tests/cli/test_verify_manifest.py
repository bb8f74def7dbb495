"""penstock verify compares a data set with its manifest."""

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
def test_a_whole_data_set_is_ok(folder: Path, name: str):
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


def test_a_manifest_that_is_none_is_reported(folder: Path):
    (folder / "train.penstock.json").write_text("{}")
    result = CliRunner().invoke(main, ["verify", str(folder / "train.penstock.json")])
    assert result.exit_code == 1
    assert "no manifest" in result.output
