"""The repr of a dataset: files, columns and the calls that made it."""

from __future__ import annotations

from pathlib import Path

from numbered import SCHEMA

import penstock as ps


def double(row: dict[str, object]) -> dict[str, object]:
    return row


def calls(ds: ps.Dataset) -> str:
    return repr(ds).rpartition("; ")[2]


def test_files_and_columns_are_shown(written: Path):
    ds = ps.Dataset(written / "train")
    assert repr(ds) == f"<Dataset of 3 files, 20 records: {', '.join(SCHEMA)}>"
    assert repr(iter(ds)).startswith("<epoch 0, 0 elements returned, of <Dataset of 3 files")


def test_calls_are_shown_in_their_order(written: Path):
    ds = ps.Dataset(written / "train")
    assert calls(ds.shuffle(seed=7).map(double).batch(4)) == "shuffle(seed=7), map(double), batch(4)>"
    nested = ds.map(double).batch(4, drop_last=True).shuffle(seed=7).map(len).batch(2)
    assert calls(nested) == "map(double), batch(4, drop_last=True), shuffle(seed=7), map(len), batch(2)>"
    chosen = ds.skip(1).take(9)[2:8][::2].select([0, 1]).shard(0, 2, remainder="drop").repeat()
    assert calls(chosen) == (
        "skip(1), take(9), [2:8], [0::2], select(2 positions), shard(0, 2, remainder='drop'), repeat()>"
    )
    streamed = ds.filter(double).shard(1, 2).take(3).skip(1).shuffle(seed=1, window=9).repeat(2).prefetch(2)
    assert calls(streamed) == (
        "filter(double), shard(1, 2), take(3), skip(1), shuffle(seed=1, window=9), repeat(2), prefetch(2)>"
    )
    assert calls(ds.interleave(2).batch(3).unbatch().cache()) == "interleave(cycle=2), batch(3), unbatch(), cache()>"


def test_joined_datasets_are_shown_side_by_side(written: Path):
    ds = ps.Dataset(written / "train")
    assert repr(ds.zip(ds.take(3))) == "<Dataset of zip([], [take(3)])>"
    assert calls(ds.concat(ds.shuffle(seed=1))) == "concat([], [shuffle(seed=1)])>"
    mixed = ds.filter(double).mix(ds, weights=[1, 2], seed=3, stop="all")
    assert repr(mixed) == "<Dataset of mix([filter(double)], [], weights=[1.0, 2.0], seed=3, stop='all')>"


def test_each_step_is_explained_on_a_line(written: Path):
    ds = ps.Dataset(written / "train")
    columns = ", ".join(SCHEMA)
    assert ds.sort("id").batch(4).explain().splitlines() == [
        f"read 3 files, 20 records: {columns}",
        "sort('id')",
        "batch(4)",
        "elements have an index: a length, random access, exact shuffles and shares of ranks",
    ]
    joined = (
        ds.map(double).concat(ds.filter("id > 3").drop_columns(["items"])).pack(4, key="items").explain().splitlines()
    )
    assert joined[:4] == [
        f"  read 3 files, 20 records: {columns}",
        "  map(double)",
        "  read 3 files, 20 records: id, text",
        "  filter('id > 3')  decodes id, and the rest of rows that pass",
    ]
    assert joined[4].startswith("concat(")
    assert joined[5] == "pack(4, key='items')"
    assert joined[6].startswith("elements come one after another")
