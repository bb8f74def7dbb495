"""Damaged records and records that do not fit: raised, or skipped and counted."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from numbered import SCHEMA, write_shards
from schema_examples import example, example_list

import penstock as ps
from penstock.compression.gzip import GzipCompressor

COUNTS = (6, 5)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return write_shards(tmp_path, "plain", COUNTS)


def flip(path: str, offset: int) -> None:
    data = bytearray(Path(path).read_bytes())
    data[offset] ^= 0x10
    Path(path).write_bytes(data)


def frames(path: str) -> list[tuple[int, int]]:
    """Where the frames of a file start and end."""
    data, at, found = Path(path).read_bytes(), 0, []
    while at < len(data):
        end = at + 16 + int.from_bytes(data[at : at + 8], "little")
        found.append((at, end))
        at = end
    return found


def ids(ds: ps.Dataset) -> list[int]:
    return [int(row["id"]) for row in ds]


@pytest.mark.parametrize("change", [lambda ds: ds, lambda ds: ds.shuffle(seed=1)], ids=["in order", "shuffled"])
def test_damage_raises_with_its_offset(files, change):
    start, _ = frames(files[1])[2]
    flip(files[1], start + 14)
    with pytest.raises(ps.ChecksumError) as caught:
        ids(change(ps.Dataset(files, schema=SCHEMA)))
    assert (caught.value.path, caught.value.record, caught.value.offset) == (files[1], 2, start)


ORDERS = {
    "in order": lambda ds: ds,
    "some": lambda ds: ds[0:11],
    "shuffled": lambda ds: ds.shuffle(seed=1),
    "mapped": lambda ds: ds.map(dict, workers=2),
}


@pytest.mark.parametrize("compression", ["", "GZIP"])
@pytest.mark.parametrize("change", ORDERS.values(), ids=ORDERS)
def test_rows_before_a_malformed_one_come_first(tmp_path, change, compression):
    records = ps.Encoder(SCHEMA).encode([{"id": n, "items": [], "text": ""} for n in range(11)])
    for name, odd in ("sound", {}), ("odd", {7, 8}):
        with ps.RecordWriter(tmp_path / f"{name}.tfrecord", compression=compression) as writer:
            writer.write_many(b"no example" if n in odd else record for n, record in enumerate(records))
    order = ids(change(ps.Dataset(tmp_path / "sound.tfrecord", schema=SCHEMA)))
    seen: list[int] = []
    with pytest.raises(ps.MalformedExampleError) as caught:
        seen.extend(int(row["id"]) for row in change(ps.Dataset(tmp_path / "odd.tfrecord", schema=SCHEMA)))
    first = min(order.index(7), order.index(8))
    assert (seen, caught.value.record) == (order[:first], order[first])


@pytest.mark.parametrize("byte", [14, 3])
@pytest.mark.parametrize("change", ORDERS.values(), ids=ORDERS)
def test_a_batch_with_damage_raises_and_is_not_returned_in_part(files, change, byte):
    indexed = ps.Dataset(files, schema=SCHEMA)
    assert len(indexed) == 11  # before the damage
    flip(files[1], frames(files[1])[2][0] + byte)
    for drop_last in (False, True):
        sizes: list[int] = []
        with pytest.raises(ps.CorruptDataError, match="record 2"):
            sizes.extend(batch.num_rows for batch in change(indexed).batch(3, drop_last=drop_last))
        assert set(sizes) <= {3}


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize(
    ("byte", "kind", "what"),
    [(14, "data-crc", "1 record"), (3, "length-crc", "1 damaged place, with all records in it,")],
)
def test_damage_is_skipped_and_counted(files, shuffle, byte, kind, what):
    flip(files[1], frames(files[1])[2][0] + byte)
    seen: list[ps.PenstockError] = []
    ds = ps.Dataset(files, schema=SCHEMA, on_error=seen.append)
    it = iter(ds.shuffle(seed=1) if shuffle else ds)
    with pytest.warns(UserWarning, match=rf"{what} was skipped \(1 {kind}\); the first: .*, record 2,"):
        found = [int(row["id"]) for row in it]
    assert sorted(found) == [0, 1, 2, 3, 4, 5, 6, 7, 9, 10]
    assert dict(it.meter.skipped) == {kind: 1}
    assert it.meter.damaged_places == (kind == "length-crc")
    assert [(error.path, error.record) for error in seen] == [(files[1], 2)]


def write_compressed(path: Path, kind: str, rows: int) -> None:
    """Write numbered rows that do not compress: some of each member, or of the one stream, can be saved."""
    noise = np.random.default_rng(7).bytes(rows * 40)
    records = [{"id": n, "items": [], "text": noise[40 * n : 40 * n + 40].hex()} for n in range(rows)]
    with ps.RecordWriter(path, compression="GZIP" if kind == "members" else "") as writer:
        for record in ps.Encoder(SCHEMA).encode(records):
            writer.write(record)
            if kind == "members" and writer.count % 50 == 0:
                writer.flush()
    if kind == "stream":
        path.write_bytes(gzip.compress(path.read_bytes()))


@pytest.mark.filterwarnings("ignore:.* skipped")
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("kind", ["members", "stream"])
def test_every_record_outside_the_damage_of_a_gzip_file_is_read(tmp_path, kind, shuffle):
    path = tmp_path / "data.tfrecord.gz"
    write_compressed(path, kind, 400)
    flip(str(path), path.stat().st_size // 2 + 999)
    reader = ps.RecordReader(path, on_error="skip")
    saved = ps.Decoder(SCHEMA).decode(list(reader))["id"].tolist()
    assert reader.damage
    assert 100 < len(saved) < 400
    ds = ps.Dataset(path, schema=SCHEMA, on_error="skip")
    found = ids(ds.shuffle(seed=3, window=None if kind == "members" else 50) if shuffle else ds)
    assert sorted(found) == saved
    assert (found == saved) is not shuffle


@pytest.mark.parametrize("kind", ["members", "stream"])
def test_a_bad_payload_in_a_sound_gzip_file_is_the_only_record_lost(tmp_path, kind):
    plain, path = tmp_path / "plain.tfrecord", tmp_path / "data.tfrecord.gz"
    write_compressed(plain, "plain", 20)
    frame, _ = frames(str(plain))[7]
    flip(str(plain), frame + 14)
    data = plain.read_bytes()
    members = GzipCompressor(2)
    assert not members.encode(data, 20)
    path.write_bytes(gzip.compress(data) if kind == "stream" else b"".join(members.finish()))
    ds = ps.Dataset(path, schema=SCHEMA, on_error="skip")
    with pytest.warns(UserWarning, match=r"1 record was skipped \(1 data-crc\)"):
        assert ids(ds) == [n for n in range(20) if n != 7]
    assert ds[8]["id"] == 8
    with pytest.raises(ps.ChecksumError, match="record 7"):
        ds[7]


def test_records_that_do_not_fit_the_schema_are_skipped(files, tmp_path):
    other = ps.Schema({"id": ps.Feature("str")})
    with ps.RecordWriter(tmp_path / "odd.tfrecord") as writer:
        writer.write_many(ps.Encoder(SCHEMA).encode([{"id": 1, "items": [], "text": "a"}]))
        writer.write_many(ps.Encoder(other).encode([{"id": "no number"}]))
        writer.write(b"no example at all")
        writer.write_many(ps.Encoder(SCHEMA).encode([{"id": 2, "items": [], "text": "b"}]))
    ds = ps.Dataset(tmp_path / "odd.tfrecord", schema=SCHEMA, on_error="skip").batch(2)
    with pytest.warns(UserWarning, match=r"2 records were skipped \(2 schema\); the first: "):
        batches = [batch["id"].tolist() for batch in ds]
    assert batches == [[1, 2]]


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_file_that_is_named_twice_is_skipped_twice(files, tmp_path, shuffle):
    flip(files[0], frames(files[0])[1][0] + 14)
    with ps.RecordWriter(tmp_path / "odd.tfrecord") as writer:
        writer.write_many([*ps.Encoder(SCHEMA).encode([{"id": 20, "items": [], "text": ""}]), b"no example"])
    ds = ps.Dataset([files[0], tmp_path / "odd.tfrecord"] * 2, schema=SCHEMA, on_error="skip")
    with pytest.warns(UserWarning, match="4 records were skipped"):
        found = ids(ds.shuffle(seed=1) if shuffle else ds)
    assert sorted(found) == sorted([0, 2, 3, 4, 5, 20] * 2)


def test_batches_are_filled_around_damage(files):
    for record in (0, 3):
        flip(files[0], frames(files[0])[record][0] + 14)
    ds = ps.Dataset(files, schema=SCHEMA, on_error="skip").batch(3)
    with pytest.warns(UserWarning, match="2 records"):
        assert [batch["id"].tolist() for batch in ds] == [[1, 2, 4], [5, 6, 7], [8, 9, 10]]


@pytest.mark.filterwarnings("ignore:1 record was skipped")
def test_an_iteration_around_damage_is_resumed_at_any_step(files):
    flip(files[0], frames(files[0])[2][0] + 14)
    ds = ps.Dataset(files, schema=SCHEMA, on_error="skip").shuffle(seed=4).batch(3)
    whole = [batch["id"].tolist() for batch in ds.epoch(0)]
    for step in range(len(whole)):
        it = iter(ds.epoch(0))
        for _ in range(step):
            next(it)
        state = it.state_dict()
        it.close()
        resumed = iter(ds)
        resumed.load_state_dict(state)
        assert [batch["id"].tolist() for batch in resumed] == whole[step:]


def test_a_file_that_changed_is_not_read_with_its_old_index(files):
    ds = ps.Dataset(files, schema=SCHEMA)
    assert ids(ds.shuffle(seed=1))
    write_shards(Path(files[0]).parent, "plain", (3, 9))
    with pytest.raises((ps.CorruptDataError, ps.StaleIndexError, OSError)):
        ids(ds.shuffle(seed=1))
    fresh = ps.Dataset(files, schema=SCHEMA)
    assert sorted(ids(fresh.shuffle(seed=1))) == list(range(12))


@pytest.mark.parametrize("lengths", [(20, 10), (5, 25), (10, 20, 0)])
def test_a_rewritten_file_raises_changed(tmp_path: Path, lengths: tuple[int, ...]):
    path = tmp_path / "some.tfrecord"

    def write(*lengths: int) -> None:
        with ps.RecordWriter(path, atomic=False) as writer:  # where it lies: a new file would leave the old one open
            writer.write_many(map(bytes, lengths))

    write(10, 20, 30, 40)
    ds = ps.Dataset(path, schema=ps.Schema({}))
    assert [len(record) for record in ds.records([3, 0])] == [40, 10]
    write(*lengths, 70, 80)
    with pytest.raises(ps.CorruptDataError, match="changed since it was indexed") as caught:
        ds.record(0 if lengths[0] != 10 else 2)
    assert caught.value.kind == "changed"


@pytest.mark.parametrize("share", [0.01, 0.5, 1])
@pytest.mark.parametrize("byte", [3, 9, 14, 30])
def test_every_record_outside_the_damage_is_read_where_an_index_knows_it(tmp_path: Path, byte: int, share: float):
    path, schema, rows = tmp_path / "some.tfrecord", ps.Schema({"x": ps.Feature("int64", (100,))}), 2000
    x = np.arange(rows)[:, None] + np.zeros((1, 100), np.int64)
    with ps.RecordWriter(path) as writer:
        writer.write_many(ps.Encoder(schema).encode({"x": x + 1000}))  # all are of one length
    assert len(ps.Dataset(path, schema=schema, index="sidecar")) == rows
    data = np.frombuffer(path.read_bytes(), np.uint8).reshape(rows, -1).copy()
    bad = np.random.default_rng(1).random(rows) < share
    bad[:400] = bad[-400:] = False  # 64 KB at both ends show that it is the file of the index
    data[bad, byte] ^= 1
    path.write_bytes(data.tobytes())
    errors: list[Exception] = []
    ds = ps.Dataset(path, schema=schema, on_error=errors.append)
    with pytest.warns(UserWarning, match=f"{bad.sum():,} records were skipped"):
        found = [int(row["x"][0]) - 1000 for row in ds.shuffle(seed=1)]
    assert sorted(found) == np.flatnonzero(~bad).tolist()
    assert sorted(error.record for error in errors) == np.flatnonzero(bad).tolist()


@pytest.mark.parametrize("share", [0.1, 1])
def test_every_valid_record_is_read_however_many_are_malformed(tmp_path: Path, share: float):
    schema, other = (ps.Schema({"x": ps.Feature("int64", (size,))}) for size in (2, 3))
    rows = np.arange(3000)
    bad = np.random.default_rng(1).random(len(rows)) < share
    path = tmp_path / "some.tfrecord"
    with ps.RecordWriter(path) as writer:
        for row in rows.tolist():
            writer.write_many(ps.Encoder(other if bad[row] else schema).encode([{"x": [row] * (3 if bad[row] else 2)}]))
    errors: list[Exception] = []
    ds = ps.Dataset(path, schema=schema, on_error=errors.append)
    with pytest.warns(UserWarning, match=f"{bad.sum():,} records were skipped"):
        found = [int(row["x"][0]) for row in ds]
    assert found == rows[~bad].tolist()
    assert [error.record for error in errors] == np.flatnonzero(bad).tolist()
    # Frames that they came through would keep the records of their blocks alive.
    assert {(error.__traceback__, error.__context__) for error in errors} == {(None, None)}


def test_a_truncated_file_loses_only_its_tail(files):
    start, end = frames(files[0])[4]
    Path(files[0]).write_bytes(Path(files[0]).read_bytes()[: end - 3])
    ds = ps.Dataset(files, schema=SCHEMA, on_error="skip")
    with pytest.warns(UserWarning, match="truncated"):
        assert ids(ds) == [0, 1, 2, 3, 6, 7, 8, 9, 10]
    with pytest.raises(ps.TruncatedError) as caught:
        ids(ps.Dataset(files, schema=SCHEMA))
    assert caught.value.offset == start


def test_an_unknown_policy_raises(files):
    with pytest.raises(ValueError, match="on_error"):
        ps.Dataset(files, schema=SCHEMA, on_error="ignore")


def test_rows_are_read_by_position_around_damage(files):
    flip(files[0], frames(files[0])[1][0] + 14)
    ds = ps.Dataset(files, schema=SCHEMA)
    assert ds[2]["id"] == 2
    with pytest.raises(ps.ChecksumError, match="record 1"):
        ds[1]
    assert ds[np.array([0, -1])]["id"].tolist() == [0, 10]


def test_a_record_above_the_limit_raises_even_with_an_index(tmp_path):
    path = tmp_path / "data.tfrecord"
    with ps.RecordWriter(path) as writer:
        writer.write_many(ps.Encoder(SCHEMA).encode([{"id": n, "items": [], "text": "x" * 9 * n} for n in range(9)]))
    assert len(ps.Dataset(path, schema=SCHEMA)) == 9  # and its index is stored
    with pytest.raises(ps.RecordTooLargeError, match="record 6"):
        ids(ps.Dataset(path, schema=SCHEMA, max_record_bytes=90).shuffle(seed=1))
    short = ps.Dataset(path, schema=SCHEMA, max_record_bytes=90, on_error="skip")
    with pytest.warns(UserWarning, match="too-large"):
        assert sorted(ids(short.shuffle(seed=1))) == [0, 1, 2, 3, 4, 5]


def test_the_schema_of_damaged_files_is_inferred_from_intact_records(tmp_path: Path):
    path = tmp_path / "x.tfrecord"
    with ps.RecordWriter(path) as writer:
        writer.write_many(ps.Encoder(ps.Schema({"a": int})).encode({"a": [0, 1, 2]}))
    data = bytearray(path.read_bytes())
    data[14] ^= 1
    path.write_bytes(data)
    with pytest.warns(UserWarning, match="1 record was skipped"):
        assert [row["a"] for row in ps.Dataset(path, on_error="skip")] == [1, 2]


def test_any_single_row_of_a_stream_can_be_read(tmp_path):
    path = tmp_path / "data.tfrecord.gz"
    write_compressed(path, "stream", 20_000)  # more than is inflated at once
    ds = ps.Dataset(path, schema=SCHEMA)
    assert [ds[number]["id"] for number in (15_000, 3, 19_999)] == [15_000, 3, 19_999]


def test_a_shard_that_is_replaced_during_a_shuffle_is_read_unchanged(tmp_path):
    for value, name in enumerate(("old", "new")):
        ps.write(tmp_path / name, {"x": np.full(20_000, value)})
    old, new = (tmp_path / f"{name}-00000-of-00001.tfrecord" for name in ("old", "new"))
    batches = iter(ps.Dataset(old, threads=8).shuffle(seed=1).batch(64))
    next(batches)
    new.replace(old)
    assert {int(value) for batch in batches for value in batch["x"]} == {0}


@pytest.mark.parametrize(("compression", "order"), [("", "in order"), ("", "shuffled"), ("GZIP", "in order")])
def test_records_between_two_damaged_regions_are_read_if_payloads_are_not_nested(tmp_path, compression, order):
    path = write_shards(tmp_path, "plain", (400,))[0]
    places, data = frames(path), bytearray(Path(path).read_bytes())
    for record in (150, 250):
        data[places[record][0] : places[record][1] - 2] = bytes(places[record][1] - places[record][0] - 2)
    Path(path).write_bytes(gzip.compress(data) if compression else data)
    found = {}
    for nested in (True, None, False):
        ds = ps.Dataset(path, schema=SCHEMA, on_error="skip", nested=nested)
        with pytest.warns(UserWarning, match="length-crc"):
            found[nested] = sorted(ids(ORDERS[order](ds)))
    whole = [n for n in range(400) if n not in (150, 250)]
    assert found == {True: [n for n in whole if not 150 < n < 250], None: whole, False: whole}


@pytest.mark.parametrize("name", ["x.tfrecord", "x.tfrecord.gz"])
def test_another_message_after_the_sample_is_no_empty_row(tmp_path: Path, name: str):
    # The schema is inferred from the first 1,000 records; as Examples without features, the others would fit it.
    path = tmp_path / name
    with ps.RecordWriter(path) as writer:
        writer.write_many([example(a=1), example(), *[example(a=2)] * 998, example_list([example(a=3)]), example(a=4)])
    ds = ps.Dataset(path)
    assert ds.schema == ps.Schema({"a": ps.Feature("int64", optional=True)})
    for read in (lambda: list(ds), lambda: list(ds.batch(7)), lambda: list(ds.shuffle(seed=1)), lambda: ds[1000]):
        with pytest.raises(ps.MalformedExampleError, match=r"found another message.*, record 1000"):
            read()
    errors: list[ps.PenstockError] = []
    with pytest.warns(UserWarning, match="1 record was skipped"):
        stored = [row["a"] for row in ps.Dataset(path, on_error=errors.append)]
    assert (len(stored), stored[:3], stored[-1], len(errors)) == (1001, [1, None, 2], 4, 1)
    # By a schema that was given, the rules are TensorFlow's.
    assert ps.Dataset(path, schema=ds.schema)[1000] == {"a": None}
