"""Files over HTTP: ranges, failures that end, failures that last, and servers that know less."""

from __future__ import annotations

import gzip
import os

import framing
import numpy as np
import pytest

import penstock as ps
from penstock.storage import find_files, locate, remote

RECORDS = [b"record %d" % number for number in range(100)]
DATA = framing.frames(RECORDS)


@pytest.fixture(autouse=True)
def small_ranges_and_short_pauses(monkeypatch):
    monkeypatch.setattr(remote, "RANGE_BYTES", 1000)
    monkeypatch.setattr(remote, "PAUSE_SECONDS", 0.001)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_file_is_read_in_ranges(http, pack):
    http.files["/some.tfrecord"] = data = pack(DATA)
    assert list(ps.RecordReader(http.url("/some.tfrecord"))) == RECORDS
    asked = sorted(range for command, _, range in http.seen if command == "GET")
    assert len(asked) == -(-len(data) // 1000)


def test_failures_that_pass_are_tried_again(http):
    http.files["/some.tfrecord"] = DATA
    http.failures = [503, 500, 429]
    assert list(ps.RecordReader(http.url("/some.tfrecord"))) == RECORDS
    assert http.failures == []


def test_lasting_failures_raise_an_os_error_that_states_the_attempts(http):
    http.files["/some.tfrecord"] = DATA
    http.failures = [503] * 100
    with pytest.raises(OSError, match="503") as caught:
        list(ps.RecordReader(http.url("/some.tfrecord")))
    assert not isinstance(caught.value, FileNotFoundError)
    assert caught.value.filename == http.url("/some.tfrecord")
    assert len(http.failures) <= 100 - remote.TRIES


@pytest.mark.parametrize(
    ("status", "error"), [(401, PermissionError), (403, PermissionError), (404, FileNotFoundError)]
)
def test_a_refusal_is_not_tried_again(http, status, error):
    http.files["/some.tfrecord"] = DATA
    http.failures = [status] * 100
    with pytest.raises(error) as caught:
        list(ps.RecordReader(http.url("/some.tfrecord")))
    assert caught.value.filename == http.url("/some.tfrecord")
    assert len(http.failures) >= 98


def test_a_missing_file(http):
    with pytest.raises(FileNotFoundError) as caught:
        list(ps.RecordReader(http.url("/none.tfrecord")))
    assert caught.value.filename == http.url("/none.tfrecord")


def test_a_server_that_is_not_there():
    url = "http://127.0.0.1:9/none.tfrecord"
    with pytest.raises(OSError, match=r"127\.0\.0\.1") as caught:
        list(ps.RecordReader(url))
    assert not isinstance(caught.value, FileNotFoundError)


@pytest.fixture
def unranged(http):
    """A server that sends whole files, whatever is asked for."""
    http.ranges = False
    return http


def gets(http) -> int:
    return sum((command, path) == ("GET", "/some.tfrecord") for command, path, _ in http.seen)


def test_a_server_that_does_not_know_ranges_sends_a_file_once_to_who_reads_it_in_order(unranged, monkeypatch):
    monkeypatch.setattr(remote, "PIECE_BYTES", 500)
    unranged.files["/some.tfrecord"] = DATA
    store, url = locate(unranged.url("/some.tfrecord"))
    pieces = list(store.stream(url))
    assert (b"".join(pieces), gets(unranged)) == (DATA, 1)
    assert max(map(len, pieces)) <= 1000  # not all of it in memory
    assert list(ps.RecordReader(url)) == RECORDS


def test_a_server_that_does_not_know_ranges_sends_a_file_once_for_all_its_parts(unranged):
    unranged.files["/some.tfrecord"] = DATA
    store, url = locate(unranged.url("/some.tfrecord"))
    with pytest.warns(UserWarning, match="sends whole files when ranges are requested"):
        assert store.read(url, 20, 32) == DATA[20:32]
    assert [store.read(url, at, at + 100) for at in range(0, 2000, 100)] == [
        DATA[at : at + 100] for at in range(0, 2000, 100)
    ]
    assert gets(unranged) == 1


def test_rows_are_shuffled_from_a_server_without_ranges(unranged):
    schema = ps.Schema({"x": ps.Feature("int64", (200,))})
    records = ps.Encoder(schema).encode({"x": np.arange(500)[:, None] + np.full((1, 200), 1000)})
    unranged.files["/some.tfrecord"] = framing.frames(records)
    ds = ps.Dataset(unranged.url("/some.tfrecord"), schema=schema)
    with pytest.warns(UserWarning, match="sends whole files"):
        assert sorted(row["x"][0] for row in ds.shuffle(seed=1)) == list(range(1000, 1500))
    assert gets(unranged) <= 3


def test_a_file_that_changed_on_a_server_without_ranges_is_fetched_again(unranged):
    unranged.files["/some.tfrecord"] = DATA
    store, url = locate(unranged.url("/some.tfrecord"))
    with pytest.warns(UserWarning, match="sends whole files"):
        store.read(url, 20, 32)
    unranged.files["/some.tfrecord"] = changed = framing.frames([*RECORDS[::-1], b"more"])
    assert store.stat(url).size == len(changed)
    assert store.read(url, 20, 32) == changed[20:32]


@pytest.mark.filterwarnings("ignore:the server")
@pytest.mark.parametrize("ranges", [True, False])
def test_a_range_that_goes_beyond_the_end_is_what_there_is_of_it(http, ranges):
    http.files["/some.tfrecord"] = DATA
    http.ranges = ranges
    store, path = locate(http.url("/some.tfrecord"))
    assert store.read(path, 50, 10 * len(DATA)) == DATA[50:]
    assert store.read(path, 50, len(DATA) + 1) == DATA[50:]


def test_a_file_that_shrinks_between_ranges_is_an_error(http):
    records = [os.urandom(300) for _ in range(100)]
    http.files["/some.tfrecord"] = framing.frames(records)
    reader = ps.RecordReader(http.url("/some.tfrecord"), on_error="tolerate_tail")
    chunks = reader.chunks()
    first = next(chunks)
    http.files["/some.tfrecord"] = framing.frames(records)[:20_000]
    with pytest.raises(ps.TruncatedError, match="changed while it was read") as caught:
        list(chunks)
    assert list(first) == records[: len(first)]
    assert (caught.value.kind, caught.value.path) == ("changed", http.url("/some.tfrecord"))


def test_a_query_is_no_pattern(http):
    http.files["/some.tfrecord?token=abc"] = DATA
    url = http.url("/some.tfrecord?token=abc")
    assert find_files([url]) == [url]
    assert list(ps.RecordReader(url)) == RECORDS


def test_an_error_page_is_named(http):
    http.files["/some.tfrecord"] = b"<!DOCTYPE html><html>Please sign in</html>"
    with pytest.raises(ps.ChecksumError, match="HTML"):
        list(ps.RecordReader(http.url("/some.tfrecord")))


def test_a_web_server_cannot_be_written_to(http):
    with pytest.raises(OSError, match="can be read alone") as caught:
        ps.RecordWriter(http.url("/some.tfrecord"))
    assert caught.value.filename == http.url("/some.tfrecord")
