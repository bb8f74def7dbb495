"""Files in S3, on a server of this machine."""

from __future__ import annotations

import os
import sys

import framing
import pytest
import s3fs
from click.testing import CliRunner
from processes import run_python

import penstock as ps
from penstock.cli import main
from penstock.index import load_index, open_index
from penstock.storage import find_files, remote

RECORDS = [b"record %d" % number for number in range(100)]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_what_is_written_is_read(s3, suffix):
    url = f"s3://data/folder/some.tfrecord{suffix}"
    with ps.RecordWriter(url) as writer:
        writer.write_many(RECORDS)
        assert s3.ls("data") == []
    assert list(ps.RecordReader(url)) == RECORDS
    assert ps.RecordReader(url).count() == 100


def test_a_large_file_goes_up_in_parts_and_comes_down_in_ranges(s3, monkeypatch):
    monkeypatch.setattr(remote, "RANGE_BYTES", 1 << 20)
    records = [os.urandom(1 << 20) for _ in range(12)]
    with ps.RecordWriter("s3://data/large.tfrecord") as writer:
        writer.write_many(records)
        writer.flush()
        assert not s3.exists("data/large.tfrecord")
    assert s3.info("data/large.tfrecord")["size"] == 12 * ((1 << 20) + 16)
    assert all(a == b for a, b in zip(ps.RecordReader("s3://data/large.tfrecord"), records, strict=True))


@pytest.mark.parametrize("size", [1, 12 << 20])
def test_an_exception_leaves_nothing(s3, size):
    s3.pipe("data/old.tfrecord", framing.frame(b"old"))
    for name in ["old", "new"]:
        with pytest.raises(ZeroDivisionError), ps.RecordWriter(f"s3://data/{name}.tfrecord") as writer:
            writer.write(bytes(size))
            writer.flush()
            raise ZeroDivisionError
    assert s3.find("data") == ["data/old.tfrecord"]
    assert s3.cat("data/old.tfrecord") == framing.frame(b"old")
    assert s3.list_multipart_uploads("data") == []


def test_a_file_without_records(s3):
    with ps.RecordWriter("s3://data/empty.tfrecord"):
        pass
    assert s3.cat("data/empty.tfrecord") == b""
    assert list(ps.RecordReader("s3://data/empty.tfrecord")) == []


@pytest.mark.parametrize(
    ("url", "what"), [("s3://data/none.tfrecord", "file"), ("s3://no-such-bucket/none.tfrecord", "bucket")]
)
def test_a_missing_key_and_a_missing_bucket(s3, url, what):
    with pytest.raises(FileNotFoundError, match=f"No such {what}") as caught:
        list(ps.RecordReader(url))
    assert caught.value.filename == url
    result = CliRunner().invoke(main, ["verify", url])
    assert result.exit_code == 1
    assert f"{url}: no such {what}; check the address" in result.output


def test_without_credentials_nothing_is_tried_again(s3, monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    s3fs.S3FileSystem.clear_instance_cache()
    monkeypatch.setattr(remote, "PAUSE_SECONDS", float("nan"))  # which nobody can sleep
    url = "s3://data/some.tfrecord"
    for read in (
        lambda: list(ps.RecordReader(url)),
        lambda: ps.Dataset(url),
        lambda: ps.write("s3://data/x", {"x": [1]}),
    ):
        with pytest.raises(PermissionError, match="No credentials: set AWS_ACCESS_KEY_ID"):
            read()
    result = CliRunner().invoke(main, ["verify", url])
    assert f"{url}: no credentials: set AWS_ACCESS_KEY_ID" in result.output


def test_nothing_is_written_to_a_missing_bucket(s3):
    url = "s3://no-such-bucket/some.tfrecord"
    with pytest.raises(FileNotFoundError, match="No such bucket") as caught, ps.RecordWriter(url) as writer:
        writer.write(b"some")
    assert caught.value.filename == url
    with pytest.raises(FileNotFoundError, match="No such bucket"):
        ps.write("s3://no-such-bucket/train", {"x": [1]})


def test_patterns_and_prefixes(s3):
    for name in ["a/1.tfrecord", "a/2.tfrecord", "a/b/3.tfrecord", "a/notes.txt"]:
        s3.pipe(f"data/{name}", b"x")
    assert find_files(["s3://data/a/*.tfrecord"]) == ["s3://data/a/1.tfrecord", "s3://data/a/2.tfrecord"]
    everything = ["s3://data/a/1.tfrecord", "s3://data/a/2.tfrecord", "s3://data/a/b/3.tfrecord"]
    assert find_files(["s3://data/a"]) == find_files(["s3://data/a/"]) == everything
    with pytest.raises(FileNotFoundError):
        find_files(["s3://data/c"])


def test_a_file_that_somebody_replaced_is_seen_as_it_is_now(s3):
    s3.pipe("data/a/1.tfrecord", framing.frame(b"old"))
    (url,) = find_files(["s3://data/a"])
    assert list(ps.RecordReader(url)) == [b"old"]
    s3.pipe("data/a/1.tfrecord", framing.frames([b"new", b"and longer"]))
    s3.pipe("data/a/2.tfrecord", b"")
    assert list(ps.RecordReader(url)) == [b"new", b"and longer"]
    assert len(find_files(["s3://data/a"])) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
def test_a_forked_child_reads_too(s3):
    s3.pipe("data/some.tfrecord", framing.frames(RECORDS))
    code = """
        url = "s3://data/some.tfrecord"
        parent = len(list(ps.RecordReader(url)))
        child = os.fork()
        if child == 0:
            os._exit(len(list(ps.RecordReader(url))))
        _, status = os.waitpid(child, 0)
        print(parent, os.waitstatus_to_exitcode(status))
    """
    status, out, _ = run_python(code)
    assert (status, out) == (0, b"100 100\n")


def test_an_index_is_valid_as_long_as_the_object_is_the_same(s3, tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    url = "s3://data/some.tfrecord"
    with ps.RecordWriter(url) as writer:
        writer.write_many(RECORDS)
    assert open_index(url).locations([2])[0].tolist() == [2 * 24]
    assert load_index(url).records == 100
    with ps.RecordWriter(url) as writer:
        writer.write_many(RECORDS[::-1])
    assert load_index(url) is None
