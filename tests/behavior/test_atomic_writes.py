"""When a file appears under its name, and what is left when it does not."""

from __future__ import annotations

import gc
import os
import re
import stat

import framing
import pytest

import penstock as ps

PARTIAL = re.compile(r"\.some\.tfrecord\.[0-9a-f]{8}\.partial")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.tfrecord"


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_the_name_appears_on_close(path):
    writer = ps.RecordWriter(path)
    writer.write(b"record")
    writer.flush()
    (name,) = names(path.parent)
    assert PARTIAL.fullmatch(name)
    assert list(ps.RecordReader(path.parent / name)) == [b"record"]
    writer.close()
    assert names(path.parent) == ["some.tfrecord"]
    assert list(ps.RecordReader(path)) == [b"record"]


def test_an_old_file_stays_until_the_new_one_is_whole(path):
    path.write_bytes(framing.frame(b"old"))
    with ps.RecordWriter(path) as writer:
        writer.write(b"new")
        writer.sync()
        assert list(ps.RecordReader(path)) == [b"old"]
    assert list(ps.RecordReader(path)) == [b"new"]


def test_an_exception_leaves_nothing(path):
    with pytest.raises(ZeroDivisionError) as caught, ps.RecordWriter(path) as writer:
        writer.write(b"record")
        raise ZeroDivisionError
    assert names(path.parent) == []
    assert not hasattr(caught.value, "__notes__")
    assert writer.closed


def test_an_exception_keeps_the_old_file(path):
    path.write_bytes(framing.frame(b"old"))
    with pytest.raises(ZeroDivisionError), ps.RecordWriter(path) as writer:
        writer.write(b"record")
        raise ZeroDivisionError
    assert names(path.parent) == ["some.tfrecord"]
    assert list(ps.RecordReader(path)) == [b"old"]


@pytest.mark.parametrize("step", ["flush", "sync"])
def test_an_exception_after_a_flush_leaves_the_records_and_reports_where(path, step):
    with pytest.raises(ZeroDivisionError) as caught, ps.RecordWriter(path) as writer:
        writer.write(b"kept")
        getattr(writer, step)()
        writer.write(b"lost")
        raise ZeroDivisionError
    (name,) = names(path.parent)
    assert PARTIAL.fullmatch(name)
    assert caught.value.__notes__ == [f"records that were flushed are in {path.parent / name}"]
    assert list(ps.RecordReader(path.parent / name)) == [b"kept"]


def test_in_place_an_exception_keeps_what_was_written(path):
    path.write_bytes(framing.frame(b"old"))
    with pytest.raises(ZeroDivisionError), ps.RecordWriter(path, atomic=False) as writer:
        writer.write(b"record")
        raise ZeroDivisionError
    assert list(ps.RecordReader(path)) == [b"record"]


def test_a_closed_writer_stays_closed(path):
    writer = ps.RecordWriter(path)
    writer.close()
    writer.close()
    assert writer.closed
    for attempt in [lambda: writer.write(b""), lambda: writer.write_many([b""]), writer.flush, writer.sync]:
        with pytest.raises(ValueError, match="is closed"):
            attempt()


def test_an_exception_after_close_changes_nothing(path):
    with pytest.raises(ZeroDivisionError), ps.RecordWriter(path) as writer:
        writer.close()
        raise ZeroDivisionError
    assert list(ps.RecordReader(path)) == []
    writer.close()


@pytest.mark.parametrize("suffix", ["", ".gz", ".zlib", ".snappy"])
def test_a_forgotten_writer_warns_and_reports_where_the_records_are(tmp_path, suffix):
    writer = ps.RecordWriter(tmp_path / f"some.tfrecord{suffix}")
    writer.write(b"record")
    with pytest.warns(ResourceWarning, match=r"was not closed; what was written is in .*\.partial"):
        del writer
        gc.collect()
    (name,) = names(tmp_path)
    reader = ps.RecordReader(tmp_path / name, on_error="tolerate_tail")
    assert list(reader) == [b"record"]


def test_a_file_has_the_permissions_of_any_new_file(path):
    mask = os.umask(0o027)
    try:
        with ps.RecordWriter(path):
            pass
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_file_keeps_the_permissions_of_the_one_that_it_replaces(path):
    path.touch()
    path.chmod(0o604)
    with ps.RecordWriter(path):
        pass
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_followed(tmp_path, there):
    folder = tmp_path / "folder"
    folder.mkdir()
    target, link = folder / "target.tfrecord", tmp_path / "link.tfrecord"
    if there:
        target.touch()
    link.symlink_to(target)
    with ps.RecordWriter(link) as writer:
        writer.write(b"record")
    assert link.is_symlink()
    assert list(ps.RecordReader(target)) == [b"record"]
    assert names(folder) == ["target.tfrecord"]


@pytest.mark.parametrize("atomic", [True, False])
def test_a_missing_folder_and_a_folder_raise_at_once(tmp_path, atomic):
    with pytest.raises(FileNotFoundError):
        ps.RecordWriter(tmp_path / "none" / "some.tfrecord", atomic=atomic)
    with pytest.raises(IsADirectoryError):
        ps.RecordWriter(tmp_path, atomic=atomic)
    assert names(tmp_path) == []


def test_sync_on_close(path):
    with ps.RecordWriter(path, sync=True) as writer:
        writer.write(b"record")
    assert list(ps.RecordReader(path)) == [b"record"]


def test_a_whole_file_that_cannot_have_its_name_stays_and_is_reported(path):
    writer = ps.RecordWriter(path)
    writer.write(b"record")
    path.mkdir()  # somebody else was faster
    with pytest.raises(OSError, match="directory") as caught:
        writer.close()
    (note,) = caught.value.__notes__
    assert list(ps.RecordReader(note.partition(" are in ")[2])) == [b"record"]


def test_a_folder_that_vanishes_is_an_error_of_close(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    writer = ps.RecordWriter(folder / "some.tfrecord")
    writer.write(b"record")
    for entry in folder.iterdir():
        entry.unlink()
    folder.rmdir()
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            writer.close()
