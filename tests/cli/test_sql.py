"""``penstock sql``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow.parquet
import pytest
from command_fixtures import Run

import penstock as ps


@pytest.fixture
def numbers(folder: Path) -> Path:
    ps.write("numbers", [{"x": i, "name": f"n{i % 2}", "raw": b"\xff\x00"} for i in range(100)], shards=2)
    return folder


def test_a_result_is_a_table(penstock: Run, numbers: Path):
    found = penstock("sql", "SELECT name, sum(x) AS total FROM 'numbers' GROUP BY 1 ORDER BY 1")
    assert found.exit_code == 0
    assert [line.split() for line in found.stdout.splitlines()] == [["name", "total"], ["n0", "2450"], ["n1", "2500"]]


def test_a_long_result_is_cut_and_says_so(penstock: Run, numbers: Path):
    found = penstock("sql", "SELECT x FROM 'numbers-*.tfrecord' ORDER BY x", "--limit", "3")
    assert found.stdout.split() == ["x", "0", "1", "2"]
    assert "the first 3 rows" in found.stderr


def test_json_has_all_rows_one_a_line(penstock: Run, numbers: Path):
    found = penstock("sql", "SELECT x, raw FROM 'numbers' ORDER BY x DESC", "--json")
    rows = [json.loads(line) for line in found.stdout.splitlines()]
    assert len(rows) == 100
    assert rows[0] == {"x": 99, "raw": "/wA="}


def test_output_is_a_table_file(penstock: Run, numbers: Path):
    found = penstock("sql", "SELECT x FROM 'numbers' WHERE name = 'n1'", "--output", "odd.parquet")
    assert found.exit_code == 0
    assert sorted(pyarrow.parquet.read_table("odd.parquet")["x"].to_pylist()) == list(range(1, 100, 2))
    assert penstock("sql", "SELECT max(x) FROM 'odd.parquet'").stdout.split()[-1] == "99"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT nope FROM 'numbers'", "nope"),
        ("selec", "syntax error"),
        ("DROP TABLE x", "one SELECT statement"),
        ("SELECT * FROM no_such", "no_such"),
    ],
)
def test_a_mistake_in_the_query_exits_with_2(penstock: Run, numbers: Path, query: str, message: str):
    found = penstock("sql", query)
    assert found.exit_code == 2
    assert message in found.stderr


def test_damage_is_reported_with_its_place_and_exits_with_1(penstock: Run, numbers: Path):
    file = numbers / "numbers-00001-of-00002.tfrecord"
    data = bytearray(file.read_bytes())
    data[20] ^= 1
    file.write_bytes(data)
    found = penstock("sql", "SELECT max(x) FROM 'numbers'")
    assert found.exit_code == 1
    assert "numbers-00001-of-00002.tfrecord" in found.stderr
    assert "Traceback" not in found.stderr


def test_an_unknown_extension_of_the_output_is_rejected(penstock: Run, numbers: Path):
    assert penstock("sql", "SELECT 1", "--output", "x.doc").exit_code == 2


def test_a_missing_file_is_reported_and_exits_with_1(penstock: Run, numbers: Path):
    found = penstock("sql", "SELECT * FROM 'no/such.tfrecord'")
    assert found.exit_code == 1
    assert "no/such.tfrecord: no such file" in found.stderr


def test_without_duckdb_the_message_says_what_to_install(penstock: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)  # as if it were not installed
    found = penstock("sql", "SELECT 1")
    assert found.exit_code == 1
    assert "pip install 'penstock[sql]'" in found.stderr
