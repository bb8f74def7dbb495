"""Records are copied as they are stored: in any order in parts that fit into memory, and with other columns."""

from __future__ import annotations

import gzip
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.tf import train
from penstock.writing.destination import Destination
from penstock.writing.rewrite import rewrite

COUNT = 3000


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rewrite") / "source"
    texts = ["x" * (number * 7919 % 1500) for number in range(COUNT)]
    keys = np.random.default_rng(1).integers(0, 700, COUNT)
    ps.write(path, {"id": np.arange(COUNT), "key": keys, "text": texts}, shards=3)
    return path


def records_of(path: Path) -> list[bytes]:
    return [record for file in sorted(path.parent.glob(f"{path.name}-*")) for record in ps.RecordReader(file)]


CHANGES = {
    "all": lambda ds: ds,
    "shuffle": lambda ds: ds.shuffle(seed=7).epoch(0),
    "sort": lambda ds: ds.sort("key"),
    "unique": lambda ds: ds.unique("key"),
    "split": lambda ds: ds.split({"a": 0.7, "b": 0.3}, by="id")["a"],
    "shard": lambda ds: ds.shard(1, 3),
    "slice": lambda ds: ds[2500:100:-3],
    "none": lambda ds: ds.take(0),
}


@pytest.mark.parametrize("memory", ["1GB", 1 << 20])
@pytest.mark.parametrize("name", CHANGES)
def test_records_are_copied_in_the_order_of_the_dataset(name: str, memory: int | str, source: Path, tmp_path: Path):
    stored = records_of(source)
    expected = [stored[int(row["id"])] for row in CHANGES[name](ps.Dataset(source))]
    manifest = ps.write(tmp_path / "copy", CHANGES[name](ps.Dataset(source)), shards=2, memory=memory)
    assert records_of(tmp_path / "copy") == expected
    assert [shard.records for shard in manifest.shards] == [len(expected) // 2, -(-len(expected) // 2)]
    assert manifest.verify(tmp_path) == []
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    "options", [{"rows_per_shard": 700}, {"shard_bytes": "200KB"}, {"shards": 2, "compression": "GZIP"}, {}]
)
def test_shards_are_cut_as_without_a_limit(options: dict[str, object], source: Path, tmp_path: Path):
    limited = ps.write(tmp_path / "limited", ps.Dataset(source).sort("key"), memory="2MiB", **options)
    free = ps.write(tmp_path / "free", ps.Dataset(source).sort("key"), **options)
    assert [shard.records for shard in limited.shards] == [shard.records for shard in free.shards]
    assert records_of(tmp_path / "limited") == records_of(tmp_path / "free")
    assert limited.schema == free.schema


def test_compressed_files_of_others_are_copied(source: Path, tmp_path: Path):
    for file in source.parent.glob("source-*"):
        (tmp_path / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), 1))
    ds = ps.Dataset(str(tmp_path / "source-*"), schema=ps.Dataset(source).schema)
    ps.write(tmp_path / "copy", ds.shuffle(seed=1), memory=1 << 20)
    assert sorted(records_of(tmp_path / "copy")) == sorted(records_of(source))


def test_what_cannot_be_copied_raises_before_anything_is_written(source: Path, tmp_path: Path):
    ds = ps.Dataset(source)
    for other in (
        ds.map(lambda row: row),
        ds.batch(4),
        ds.select_columns(["id"]),
        ds.drop_columns(["id"]),
        ds.rename_columns({"id": "number"}),
        ds.filter("id > 4"),
        ds.repeat(2),
    ):
        with pytest.raises((TypeError, ValueError), match="memory="):
            ps.write(tmp_path / "copy", other, memory="1GB")
    with pytest.raises(TypeError, match="takes a Dataset"):
        ps.write(tmp_path / "copy", {"x": [1]}, memory="1GB")
    with pytest.raises(ValueError, match="memory is a number of bytes"):
        ps.write(tmp_path / "copy", ds, memory="much")
    assert not list(tmp_path.iterdir())


def test_too_little_room_is_noticed_before_anything_is_written(source: Path, tmp_path: Path):
    stored = ps.Dataset(source).shuffle(seed=1)._stored_rows()
    huge = replace(stored, lengths=np.full(COUNT, 1 << 45, np.uint64))
    destination = Destination(tmp_path / "copy", compression="", level=2, replace=False, sync=False)
    with pytest.raises(OSError, match="are free: write to another disk"):
        rewrite(huge, destination, (1, None, None), memory=1 << 30, progress=False)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="writes to a local disk"):
        ps.write("memory://bucket/copy", ps.Dataset(source), memory="1GB")


def test_a_damaged_record_leaves_nothing(source: Path, tmp_path: Path):
    for file in source.parent.glob("source*"):
        shutil.copy(file, tmp_path / file.name)
    damaged = sorted(tmp_path.glob("source-*"))[1]
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    (tmp_path / "out").mkdir()
    with pytest.raises(ps.CorruptDataError):
        ps.write(tmp_path / "out" / "copy", ps.Dataset(tmp_path / "source").shuffle(seed=1), memory=1 << 20)
    assert not list((tmp_path / "out").iterdir())


# Columns: entries of Examples, encoded in any way that protobuf reads, are copied or left out, or get another key.

KEYS = ["a", "b", "c", "unnamed"]
SMALL = ps.Schema({name: ps.Feature("int64", optional=True) for name in "abc"})


def varint(value: int, padding: int = 0) -> bytes:
    groups = [value & 127]
    while value := value >> 7:
        groups.append(value & 127)
    groups += [0] * padding
    return bytes(group | 128 for group in groups[:-1]) + bytes(groups[-1:])


@st.composite
def fields(draw: st.DrawFn, number: int, contents: st.SearchStrategy[bytes]) -> bytes:
    content = draw(contents)
    paddings = st.sampled_from([0, 0, 0, 1, 2])
    return varint(number << 3 | 2, draw(paddings)) + varint(len(content), draw(paddings)) + content


unknown = st.sampled_from([b"", b"", b"", b"\x78\x07", b"\x7a\x02ab", b"\x7d1234"])
values = st.one_of(
    fields(3, fields(1, st.integers(0, 1 << 63).map(varint))),
    fields(3, st.just(b"")),
    fields(1, fields(1, st.binary(max_size=200))),
    fields(2, st.just(b"\x0d1234")),
    st.just(b""),
)


@st.composite
def entries(draw: st.DrawFn, in_lists: bool) -> tuple[str, bytes]:
    """Draw the key and the bytes of an entry: its key may come last or twice, its value in two parts."""
    key = draw(st.sampled_from(KEYS))
    whole = fields(1, values) if in_lists else values
    parts = [draw(fields(1, st.just(key.encode()))), draw(fields(2, whole)), draw(unknown)]
    if draw(st.integers(0, 3)) == 0:
        parts = draw(st.permutations([*parts, draw(fields(2, whole))]))
    if draw(st.integers(0, 9)) == 0:
        parts.insert(0, draw(fields(1, st.just(b"first key"))))
    return key, b"".join(parts)


@st.composite
def messages(draw: st.DrawFn, is_sequence: bool) -> tuple[bytes, list[tuple[str, bytes]]]:
    """Draw a message, and the keys and bytes of its entries."""
    message, found = draw(unknown), []
    for _ in range(draw(st.integers(0, 3))):
        section = draw(st.integers(1, 2 if is_sequence else 1))
        of_map = draw(st.lists(entries(section == 2), max_size=4))
        raw = [draw(fields(1, st.just(entry))) for _, entry in of_map]
        found += [(key, field) for (key, _), field in zip(of_map, raw, strict=True)]
        message += draw(fields(section, st.just(b"".join(raw) + draw(unknown)))) + draw(unknown)
    return message, found


def contents_of(record: bytes, is_sequence: bool) -> list[dict[str, bytes]]:
    """Return what protobuf finds in the maps of a record."""
    if is_sequence:
        sequence = train.SequenceExample.FromString(record)
        maps = [sequence.context.feature, sequence.feature_lists.feature_list]
    else:
        maps = [train.Example.FromString(record).features.feature]
    return [{key: found[key].SerializeToString(deterministic=True) for key in found} for found in maps]


COLUMN_CHANGES = {
    "rename": (lambda ds: ds.rename_columns({"a": "new"}), {"a": "new"}, True),
    "long name": (lambda ds: ds.rename_columns({"b": "n" * 200}), {"b": "n" * 200}, True),
    "swap": (lambda ds: ds.rename_columns({"a": "b", "b": "a"}), {"a": "b", "b": "a"}, True),
    "drop": (lambda ds: ds.drop_columns(["b"]), {"b": None}, True),
    "drop and reuse": (lambda ds: ds.drop_columns(["b"]).rename_columns({"a": "b"}), {"a": "b", "b": None}, True),
    "drop twice": (
        lambda ds: ds.drop_columns(["a"]).rename_columns({"b": "a"}).drop_columns(["a"]),
        {"a": None, "b": None},
        True,
    ),
    "select": (lambda ds: ds.select_columns(["c", "a"]), {"b": None, "unnamed": None}, False),
    "select, then drop": (
        lambda ds: ds.select_columns(["c", "a"]).drop_columns(["c"]),
        {"b": None, "c": None, "unnamed": None},
        False,
    ),
}


@pytest.mark.parametrize("is_sequence", [False, True])
@settings(max_examples=60)
@given(st.data())
def test_untouched_entries_keep_their_bytes_and_protobuf_reads_the_others_under_their_new_names(
    is_sequence: bool, data: st.DataObject
):
    change, names, keeps_others = COLUMN_CHANGES[data.draw(st.sampled_from(sorted(COLUMN_CHANGES)))]
    drawn = data.draw(st.lists(messages(is_sequence), min_size=1, max_size=4))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "odd.tfrecord"
        with ps.RecordWriter(path) as writer:
            writer.write_many([message for message, _ in drawn])
        # The features are in the context, or in the lists, and those of the other map are not named.
        schema = ps.Schema({}, sequence={name: ps.Feature("int64", optional=True) for name in SMALL})
        ds = change(ps.Dataset(path, schema=schema if is_sequence else SMALL))
        ps.write(Path(folder) / "out.tfrecord", ds, progress=False)
        copies = list(ps.RecordReader(Path(folder) / "out.tfrecord"))
    for (record, raw), copy in zip(drawn, copies, strict=True):
        before = contents_of(record, is_sequence)
        moved = {names.get(key, key): value for key, value in before[-1].items() if names.get(key, key) is not None}
        others = before[:-1] if keeps_others else [{} for _ in before[:-1]]
        assert contents_of(copy, is_sequence) == [*others, moved]
        if not is_sequence:
            kept, place = [field for key, field in raw if key not in names], 0
            for field in kept:
                place = copy.index(field, place) + len(field)
        if all(key not in names for key, _ in raw) and keeps_others:
            assert copy == record


def small_records(path: Path, *more: bytes) -> Path:
    good = ps.Encoder(ps.Schema({"a": int, "b": int, "unnamed": int})).encode({"a": [1], "b": [2], "unnamed": [3]})
    with ps.RecordWriter(path) as writer:
        writer.write_many([*good, *more])
    return path


def test_features_that_the_schema_does_not_name_stay_unless_columns_are_selected(tmp_path: Path):
    ds = ps.Dataset(small_records(tmp_path / "few.tfrecord"), schema=ps.Schema({"a": int, "b": int}))
    for name, changed, expected in [
        ("renamed", ds.rename_columns({"a": "c"}), {"c", "b", "unnamed"}),
        ("dropped", ds.drop_columns(["b"]), {"a", "unnamed"}),
        ("selected", ds.select_columns(["b"]), {"b"}),
        ("filtered", ds.filter("a == 1").rename_columns({"a": "c"}), {"c", "b", "unnamed"}),
        ("sorted", ds.sort("b").drop_columns(["b"]), {"a", "unnamed"}),
        ("shuffled", ds.shuffle(seed=1).rename_columns({"a": "b", "b": "a"}), {"a", "b", "unnamed"}),
    ]:
        manifest = ps.write(tmp_path / name, changed)
        assert set(train.Example.FromString(records_of(tmp_path / name)[0]).features.feature) == expected
        assert set(manifest.schema) == expected - {"unnamed"}


@pytest.mark.parametrize("order", [lambda ds: ds, lambda ds: ds[::-1], lambda ds: ds.take(2)])
def test_a_bad_record_is_an_error_with_its_place_and_nothing_is_left(order, tmp_path: Path):
    path = small_records(tmp_path / "bad.tfrecord", b"\x0a\x05\x0a\x09")
    ds = ps.Dataset(path, schema=ps.Schema({"a": int, "b": int}))
    with pytest.raises(ps.MalformedExampleError) as caught:
        ps.write(tmp_path / "copy", order(ds).rename_columns({"a": "c"}))
    assert (caught.value.path, caught.value.record) == (str(path), 1)
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_name_of_an_unnamed_feature_is_an_error(tmp_path: Path):
    path = small_records(tmp_path / "few.tfrecord")
    ds = ps.Dataset(path, schema=ps.Schema({"a": int, "b": int}))
    with pytest.raises(ps.MalformedExampleError, match=r"choose another name.*few\.tfrecord, record 0"):
        ps.write(tmp_path / "copy", ds.rename_columns({"a": "unnamed"}))
    ps.write(tmp_path / "copy", ds.select_columns(["a"]).rename_columns({"a": "unnamed"}))
    assert ps.Dataset(tmp_path / "copy")[0] == {"unnamed": 1}


def test_renamed_rows_are_shuffled_by_a_seed(source: Path, tmp_path: Path):
    ds = ps.Dataset(source).rename_columns({"id": "number"})
    for name in ("first", "second"):
        ps.write(tmp_path / name, ds, shuffle=5, shards=3)
    assert records_of(tmp_path / "first") == records_of(tmp_path / "second")
    numbers = [int(row["number"]) for row in ps.Dataset(tmp_path / "first")]
    assert numbers != sorted(numbers)
    assert sorted(numbers) == list(range(COUNT))
