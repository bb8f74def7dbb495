"""Which files a data set is, and what describes them."""

from __future__ import annotations

import shutil

import pytest

import penstock as ps
from numbered import SCHEMA, TOTAL, row_of, write_shards


def ids(ds: ps.Dataset) -> list[int]:
    return [int(row["id"]) for row in ds]


@pytest.mark.parametrize("name", ["", "train", "train.penstock.json", "train-*.tfrecord", "train-*"])
def test_a_data_set_is_found_by_any_of_its_names(written, name):
    ds = ps.Dataset(written / name if name else written)
    assert ds.schema == SCHEMA
    assert len(ds) == 20
    assert ids(ds) == list(range(20))
    assert len(ds.files) == 3


def test_a_data_set_stays_whole_when_it_moves(written, tmp_path):
    shutil.move(written, tmp_path / "moved")
    assert sorted(ids(ps.Dataset(tmp_path / "moved").shuffle(1))) == list(range(20))


def test_what_is_missing_of_a_data_set_is_named(written):
    shard = written / "train-00001-of-00003.tfrecord"
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(ps.ManifestError, match=r"train-00001-of-00003\.tfrecord: expected .* bytes"):
        ps.Dataset(written)
    shard.unlink()
    with pytest.raises(
        ps.ManifestError, match=r"train-00001-of-00003\.tfrecord is missing; .* by a pattern, .*/train-\*"
    ):
        ps.Dataset(written)


def test_shards_without_their_manifest_are_pointed_at(written):
    (written / "train.penstock.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"no manifest train\.penstock\.json: .* pattern, .*/train-\*"):
        ps.Dataset(written / "train")
    assert len(ps.Dataset(f"{written}/train-*")) == 20


def test_one_of_several_data_sets_in_a_folder_must_be_named(written):
    ps.write(written / "test", [row_of(1)], schema=SCHEMA)
    with pytest.raises(ps.ManifestError, match=r"several data sets: name one of them \(test, train\)"):
        ps.Dataset(written)
    assert len(ps.Dataset(written / "test")) == 1


def test_a_part_of_the_shards_is_counted_by_the_manifest(written):
    ds = ps.Dataset(written / "train-00001-of-00003.tfrecord")
    assert ds.schema == SCHEMA
    assert ids(ds) == ids(ps.Dataset(written))[len(ds) : 2 * len(ds)]


def test_the_schema_beside_the_files_is_taken_and_else_inferred(tmp_path):
    files = write_shards(tmp_path, "plain")
    assert ps.Dataset(files).schema == SCHEMA
    (tmp_path / "data.schema.json").unlink()
    inferred = ps.Dataset(files)
    assert inferred.schema["id"] == ps.Feature("int64")
    assert ids(inferred) == list(range(TOTAL))


def test_data_sets_that_are_alike_are_one_by_a_pattern_or_a_list(written):
    more = [row_of(number) for number in range(20, 25)]
    ps.write(written / "valid", more, schema=SCHEMA, shards=2)
    for names in (written / "*.tfrecord", [written / "train", written / "valid-*.tfrecord"]):
        ds = ps.Dataset(names)
        assert ds.schema == SCHEMA
        assert ids(ds) == list(range(25))


def test_data_sets_that_differ_are_not_united_in_silence(written):
    ps.write(written / "test", [{"id": 1.5}])
    for names in (written / "*.tfrecord", [written / "train", written / "test"]):
        with pytest.raises(
            ps.SchemaError, match=r"different records \(\"id\" is Feature\('\w+'\) and Feature\('\w+'\)"
        ):
            ps.Dataset(names)
    with pytest.raises(ps.SchemaError, match=r'"items" is .* and not there|"items" is not there and'):
        ps.write(written / "part", [{"id": 1}])
        ps.Dataset([written / "train", written / "part"])
    ds = ps.Dataset([written / "train", written / "part"], schema=ps.Schema({"id": int}))
    assert ids(ds) == [*range(20), 1]


def test_what_describes_some_of_the_files_holds_for_the_others(written):
    (written / "more.tfrecord").write_bytes((written / "train-00000-of-00003.tfrecord").read_bytes())
    ds = ps.Dataset(written / "*.tfrecord")
    assert ds.schema == SCHEMA
    assert sorted(set(ids(ds))) == list(range(20))


def test_a_data_set_without_records_has_every_order(tmp_path):
    (tmp_path / "empty.tfrecord").touch()
    empty = ps.Dataset(tmp_path / "empty.tfrecord", schema=SCHEMA)
    for ds in (
        empty,
        empty.shuffle(1),
        empty.shuffle(1, window=5),
        empty.interleave(),
        empty.shard(0, 3),
        empty.repeat(),
    ):
        assert list(ds) == list(ds.batch(2)) == []


def test_what_does_not_exist_is_an_error(tmp_path):
    for name in ("nothing", "nothing-*.tfrecord", "nothing/"):
        with pytest.raises(FileNotFoundError):
            ps.Dataset(tmp_path / name)
    with pytest.raises(ValueError, match="at least one file"):
        ps.Dataset([])
