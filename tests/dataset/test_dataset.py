"""What a dataset is: described, counted, and read at random."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
from numbered import COUNTS, KINDS, SCHEMA, TOTAL, row_of, write_shards

import penstock as ps


def ids(ds: ps.Dataset) -> list[int]:
    return [int(row["id"]) for row in ds]


@pytest.mark.parametrize("kind", KINDS)
def test_examples_are_read_at_random(kind, shards):
    ds = ps.Dataset(shards(kind), schema=SCHEMA)
    assert len(ds) == TOTAL
    assert {**ds[9], "items": ds[9]["items"].tolist()} == row_of(9)
    assert ds[-1]["id"] == TOTAL - 1
    for wrong in (TOTAL, -TOTAL - 1):
        with pytest.raises(IndexError, match=f"element {wrong} of a dataset of {TOTAL}"):
            ds[wrong]


@pytest.mark.parametrize("kind", ["plain", "members"])
def test_many_examples_are_one_batch_in_the_order_asked_for(kind, shards):
    ds = ps.Dataset(shards(kind), schema=SCHEMA)
    chosen = [24, 0, 8, 8, 7, -1]
    batch = ds[chosen]
    assert batch.to_list() == [row_of(number % TOTAL) for number in chosen]
    mask = np.arange(TOTAL) % 5 == 0
    for same in (
        mask,
        mask.tolist(),
        range(0, TOTAL, 5),
        list(np.arange(0, TOTAL, 5)),
        np.flatnonzero(mask)[::-1][::-1],
    ):
        assert ds[same]["id"].tolist() == list(range(0, TOTAL, 5))
    assert ds[[]].num_rows == 0
    assert ids(ds.select(chosen)) == [number % TOTAL for number in chosen]
    for wrong in ([TOTAL], [0, -TOTAL - 1], [2**70], [0.5], [[1]], np.ones(3, bool)):
        with pytest.raises(IndexError):
            ds[wrong]


@pytest.mark.parametrize("kind", ["plain", "members"])
def test_records_are_there_as_they_are_stored(kind, shards):
    ds = ps.Dataset(shards(kind), schema=SCHEMA)
    stored = [record for file in shards(kind) for record in ps.RecordReader(file)]
    assert [ds.record(number) for number in range(TOTAL)] == stored
    assert ds.records([3, 3, -1, 0]) == [stored[3], stored[3], stored[-1], stored[0]]
    assert ds[::-1].record(0) == stored[-1]
    with pytest.raises(TypeError, match="before batch"):
        ds.batch(2).record(0)


def test_dense_columns_are_decoded_into_memory_that_the_caller_makes(shards):
    made = []

    def allocate(name, shape, dtype):
        made.append((name, np.empty(shape, dtype)))
        return made[-1][1]

    for kind in ("plain", "members"):
        made.clear()
        ds = ps.Dataset(shards(kind), schema=SCHEMA).with_allocator(allocate).shuffle(seed=2).batch(10)
        batches = list(ds)
        assert [name for name, _ in made] == ["id"] * 3
        if kind == "plain":
            assert all(np.shares_memory(batch["id"], memory) for batch, (_, memory) in zip(batches, made, strict=True))
        assert sorted(number for batch in batches for number in batch["id"].tolist()) == list(range(TOTAL))


def test_columns_are_chosen(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA, columns=["text", "id"])
    assert list(ds[3]) == ["text", "id"]
    assert list(ds.select_columns(["id"])[3]) == ["id"]
    assert list(ds.select_columns(["id"]).schema) == ["id"]
    with pytest.raises(ps.SchemaError, match="no feature 'nothing'"):
        ds.select_columns(["nothing"])
    with pytest.raises(ps.SchemaError):
        ds.select_columns(["items"])


def test_datasets_behind_one_another_are_shuffled_as_one(shards, tmp_path):
    first = ps.Dataset(shards("plain"), schema=SCHEMA)
    joined = first.concat(first[:3], first.shuffle(seed=1))
    assert len(joined) == 2 * TOTAL + 3
    assert ids(joined) == [*range(TOTAL), 0, 1, 2, *ids(first.shuffle(seed=1))]
    assert sorted(ids(joined.shuffle(seed=5))) == sorted(ids(joined))


def test_pairs_are_read_at_random_and_shuffled_together(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    pairs = ds.zip(ds[3:], ds.map(lambda row: int(row["id"]) * 10))
    assert len(pairs) == TOTAL - 3
    assert [(int(a["id"]), int(b["id"]), c) for a, b, c in pairs] == [(i, i + 3, i * 10) for i in range(TOTAL - 3)]
    assert pairs[4][2] == 40
    shuffled = [(int(a["id"]), int(b["id"]), c) for a, b, c in pairs.shuffle(seed=1)]
    assert shuffled != sorted(shuffled)
    assert sorted(shuffled) == [(i, i + 3, i * 10) for i in range(TOTAL - 3)]


def test_a_mixture_draws_by_weights_and_ends_as_asked(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    low, high = ds.map(lambda row: 0).repeat(), ds.map(lambda row: 1).repeat()
    drawn = list(low.mix(high, weights=[1, 3], seed=5).take(4000))
    assert 2800 < sum(drawn) < 3200
    assert drawn == list(low.mix(high, weights=[1, 3], seed=5).take(4000))
    ended = ids(ds[:5].mix(ds[10:15], weights=[1, 1], seed=1, stop="all"))
    assert sorted(ended) == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]


def test_batches_are_padded_bucketed_and_taken_apart(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    padded = ds.batch(4, pad={"items": ps.Pad(value=-1, length=4)})
    assert padded[0]["items"].tolist() == [[-1] * 4, [0, -1, -1, -1], [0, 1, -1, -1], [0, 1, 2, -1]]
    assert ids(ds.batch(4).unbatch()) == list(range(TOTAL))
    for batch in ds.bucket([2], 5, key="items"):
        lengths = batch["items"].lengths
        assert (lengths < 2).all() or (lengths >= 2).all()


def test_what_is_cached_is_computed_once_and_shuffled_anew(shards):
    calls: list[int] = []

    def costly(row):
        calls.append(int(row["id"]))
        return row

    ds = ps.Dataset(shards("plain"), schema=SCHEMA).map(costly).cache().shuffle(seed=1)
    first, second = ids(ds), ids(ds)
    assert sorted(calls) == sorted(first) == sorted(second) == list(range(TOTAL))
    assert first != second


def test_a_cache_on_disk_is_found_again_and_never_stale(shards, tmp_path):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    folder = tmp_path / "kept"
    assert ids(ds.map(_tripled).cache(folder)) == [3 * number for number in range(TOTAL)]
    assert ids(ds.map(_tripled).cache(folder)) == [3 * number for number in range(TOTAL)]
    assert len(list(folder.iterdir())) == 1
    assert ids(ds[:4].map(_tripled).cache(folder)) == [0, 3, 6, 9]
    assert ids(ds.map(_quadrupled).cache(folder)) == [4 * number for number in range(TOTAL)]
    assert len(list(folder.iterdir())) == 3


def _tripled(row):
    return {"id": row["id"] * 3}


def _quadrupled(row):
    return {"id": row["id"] * 4}


def test_an_epoch_that_was_asked_for_is_that_of_what_is_made_of_it(shards, tmp_path):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA).shuffle(seed=3)
    third = ids(ds.epoch(3))
    assert third != ids(ds.epoch(0))
    chosen = ds.epoch(3)
    for made in (chosen.take(TOTAL), chosen.filter(lambda row: True), chosen.batch(4).unbatch(), chosen.concat(chosen)):
        assert ids(made)[:TOTAL] == third
    assert chosen.to_arrow()["id"].to_pylist() == third
    ps.write(tmp_path / "copy", chosen)
    assert ids(ps.Dataset(tmp_path / "copy")) == third
    list(ds), list(ds)
    assert ids(ds.take(TOTAL)) == ids(ds.epoch(0))  # what was only counted is not


def test_a_dataset_crosses_to_other_processes(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA).shuffle(seed=3)
    assert ids(pickle.loads(pickle.dumps(ds))) == ids(ds.epoch(0))
    assert ids(pickle.loads(pickle.dumps(ds.epoch(5)))) == ids(ds.epoch(5))
    with pytest.raises(TypeError, match="does not pickle"):
        pickle.dumps(iter(ds))


def _read_in_child(ds: ps.Dataset, iterator: object, answers: object) -> None:
    try:
        next(iterator)
    except RuntimeError as error:
        answers.put(str(error))
    answers.put(ids(ds))


def test_a_forked_child_starts_a_pass_of_its_own(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA).shuffle(seed=3)
    expected = ids(ds.epoch(0))
    it = iter(ds.epoch(0))
    next(it)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_read_in_child, args=(ds.epoch(0), it, answers))
    child.start()
    assert "cannot cross a fork" in answers.get(timeout=30)
    assert answers.get(timeout=30) == expected
    child.join(30)
    assert child.exitcode == 0
    assert [int(row["id"]) for row in it] == expected[1:]


@pytest.mark.parametrize("kind", KINDS)
def test_a_pass_that_ends_early_leaves_no_thread_and_no_open_file(kind, tmp_path):
    files = write_shards(tmp_path, kind, (3000, 3000))
    threads, descriptors = threading.active_count(), len(os.listdir("/proc/self/fd"))
    ds = ps.Dataset(files, schema=SCHEMA)
    for change in (lambda ds: ds.batch(7), lambda ds: ds.shuffle(seed=1, window=100).map(dict, workers=2)):
        it = iter(change(ds))
        next(it)
        it.close()
        with pytest.raises(StopIteration):
            next(it)
    del it
    assert threading.active_count() == threads
    assert len(os.listdir("/proc/self/fd")) <= descriptors


def test_an_error_in_a_function_comes_at_its_element(shards):
    def fails(row):
        if row["id"] == 5:
            raise RuntimeError("no five")
        return row

    it = iter(ps.Dataset(shards("plain"), schema=SCHEMA).map(fails))
    assert [int(next(it)["id"]) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="no five"):
        next(it)


def test_bad_arguments_are_refused_at_once(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    for call in (
        lambda: ds.batch(0),
        lambda: ds.shard(2, 2),
        lambda: ds.shard(0, 0),
        lambda: ds.shuffle(seed=-1),
        lambda: ds.shuffle(seed=1 << 64),
        lambda: ds.mix(ds, weights=[1], seed=1),
        lambda: ds.mix(ds, weights=[1, 0], seed=1),
        lambda: ds.mix(ds, weights=[1, float("nan")], seed=1),
        lambda: ds.mix(ds, weights=[1, 1], seed=1, stop="last"),
        lambda: ds.cache("s3://bucket/cache"),
        lambda: ps.Dataset(shards("plain"), compression="gzip"),
        lambda: ps.Dataset(shards("plain"), threads=0),
        lambda: ps.Dataset(shards("plain"), index="nowhere"),
        lambda: ds.shuffle(seed=1, window=0),
        lambda: ds.take(-1),
        lambda: ds.repeat(-1),
        lambda: ds.shard(0, 2, remainder="some"),
        lambda: ds.shuffle(seed=1).interleave(),
    ):
        with pytest.raises(ValueError, match=r"is|has|must be|comes first|takes a rank"):
            call()


def test_what_has_no_length_says_so(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    for endless in (ds.repeat(), ds.filter(len)):
        with pytest.raises(TypeError, match="no length"):
            len(endless)
    with pytest.raises(TypeError, match="have no index"):
        ds.filter(len)[0]
    with pytest.raises(TypeError, match="needs elements with an index"):
        ds.filter(len).shuffle(seed=1)
    assert len(ds.batch(10)) == 3
    assert len(ds.batch(10, drop_last=True).repeat(4)) == 8


def test_a_shuffle_behind_a_cache_on_disk_names_the_way_out(shards, tmp_path: Path):
    cached = ps.Dataset(shards("plain"), schema=SCHEMA).cache(tmp_path)
    with pytest.raises(TypeError, match=r"before .* cache\(\); after them, shuffle\(seed=7, window=10_000\) mixes"):
        cached.shuffle(seed=7)
    assert sorted(ids(cached.shuffle(seed=7, window=10_000))) == list(range(TOTAL))


def test_datasets_are_joined_with_datasets(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    for call in (lambda: ds.concat([ds, ds]), lambda: ds.zip([ds]), lambda: ds.mix([ds], weights=[1, 1], seed=1)):
        with pytest.raises(TypeError, match=r"(concat|zip|mix)\(\) takes datasets, one argument each, not list"):
            call()


def test_ranks_and_workers_part_the_records(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA).shuffle(seed=9)
    for world in range(1, 8):
        for workers in range(1, 8):
            shares = [ids(ds.shard(r, world).shard(w, workers).epoch(0)) for r in range(world) for w in range(workers)]
            assert sorted(number for share in shares for number in share) == list(range(TOTAL))


def test_counts_of_shards_are_those_of_the_files(shards):
    assert sum(COUNTS) == len(ps.Dataset(shards("members"), schema=SCHEMA))


def test_a_line_says_what_it_is(written: Path):
    ds = ps.Dataset(written / "train")
    assert repr(ds) == f"<Dataset of 3 files, 20 records: {', '.join(SCHEMA)}>"
    steps = repr(ds.shuffle(seed=7).map(ids).batch(4)).rpartition("; ")[2]
    assert steps == "shuffle(seed=7), map(ids), batch(4)>"
    steps = repr(ds.map(ids).batch(4).shuffle(seed=7).map(len).batch(2)).rpartition("; ")[2]
    assert steps == "map(ids), batch(4), shuffle(seed=7), map(len), batch(2)>"
    assert repr(ds.zip(ds.take(3))) == "<Dataset of zip([], [take(3)])>"
    assert repr(iter(ds)).startswith("<epoch 0, 0 elements returned, of <Dataset of 3 files")


def test_columns_are_a_list_of_names_that_are_there(written: Path):
    with pytest.raises(TypeError, match=r"\['id'\]"):
        ps.Dataset(written / "train", columns="id")
    with pytest.raises(ps.SchemaError, match="no feature 'it'"):
        ps.Dataset(written / "train", columns=["it"])


def test_examples_cannot_be_taken_apart(written: Path):
    with pytest.raises(TypeError, match="takes batches apart"):
        next(iter(ps.Dataset(written / "train").unbatch()))


def test_rows_of_gzip_members_are_read_together_in_any_order(tmp_path: Path):
    schema = ps.Schema({"id": ps.Feature("int64"), "data": ps.Feature("bytes")})
    rows = [{"id": number, "data": bytes([number % 251]) * (number * 37 % 900)} for number in range(3000)]
    ps.write(tmp_path / "train", rows, schema=schema, shards=3, compression="GZIP")
    ds = ps.Dataset(tmp_path / "train")
    chosen = np.random.default_rng(4).integers(0, 3000, 5000).tolist()  # many of them several times
    found = [row for batch in ds.select(chosen).batch(64) for row in batch.to_list()]
    assert found == [rows[number] for number in chosen]
    shuffled = [row for batch in ds.shuffle(seed=2).batch(64) for row in batch.to_list()]
    assert sorted(shuffled, key=lambda row: row["id"]) == rows


def test_a_shuffle_buffer_of_tf_data_is_refused_with_what_to_write(written: Path):
    with pytest.raises(TypeError, match=r"no buffer size: .* shuffle\(seed=\.\.\., window=1000\)"):
        ps.Dataset(written / "train").shuffle(1000)


def test_arguments_of_shard_in_the_order_of_tf_data_are_refused(written: Path):
    with pytest.raises(ValueError, match=r"shard\(rank, world\) .* not 4 \(tf.data takes them in the other order\)"):
        ps.Dataset(written / "train").shard(4, 1)


def test_column_names_are_those_that_are_decoded(written: Path):
    ds = ps.Dataset(written / "train")
    assert ds.column_names == list(SCHEMA)
    assert ds.select_columns(["id"]).map(dict).column_names == ["id"]
    with pytest.raises(TypeError, match="have a schema each"):
        _ = ds.zip(ds).column_names
