"""``tf.io.gfile`` works on local paths and remote stores."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock.tf as tf


def test_files_on_a_local_disk(tmp_path: Path):
    folder = str(tmp_path / "a" / "b")
    tf.io.gfile.makedirs(folder)
    tf.io.write_file(f"{folder}/.hidden", "one")
    with tf.io.gfile.GFile(f"{folder}/two", "w") as file:
        file.write("zwei")
    with tf.io.gfile.GFile(f"{folder}/two") as file:
        assert (file.size(), file.name, file.mode) == (4, f"{folder}/two", "r")
        assert (file.read(2), file.tell(), list(file)) == ("zw", 2, ["ei"])
    with pytest.raises(tf.errors.NotFoundError):
        tf.io.gfile.GFile(f"{folder}/none").read()
    assert tf.io.gfile.glob(f"{folder}/*") == [f"{folder}/.hidden", f"{folder}/two"]
    assert sorted(tf.io.gfile.listdir(folder)) == [".hidden", "two"]
    assert tf.io.matching_files(f"{folder}/t*").numpy().tolist() == [f"{folder}/two".encode()]
    assert tf.io.read_file(f"{folder}/two").numpy() == b"zwei"
    tf.io.gfile.copy(f"{folder}/two", f"{folder}/three")
    with pytest.raises(tf.errors.AlreadyExistsError):
        tf.io.gfile.copy(f"{folder}/two", f"{folder}/three")
    tf.io.gfile.remove(f"{folder}/two")
    assert not tf.io.gfile.exists(f"{folder}/two")
    with pytest.raises(tf.errors.NotFoundError):
        tf.io.gfile.remove(f"{folder}/two")
    tf.io.gfile.rmtree(folder)
    assert not tf.io.gfile.isdir(folder)


def test_gfile_on_a_remote_store():
    pytest.importorskip("fsspec")
    gfile = tf.io.gfile
    gfile.makedirs("memory://gfile/a/b")
    gfile.mkdir("memory://gfile/c")
    with gfile.GFile("memory://gfile/a/one", "w") as file:
        file.write("text")
    assert gfile.GFile("memory://gfile/a/one", "rb").size() == 4
    gfile.copy("memory://gfile/a/one", "memory://gfile/a/b/two")
    gfile.rename("memory://gfile/a/one", "memory://gfile/a/three")
    assert gfile.isdir("memory://gfile/a")
    assert not gfile.exists("memory://gfile/a/one")
    assert gfile.stat("memory://gfile/a/three").length == 4
    assert gfile.stat("memory://gfile/a").is_directory
    walked = {folder: (sorted(folders), sorted(files)) for folder, folders, files in gfile.walk("memory://gfile")}
    assert walked["memory:///gfile/a"] == (["b"], ["three"])
    gfile.rmtree("memory://gfile")
    assert not gfile.exists("memory://gfile/a")
    with pytest.raises(tf.errors.NotFoundError):
        gfile.stat("memory://gfile/a/three")


def test_a_file_is_opened_when_it_is_used(tmp_path: Path):
    path = str(tmp_path / "a")
    with tf.io.gfile.GFile(path, "w+") as file:
        assert not tf.io.gfile.exists(path)
        file.write("eins\nzwei")
        assert (file.tell(), file.readline(), file.tell()) == (0, "eins\n", 5)
        file.seek(-2, 2)
        assert (file.read(), file.read()) == ("ei", "")
    assert file.read(4) == "eins"  # a closed file can be read again
    with tf.io.gfile.GFile(path, "ab") as file:
        file.write(" drei")
        assert file.tell() == 14
    assert list(tf.io.gfile.GFile(path)) == ["eins\n", "zwei drei"]
    assert tf.io.gfile.GFile(path, "rb").readlines() == [b"eins\n", b"zwei drei"]


def test_a_mode_says_what_may_be_done(tmp_path: Path):
    path = str(tmp_path / "a")
    with pytest.raises(tf.errors.PermissionDeniedError, match="writing"):
        tf.io.gfile.GFile(path, "r").write("x")
    with pytest.raises(tf.errors.PermissionDeniedError, match="reading"):
        tf.io.gfile.GFile(path, "w").read()
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.io.gfile.GFile(path, "x")
