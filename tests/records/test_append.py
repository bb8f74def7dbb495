"""RecordWriter(append=True): more records after the existing ones, and nothing lost on the way."""

from __future__ import annotations

import gzip
import signal
import warnings
from pathlib import Path

import framing
import numpy as np
import pytest
from processes import start_python

import penstock as ps

OLD = [b"one", b"", b"three" * 50]
NEW = [b"four", b"five"]


def append(path: Path, records: list[bytes] = NEW, **options) -> None:
    with ps.RecordWriter(path, append=True, **options) as writer:
        writer.write_many(records)
        assert writer.count == len(records)


def records(path: Path) -> list[bytes]:
    return list(ps.RecordReader(path))


@pytest.fixture(params=["file.tfrecord", "file.tfrecord.gz"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with ps.RecordWriter(tmp_path / request.param) as writer:
        writer.write_many(OLD)
    return tmp_path / request.param


def test_records_follow_those_that_are_there(path: Path):
    append(path)
    append(path, [])
    append(path, [b"six"])
    assert records(path) == [*OLD, *NEW, b"six"]


def test_a_file_that_is_not_there_is_made(tmp_path: Path):
    for name in ("new.tfrecord", "new.tfrecord.gz"):
        append(tmp_path / name)
        assert records(tmp_path / name) == NEW
    assert (tmp_path / "new.tfrecord.gz").read_bytes().startswith(b"\x1f\x8b")


def test_every_cut_of_the_last_record_is_cut_off_saved_and_reported(tmp_path: Path):
    path, torn = tmp_path / "file.tfrecord", tmp_path / ".file.tfrecord.torn"
    whole = framing.frames(OLD)
    last = framing.frame(b"never completed")
    for size in range(1, len(last)):
        path.write_bytes(whole + last[:size])
        with pytest.warns(UserWarning, match=f"its last {size} bytes, from byte {len(whole)} on"):
            append(path)
        assert records(path) == OLD + NEW
        assert torn.read_bytes() == last[:size]
        torn.unlink()


@pytest.mark.parametrize("tail", [bytes(5000), framing.header(100) + bytes(104)])
def test_what_a_loss_of_power_leaves_is_cut_off(tmp_path: Path, tail: bytes):
    path = tmp_path / "file.tfrecord"
    path.write_bytes(framing.frames(OLD) + tail)
    with pytest.warns(UserWarning, match="incomplete record"):
        append(path)
    assert records(path) == OLD + NEW
    assert (tmp_path / ".file.tfrecord.torn").read_bytes() == tail


def test_an_incomplete_gzip_member_is_cut_off(tmp_path: Path):
    path = tmp_path / "file.tfrecord.gz"
    with ps.RecordWriter(path) as writer:
        writer.write_many(OLD)
        writer.flush()
        writer.write(b"torn")
    data = path.read_bytes()
    first = int.from_bytes(data[16:20], "little")
    for size in range(first + 1, len(data)):
        path.write_bytes(data[:size])
        with pytest.warns(UserWarning, match="incomplete record"):
            append(path)
        assert records(path) == OLD + NEW


def test_gzip_files_of_others_get_a_new_member(tmp_path: Path):
    path = tmp_path / "file.tfrecord"
    path.write_bytes(gzip.compress(framing.frames(OLD)))
    append(path)
    assert records(path) == OLD + NEW
    path.write_bytes(gzip.compress(framing.frames(OLD))[:-4])
    before = path.read_bytes()
    with pytest.raises(ps.TruncatedError) as caught:
        append(path)
    assert "penstock repair" in caught.value.__notes__[0]
    assert path.read_bytes() == before


def test_no_empty_member_stays_in_the_middle(tmp_path: Path):
    # TensorFlow takes one for the end of the file.
    path = tmp_path / "file.tfrecord.gz"
    with ps.RecordWriter(path):
        pass
    append(path, [])
    append(path)
    assert records(path) == NEW
    assert path.read_bytes()[:4] == b"\x1f\x8b\x08\x04"


@pytest.mark.parametrize("position", [3, 16 + 3 + 2])
def test_damage_in_the_middle_raises_and_nothing_changes(tmp_path: Path, position: int):
    path = tmp_path / "file.tfrecord"
    path.write_bytes(framing.flip(framing.frames(OLD), position))
    before = path.read_bytes()
    with pytest.raises(ps.ChecksumError) as caught:
        ps.RecordWriter(path, append=True, compression="")
    assert "penstock repair" in caught.value.__notes__[0]
    assert path.read_bytes() == before


def test_what_cannot_be_appended_to_raises(tmp_path: Path, path: Path):
    for name in ("file.zlib", "file.snappy"):
        with pytest.raises(ValueError, match="cannot be appended to"):
            ps.RecordWriter(tmp_path / name, append=True)
    other = "" if path.suffix == ".gz" else "GZIP"
    with pytest.raises(ValueError, match="cannot go on"):
        ps.RecordWriter(path, append=True, compression=other)
    with pytest.raises(ValueError, match="local file"):
        ps.RecordWriter("memory://file.tfrecord", append=True)
    with pytest.raises(ValueError, match="local file"):
        ps.RecordWriter("-", append=True)


def test_the_manifest_follows(tmp_path: Path):
    ps.write(tmp_path / "train", {"x": np.arange(10)}, shards=2)
    shard = tmp_path / "train-00001-of-00002.tfrecord"
    append(shard, records(shard)[:2])
    manifest = ps.Manifest.load(tmp_path / "train.penstock.json")
    assert manifest.records == 12
    assert manifest.verify(tmp_path) == []


def test_a_second_writer_raises_until_the_first_is_done(path: Path):
    with ps.RecordWriter(path, append=True) as first:
        first.write(b"four")
        with pytest.raises(BlockingIOError, match="another writer is appending"):
            ps.RecordWriter(path, append=True)
    append(path, [b"five"])
    assert records(path) == [*OLD, b"four", b"five"]


def test_a_writer_that_gives_up_lets_others_append(path: Path):
    with pytest.warns(ResourceWarning):
        ps.RecordWriter(path, append=True).__del__()
    with pytest.raises(ValueError, match="cannot go on"):
        ps.RecordWriter(path, append=True, compression="" if path.suffix == ".gz" else "GZIP")
    append(path)
    assert records(path) == OLD + NEW


def test_a_kill_leaves_a_manifest_that_says_so_and_the_next_append_mends_it(tmp_path: Path):
    ps.write(tmp_path / "train", {"x": np.arange(10)}, shards=2)
    shard = tmp_path / "train-00001-of-00002.tfrecord"
    kill_when_flushed(shard, "writer.write(next(iter(ps.RecordReader(sys.argv[1]))))")
    (finding,) = ps.Manifest.load(tmp_path / "train.penstock.json").verify(tmp_path)
    assert (finding.kind, finding.shard) == ("appended", shard.name)
    assert len(ps.Dataset(tmp_path / "train.penstock.json")) == 11
    ps.RecordWriter(shard, append=True).close()
    manifest = ps.Manifest.load(tmp_path / "train.penstock.json")
    assert (manifest.records, manifest.verify(tmp_path)) == (11, [])


def kill_when_flushed(path: Path, write: str) -> None:
    """Append in another process, which is killed after a flush."""
    code = f"""
        writer = ps.RecordWriter(sys.argv[1], append=True)
        {write}
        writer.flush()
        writer.write(b"not flushed")
        print("flushed", flush=True)
        signal.pause()
    """
    process = start_python(code, path)
    assert process.stdout.readline() == b"flushed\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_flushed_records_survive_a_kill(path: Path):
    kill_when_flushed(path, "for i in range(3): writer.write(b'flushed %d' % i); writer.flush()")
    flushed = [b"flushed %d" % i for i in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        append(path)
    assert records(path) == OLD + flushed + NEW
