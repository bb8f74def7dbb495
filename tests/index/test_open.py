"""Where the records of files of all kinds are."""

from __future__ import annotations

import gzip
import logging
import os
import pickle
import stat
from pathlib import Path

import framing
import numpy as np
import pytest
from processes import run_python

import penstock as ps
from penstock.index import load_index, open_index
from penstock.index.cache import path_in_cache, sidecar_path, write_index

KINDS = ["a.tfrecord", "a.tfrecord.gz", "a.tfrecord.zz", "a.tfrecord.snappy"]


def expected_locations(lengths: list[int]) -> tuple[list[int], list[int]]:
    return [0, *np.cumsum([length + 16 for length in lengths])[:-1].tolist()], lengths


@pytest.mark.parametrize("name", KINDS)
def test_locations_in_files_of_all_kinds(write, name):
    path = write(name)
    lengths = [len(record) for record in ps.RecordReader(path)]
    for index in (open_index(path), load_index(path), open_index(path, where="none")):
        assert index is not None
        assert index.records == len(index) == len(lengths)
        assert index.seekable == (name != "a.tfrecord.snappy")
        offsets, found = index.locations(np.arange(len(lengths)))
        assert (offsets.tolist(), found.tolist()) == expected_locations(lengths)
        assert (offsets.dtype, found.dtype) == (np.uint64, np.uint64)


def test_locations_of_equal_records_in_any_order(write):
    index = open_index(write("equal.tfrecord", [b"12345678"] * 100))
    offsets, lengths = index.locations([99, 0, 0, 7])
    assert (offsets.tolist(), lengths.tolist()) == ([99 * 24, 0, 0, 7 * 24], [8] * 4)


@pytest.mark.parametrize("rows", [[-1], [0, 5000], [2**40]])
def test_rows_that_are_not_there(write, rows):
    with pytest.raises(IndexError, match="there are 5000 records"):
        open_index(write("a.tfrecord")).locations(rows)


@pytest.mark.parametrize("name", KINDS)
def test_a_file_without_records(write, name):
    index = open_index(write(name, []))
    assert index.records == 0
    assert [len(part) for part in index.locations([])] == [0, 0]


def test_members_of_gzip_files_hold_the_records_that_they_tell(write):
    path = write("a.tfrecord.gz")
    index = open_index(path)
    members = index.members
    assert members is not None
    assert len(members) > 1
    assert int(members.file_offset[-1]) == path.stat().st_size
    starts, _ = index.locations(members.first_record[:-1])
    assert starts.tolist() == members.stream_offset[:-1].tolist()
    rows = np.array([0, 4999, 2500])
    holding = members.holding(rows)
    assert (members.first_record[holding] <= rows).all()
    assert (rows < members.first_record[holding + 1]).all()


def test_members_after_an_empty_one(write):
    path = write("a.tfrecord.gz", [])
    more = write("b.tfrecord.gz", [b"one", b"two"])
    path.write_bytes(path.read_bytes() + more.read_bytes())
    index = open_index(path)
    assert (index.records, index.seekable) == (2, True)
    assert index.members.holding(np.array([0, 1])).tolist() == [1, 1]


def test_a_gzip_file_of_somebody_else_is_seekable_by_restart_points(tmp_path):
    path = tmp_path / "a.tfrecord.gz"
    path.write_bytes(gzip.compress(framing.frames([b"one", b"three"])))
    index = open_index(path)
    assert (index.records, index.seekable, index.members, len(index.restarts)) == (2, True, None, 1)
    assert index.locations([1])[0].tolist() == [19]


def test_an_index_without_restart_points_of_an_earlier_version_is_built_again(tmp_path, caplog):
    path = tmp_path / "a.tfrecord.gz"
    path.write_bytes(gzip.compress(framing.frames([b"one", b"three"])))
    earlier = open_index(path)
    earlier.restarts, earlier.restarts_sought = None, False
    write_index(path_in_cache(earlier.identity), earlier)
    assert open_index(path).seekable
    with caplog.at_level(logging.INFO, logger="penstock.index"):
        assert open_index(path).seekable
    assert not caplog.records


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("where", ["cache", "sidecar"])
def test_only_the_owner_reads_an_index_that_holds_parts_of_the_data(tmp_path, where):
    path = tmp_path / "a.tfrecord.gz"
    path.write_bytes(gzip.compress(framing.frames([b"one", b"three"])))
    index = open_index(path, where="none")
    file = Path(sidecar_path(str(path)) if where == "sidecar" else path_in_cache(index.identity))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"of others")
    file.chmod(0o644)
    write_index(str(file), index)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_members_that_lie_about_their_records_are_found_out_when_they_are_measured(write):
    path = write("a.tfrecord.gz", [b"some"] * 100)
    data = bytearray(path.read_bytes())
    data[20] += 1  # the number of records in the first member's header
    path.write_bytes(data)
    index = open_index(path)
    with pytest.raises(ps.CorruptDataError, match="other records than their headers state"):
        index.locations([0])


@pytest.mark.parametrize("name", ["a.tfrecord", "a.tfrecord.gz"])
def test_an_index_crosses_process_borders(write, name):
    index = pickle.loads(pickle.dumps(open_index(write(name))))
    assert index.locations([1])[1].tolist() == [37]


def test_damage_says_where_it_is(write):
    path = write("a.tfrecord", [b"12345678"] * 10)
    data = path.read_bytes()
    path.write_bytes(framing.flip(data, 3 * 24))
    with pytest.raises(ps.ChecksumError) as caught:
        open_index(path)
    assert (caught.value.path, caught.value.record, caught.value.offset) == (str(path), 3, 72)
    path.write_bytes(data[:-1])
    with pytest.raises(ps.TruncatedError) as truncated:
        open_index(path)
    assert (truncated.value.record, truncated.value.offset) == (9, 9 * 24)
    path.write_bytes(b"<html>not found</html>")
    with pytest.raises(ps.ChecksumError, match="HTML"):
        open_index(path)


def test_a_record_above_the_limit(write):
    with pytest.raises(ps.RecordTooLargeError):
        open_index(write("a.tfrecord"), max_record_bytes=100)


def test_what_cannot_be_indexed(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_index(tmp_path / "gone.tfrecord")
    with pytest.raises(IsADirectoryError):
        open_index(tmp_path)
    with pytest.raises(OSError, match="a stream cannot be indexed"):
        open_index("-")
    with pytest.raises(ValueError, match="where must be one of"):
        open_index(tmp_path, where="elsewhere")


@pytest.mark.parametrize("name", ["a.tfrecord", "a.tfrecord.zz"])
def test_a_file_that_changes_while_it_is_indexed_raises(write, name, cache):
    path = write(name)

    changed = path.read_bytes() + b"more"

    def change(done: int, total: int) -> None:
        path.write_bytes(changed)

    with pytest.raises(ps.CorruptDataError) as caught:
        open_index(path, progress=change)
    assert caught.value.kind in ("changed", "trailing-bytes")
    assert not cache.exists()


@pytest.mark.parametrize("name", ["a.tfrecord", "a.tfrecord.zz"])
def test_progress_is_reported_in_bytes_of_the_file(write, name):
    path = write(name)
    calls: list[tuple[int, int]] = []
    open_index(path, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (path.stat().st_size, path.stat().st_size)


def test_building_is_logged(write, caplog):
    path = write("a.tfrecord")
    with caplog.at_level("INFO", "penstock.index"):
        open_index(path)
        open_index(path)
    assert [record.getMessage().split(" (")[0] for record in caplog.records] == [f"building the index of {path}"]


@pytest.mark.skipif(os.name == "nt", reason="needs an enforced limit on address space")
def test_lengths_are_not_held_twice(tmp_path: Path):
    path = tmp_path / "many.tfrecord"
    path.write_bytes((framing.frame(b"") + framing.frame(b"1")) * 1_000_000)
    code = """
        from penstock.index import open_index
        open_index(sys.argv[1], where="none", threads=1).locations([0])
        limit_memory(96 << 20)
        print(open_index(sys.argv[1], where="none", threads=1).locations([1999999])[0])
    """
    assert run_python(code, path) == (0, b"[32999983]\n", "")
