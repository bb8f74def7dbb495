"""penstock diff."""

from __future__ import annotations

import json

from schema_examples import example


def test_equal_files(penstock):
    result = penstock("diff", "good.tfrecord", "good.tfrecord.gz")
    assert (result.exit_code, result.stdout) == (0, "10 records in A, 10 in B: equal\n")


def test_differences_are_shown_with_their_values(penstock, write_records):
    write_records("a", [example(id=i, x=i, v=[float(i)] * 20) for i in range(5)])
    write_records("b", [example(id=i, x=i + (i == 3), v=[float(i)] * (20 - i // 4)) for i in range(5)])
    result = penstock("diff", "a", "b")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[:5] == [
        "5 records in A, 5 in B: 2 changed, 1 feature of the schema differs",
        "schema: v",
        "  - Feature('float32', (20,))",
        "  + Feature('float32', (None,))",
        "changed: a, record 3 and b, record 3",
    ]
    assert lines[5:9] == ["  x", "    - 3", "    + 4", "changed: a, record 4 and b, record 4"]
    assert lines[9] == "  v, from value 19"


def test_records_are_matched_by_a_key(penstock, write_records):
    write_records("a", [example(id="x", n=1), example(id="y", n=2)])
    write_records("b", [example(id="z", n=3), example(id="x", n=1)])
    lines = penstock("diff", "a", "b", "--by", "id").stdout.splitlines()
    assert lines == [
        "2 records in A, 2 in B: 1 only in A, 1 only in B",
        "id 'y': only in A: a, record 1",
        "id 'z': only in B: b, record 0",
    ]


def test_json(penstock, write_records):
    write_records("a", [example(x=i) for i in range(30)])
    write_records("b", [example(x=i + 1) for i in range(30)])
    result = penstock("diff", "--json", "-n", "1", "a", "b")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["equal"], document["changed"]) == (1, False, 30)
    assert document["differences"] == [
        {
            "change": "changed",
            "key": None,
            "a": {"path": "a", "record": 0},
            "b": {"path": "b", "record": 0},
            "values": {"x": {"a": 0, "b": 1}},
        }
    ]


def test_damage_is_reported_with_its_place(penstock, damaged: str):
    result = penstock("diff", "good.tfrecord", damaged)
    assert result.exit_code == 1
    assert "damaged.tfrecord, record 3, byte 72" in result.stderr
    assert result.stdout == "3 records in A, 3 in B: no differences where both could be read\n"


def test_two_datasets_are_needed(penstock):
    result = penstock("diff", "good.tfrecord")
    assert result.exit_code == 2
    assert "Name two datasets" in result.stderr


def test_an_unknown_key_is_an_error(penstock, write_records):
    write_records("a", [example(label=1)])
    result = penstock("diff", "a", "a", "--by", "labl")
    assert result.exit_code == 1
    assert "did you mean 'label'?" in result.stderr
