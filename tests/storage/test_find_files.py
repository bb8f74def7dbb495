"""Files, patterns and directories become a list of files."""

from __future__ import annotations

import gzip
import os

import framing
import pytest

from penstock.storage import find_files


@pytest.fixture
def folder(tmp_path):
    for name in [
        "b.tfrecord",
        "a.tfrecord.gz",
        "deep/c.tfrec",
        "deep/d.tfrecord-00000-of-00002",
        "deep/e.tfrecords",
        "notes.txt",
        ".hidden.tfrecord",
        ".b.tfrecord.0123abcd.partial",
        "_temporary.tfrecord",
    ]:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (tmp_path / "deep" / "no-extension").write_bytes(framing.frame(b"record"))
    (tmp_path / "deep" / "data_tfrecord-00000-of-00001.gz").write_bytes(gzip.compress(framing.frame(b"by TFX")))
    (tmp_path / "no-records").write_bytes(b"something else entirely")
    (tmp_path / "no-records.gz").write_bytes(gzip.compress(b"something else entirely"))
    (tmp_path / "no-gzip.gz").write_bytes(b"\x1f\x8b\x08 and something else")
    return tmp_path


def below(folder, paths):
    return [path.removeprefix(f"{folder}/") for path in find_files(paths)]


def test_a_directory_stands_for_the_records_below_it(folder):
    assert below(folder, [folder]) == [
        "a.tfrecord.gz",
        "b.tfrecord",
        "deep/c.tfrec",
        "deep/d.tfrecord-00000-of-00002",
        "deep/data_tfrecord-00000-of-00001.gz",
        "deep/e.tfrecords",
        "deep/no-extension",
    ]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_what_is_unfinished_or_no_file_is_skipped(folder):
    """Spark leaves _temporary; a pipe has no end to wait for, and a link may lead nowhere."""
    before = below(folder, [folder])
    unfinished = folder / "_temporary" / "0" / "part-0.tfrecord"
    unfinished.parent.mkdir(parents=True)
    unfinished.touch()
    os.mkfifo(folder / "pipe")
    os.mkfifo(folder / "pipe.tfrecord")
    (folder / "latest").symlink_to("gone")
    assert below(folder, [folder]) == before
    assert below(folder, [folder / "_temporary"]) == ["_temporary/0/part-0.tfrecord"]  # who names it means it


def test_a_link_to_nowhere_with_the_name_of_a_shard_is_not_skipped(folder):
    """The disk that it leads to may not be mounted: to read the others alone would be to read less, in silence."""
    (folder / "gone.tfrecord").symlink_to("nowhere")
    assert "gone.tfrecord" in below(folder, [folder])
    assert "gone.tfrecord" in below(folder, [folder / "*.tfrecord"])


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="everything is open to root")
def test_a_folder_that_cannot_be_looked_into_is_an_error(folder):
    for name in ("lost+found", ".Trash", "deep"):
        (folder / name).mkdir(exist_ok=True)
        (folder / name).chmod(0)
        if name == "deep":
            with pytest.raises(PermissionError, match="deep"):
                find_files([folder])
        else:
            assert len(find_files([folder])) == 6


def test_a_pattern_stands_for_what_matches(folder):
    assert below(folder, [folder / "*.tfrecord*"]) == ["a.tfrecord.gz", "b.tfrecord"]
    assert below(folder, [folder / "**" / "*.tfrec*"]) == [
        "a.tfrecord.gz",
        "b.tfrecord",
        "deep/c.tfrec",
        "deep/d.tfrecord-00000-of-00002",
        "deep/e.tfrecords",
    ]


def test_the_order_given_is_preserved(folder):
    files = [folder / "notes.txt", folder / "b.tfrecord", folder / "deep" / "c.tfrec"]
    assert below(folder, files) == ["notes.txt", "b.tfrecord", "deep/c.tfrec"]


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path):
    (tmp_path / "a[1].tfrecord").touch()
    (tmp_path / "a1.tfrecord").touch()
    assert below(tmp_path, [tmp_path / "a[1].tfrecord"]) == ["a[1].tfrecord"]


@pytest.mark.parametrize("name", ["none.tfrecord", "*.none", "empty"])
def test_nothing_found_is_an_error_that_names_the_path(folder, name):
    (folder / "empty").mkdir()
    with pytest.raises(FileNotFoundError) as caught:
        find_files([folder / "b.tfrecord", folder / name])
    assert caught.value.filename == str(folder / name)


def test_standard_input_is_itself():
    assert find_files(["-"]) == ["-"]
