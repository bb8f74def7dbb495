"""ps.diff: what differs between two datasets."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from schema_examples import example, field, sequence_example, varint

import penstock as ps


def counts(report: ps.DiffReport) -> tuple[int, int, int]:
    return report.changed, report.removed, report.added


def test_compression_sharding_and_the_order_of_features_do_not_count(folder: Path):
    columns = {"id": np.arange(1000), "score": np.linspace(0, 1, 1000, dtype=np.float32), "name": ["x", "yy"] * 500}
    ps.write("a", columns, shards=3)
    ps.write("b", dict(reversed(columns.items())), shards=2, compression="GZIP")
    for by in (None, "id"):
        report = ps.diff("a", "b", by=by)
        assert report.equal, str(report)
        assert (report.a_records, report.b_records, report.bytes_only) == (1000, 1000, 1000)


@pytest.mark.parametrize(
    "encoded", [field(3, b"".join(b"\x08" + varint(n) for n in (1, 300))), field(3, field(1, b"\x81\0\xac\x02"))]
)
def test_other_encodings_of_a_list_are_equal(write_records, encoded: bytes):
    entry = field(1, b"x") + field(2, encoded)
    write_records("a", [example(x=[1, 300])])
    write_records("b", [field(1, field(1, entry))])
    report = ps.diff("a", "b")
    assert (report.equal, report.bytes_only) == (True, 1)


def test_floats_in_several_runs_are_equal(write_records):
    floats = np.arange(100, dtype=np.float32).tobytes()
    entries = [
        field(1, b"x")
        + field(2, field(2, field(1, floats[:200]) + b"\x0d" + floats[200:204] + field(1, floats[204:]))),
        field(1, b"x") + field(2, field(2, field(1, floats[:8])) + field(2, field(1, floats[8:]))),
    ]
    write_records("a", [example(x=np.arange(100.0).tolist())] * 2)
    write_records("b", [field(1, field(1, entry)) for entry in entries])
    report = ps.diff("a", "b")
    assert (report.equal, report.bytes_only) == (True, 2)


@pytest.mark.parametrize("place", [0, 31, 32, 255, 256, 287, 300])
def test_one_byte_of_a_long_value_differs(write_records, place: int):
    value = bytes(301)
    write_records("a", [example(id=1, x=value)])
    write_records("b", [example(x=value[:place] + b"\1" + value[place + 1 :], id=1)])
    for by in (None, "id"):
        assert ps.diff("a", "b", by=by).changed == 1


def test_the_last_entry_of_a_repeated_key_counts_and_an_unset_feature_is_absent(write_records):
    write_records("a", [example(x=2)])
    repeated = example(x=1, unset=None) + example(x=2)
    write_records("b", [repeated])
    assert ps.diff("a", "b").equal
    write_records("c", [example(x=2) + example(x=1)])
    assert ps.diff("a", "c").changed == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (example(x=[]), example()),
        (example(x=[1.0]), example(x=[1])),
        (example(x=[0.0]), example(x=[-0.0])),
        (example(x=["ab", "c"]), example(x=["a", "bc"])),
        (example(x=[1, 2]), example(x=[2, 1])),
        (example(x=1, y=2), example(x=2, y=1)),
        (sequence_example({}, {"s": [[1], [2]]}), sequence_example({}, {"s": [[1, 2]]})),
        (sequence_example({}, {"s": [[1]]}), sequence_example({"s": [1]}, {})),
        (b"no example", b"no examples"),
    ],
)
def test_other_values_differ(write_records, one: bytes, other: bytes):
    write_records("a", [one])
    write_records("b", [other])
    report = ps.diff("a", "b")
    assert counts(report) == (1, 0, 0)
    assert len(report.differences[0].values) == 1 or "y" in report.differences[0].values


def test_nan_equals_itself(write_records):
    write_records("a", [example(x=[float("nan")], y=1, z="a")])
    write_records("b", [example(z="b", y=1, x=[float("nan")])])
    assert list(ps.diff("a", "b").differences[0].values) == ["z"]


def test_values_are_those_of_the_schema(folder: Path):
    ps.write("a", {"x": np.zeros((2, 3)), "n": [1, 2]}, float64="raw")
    ps.write("b", {"x": np.array([[0.0, 0, 0], [0, 7, 0]]), "n": [1, 2]}, float64="raw")
    (difference,) = ps.diff("a", "b").differences
    assert (difference.change, difference.a and difference.a.record, list(difference.values)) == ("changed", 1, ["x"])
    before, after = difference.values["x"]
    assert (before.tolist(), after.tolist()) == ([0, 0, 0], [0, 7, 0])


def test_schemas_in_files_are_compared(folder: Path):
    ps.write("a", {"x": np.array([1, 2], np.int64), "old": [1, 1]})
    ps.write("b", {"x": np.array([1, 2], np.int32), "new": [1, 1]})
    names = {difference.name: (difference.a, difference.b) for difference in ps.diff("a", "b").schema}
    assert names["x"] == (ps.Feature("int64"), ps.Feature("int32"))
    assert names["old"] == (ps.Feature("int64"), None)
    assert names["new"] == (None, ps.Feature("int64"))


def test_inferred_schemas_do_not_differ_where_no_record_does(write_records):
    # A sample shows only some of the features, and another one in other files.
    records = [example(x=i, **({"rare": 1} if i == 1500 else {})) for i in range(3000)]
    write_records("a", records)
    write_records("b-0", records[:1501])
    write_records("b-1", records[1501:])
    assert ps.diff("a", ["b-0", "b-1"]).equal


def test_one_side_is_longer(write_records):
    write_records("a", [example(x=i) for i in range(30)])
    write_records("b", [example(x=i) for i in range(10)])
    longer, shorter = ps.diff("a", "b", limit=3), ps.diff("b", "a", limit=3)
    assert (counts(longer), counts(shorter)) == ((0, 20, 0), (0, 0, 20))
    assert [difference.a and difference.a.record for difference in longer.differences] == [10, 11, 12]
    assert [difference.b and difference.b.record for difference in shorter.differences] == [10, 11, 12]


def damage(path: str, record: int) -> None:
    reader = ps.RecordReader(path)
    offset = next(iter(reader.chunks())).frame_offset(record)
    data = bytearray(Path(path).read_bytes())
    data[offset + 12] ^= 1
    Path(path).write_bytes(data)


def test_damage_is_a_problem_and_no_difference(write_records):
    records = [example(id=i, x=i % 3) for i in range(50)]
    write_records("a", records)
    write_records("b", [*records[:45], example(id=45, x=7), *records[46:]])
    damage("b", 20)
    report = ps.diff("a", "b")
    assert counts(report) == (0, 0, 0)
    assert (report.equal, report.a_records, report.b_records) == (False, 20, 20)
    assert [(problem.path, problem.record) for problem in report.problems] == [("b", 20)]
    report = ps.diff("a", "b", by="id")
    assert (counts(report), report.unmatched) == ((1, 0, 0), 1)
    assert report.differences[0].key == 45
    assert [(problem.path, problem.record) for problem in report.problems] == [("b", 20)]


def test_a_missing_file_is_a_problem(write_records):
    write_records("a", [example(x=1)])
    for by in (None, "x"):
        report = ps.diff("a", "gone", by=by)
        assert (counts(report), [problem.kind for problem in report.problems]) == ((0, 0, 0), ["not-found"])


def test_an_unknown_key_raises(write_records):
    write_records("a", [example(label=1)])
    with pytest.raises(ps.SchemaError, match="did you mean 'label'"):
        ps.diff("a", "a", by="labl")


def test_json_has_bytes_as_base64(write_records):
    write_records("a", [example(x=b"\xff\x00", y=[float("nan"), 1.0])])
    write_records("b", [example(x=b"\xff\x01", y=[1.0, 2.0])])
    document = json.loads(ps.diff("a", "b").to_json())
    assert document["differences"][0]["values"] == {
        "x": {"a": "/wA=", "b": "/wE="},
        "y": {"a": ["NaN", 1.0], "b": [1.0, 2.0]},
    }


Row = dict[str, Any]
ROWS = st.lists(
    st.fixed_dictionaries(
        {"id": st.integers(0, 6)},
        optional={"x": st.sampled_from([0, 1, [1, 2], []]), "name": st.sampled_from(["", "a", "bc"])},
    ),
    max_size=12,
)


@given(st.data(), ROWS, ROWS)
def test_random_datasets_differ_as_a_model_says(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, a: list[Row], other: list[Row]
):
    # Half of the rows of B are those of A, and all may be in another order.
    b = (
        data.draw(st.permutations([*a[: data.draw(st.integers(0, len(a)))], *other[:3]]))
        if data.draw(st.booleans())
        else list(a)
    )
    folder = tmp_path_factory.mktemp("diff")
    _write(folder / "a", a, data.draw(st.integers(1, 3)), "")
    _write(folder / "b", [dict(reversed(row.items())) for row in b], data.draw(st.integers(1, 3)), "GZIP")
    by_position, by_key = (ps.diff(folder / "a", folder / "b", by=by) for by in (None, "id"))

    pairs = list(zip(a, b, strict=False))
    assert counts(by_position) == (sum(x != y for x, y in pairs), max(0, len(a) - len(b)), max(0, len(b) - len(a)))
    places = [difference.a is not None for difference in by_position.differences]
    assert places.count(True) == min(10, by_position.changed) + min(10, by_position.removed)

    changed, left = 0, list(b)
    for row in a:
        match = next((other for other in left if other["id"] == row["id"]), None)
        if match is not None:
            left.remove(match)
            changed += match != row
    ids_a, ids_b = (Counter(row["id"] for row in rows) for rows in (a, b))
    assert counts(by_key) == (changed, (ids_a - ids_b).total(), (ids_b - ids_a).total())
    assert {difference.key for difference in by_key.differences if difference.change == "removed"} <= set(ids_a - ids_b)


def _write(folder: Path, rows: list[Row], shards: int, compression: str) -> None:
    folder.mkdir()
    for shard in range(shards):
        start, stop = len(rows) * shard // shards, len(rows) * (shard + 1) // shards
        with ps.RecordWriter(folder / f"part-{shard}.tfrecord", compression=compression) as writer:
            writer.write_many([example(**row) for row in rows[start:stop]])
