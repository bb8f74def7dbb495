"""Iterators: epochs, threads, forks."""

from __future__ import annotations

import multiprocessing
import os
import threading

import pytest
from numbered import KINDS, SCHEMA, TOTAL, ids, write_shards

import penstock as ps


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


def _read_in_child(ds: ps.Dataset, iterator: object, results: object) -> None:
    try:
        next(iterator)
    except RuntimeError as error:
        results.put(str(error))
    results.put(ids(ds))


def test_a_forked_child_starts_its_own_iteration(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA).shuffle(seed=3)
    expected = ids(ds.epoch(0))
    it = iter(ds.epoch(0))
    next(it)
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=_read_in_child, args=(ds.epoch(0), it, results))
    child.start()
    assert "cannot cross a fork" in results.get(timeout=30)
    assert results.get(timeout=30) == expected
    child.join(30)
    assert child.exitcode == 0
    assert [int(row["id"]) for row in it] == expected[1:]


@pytest.mark.parametrize("kind", KINDS)
def test_an_iteration_that_ends_early_leaves_no_thread_and_no_open_file(kind, tmp_path):
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
