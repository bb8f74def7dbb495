"""The manifest is the commit: a dataset is whole, or it is not there."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from manifest_reading import contents, values
from processes import start_python

import penstock as ps


def failing(rows: int = 1000) -> Iterator[dict[str, Any]]:
    for i in range(rows):
        yield {"x": i}
    raise RuntimeError("the source is gone")


def test_an_exception_leaves_nothing(tmp_path: Path):
    for options in ({"shards": 3}, {"shards": 3, "shuffle": 1}, {"rows_per_shard": 1000}, {"shard_bytes": "1MB"}):
        with pytest.raises(RuntimeError, match="the source is gone"):
            ps.write(tmp_path / "data", failing(100_000), **options)
    with pytest.raises(KeyboardInterrupt), ps.Writer(tmp_path / "data") as writer:
        writer.write({"x": 1})
        raise KeyboardInterrupt
    with pytest.raises(ps.SchemaError):
        ps.write(tmp_path / "data", {"x": np.array([1, 2, None, "a"], object)}, schema=ps.Schema({"x": int}))
    assert list(tmp_path.iterdir()) == []


def test_what_stands_there_is_not_touched_unasked(tmp_path: Path):
    ps.write(tmp_path / "data", {"x": np.arange(10)}, shards=2)
    before = contents(tmp_path)
    for shards in (1, 2):
        with pytest.raises(FileExistsError, match="replace=True replaces it"):
            ps.write(tmp_path / "data", {"x": np.arange(5)}, shards=shards)
    (tmp_path / "data.penstock.json").unlink()
    with pytest.raises(FileExistsError):  # shards alone stand in the way, too
        ps.write(tmp_path / "data", {"x": np.arange(5)}, shards=3)
    del before["data.penstock.json"]
    assert contents(tmp_path) == before


def test_replacing_removes_all_of_the_old(tmp_path: Path):
    ps.write(tmp_path / "data", {"x": np.arange(10)}, shards=4)
    ps.write(tmp_path / "data-more", {"x": np.arange(10)})  # another dataset
    (tmp_path / "data-notes.txt").write_text("mine")
    manifest = ps.write(tmp_path / "data", {"x": np.arange(5)}, shards=2, compression="GZIP", replace=True)
    assert sorted(os.listdir(tmp_path)) == [
        "data-00000-of-00002.tfrecord.gz",
        "data-00001-of-00002.tfrecord.gz",
        "data-more-00000-of-00001.tfrecord",
        "data-more.penstock.json",
        "data-notes.txt",
        "data.penstock.json",
    ]
    assert values(tmp_path, manifest) == list(range(5))


def test_replacing_that_fails_leaves_the_old(tmp_path: Path):
    ps.write(tmp_path / "data", {"x": np.arange(10)}, shards=2)
    before = contents(tmp_path)
    with pytest.raises(RuntimeError, match="the source is gone"):
        ps.write(tmp_path / "data", failing(), shards=2, replace=True)
    assert contents(tmp_path) == before


def test_a_failure_while_shards_get_their_names_leaves_no_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    replace = os.replace

    def full(source: str, target: str) -> None:
        if target.endswith("00001-of-00003.tfrecord"):
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        ps.write(tmp_path / "data", {"x": np.arange(10)}, shards=3)
    assert list(tmp_path.iterdir()) == []


def test_a_killed_writer_leaves_no_dataset(tmp_path: Path):
    process = start_python(
        """
        def rows():
            for i in range(10**9):
                yield {"x": i}
                if i == 300_000:
                    print("on the way")
        ps.write(sys.argv[1], rows(), shards=2)
        """,
        tmp_path / "data",
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"on the way\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert all(name.startswith(".") for name in os.listdir(tmp_path))
    manifest = ps.write(tmp_path / "data", {"x": np.arange(3)})  # and the way is free
    assert values(tmp_path, manifest) == [0, 1, 2]
    assert sorted(os.listdir(tmp_path)) == ["data-00000-of-00001.tfrecord", "data.penstock.json"]


@pytest.mark.parametrize("call", ["unlink", "read"])
def test_a_writer_that_is_killed_while_it_cuts_shards_leaves_no_dataset(tmp_path: Path, call: str):
    process = start_python(
        """
        from penstock.writing import spool
        spool.RUN_BYTES = 1 << 20
        call = getattr(os, sys.argv[2])
        def killed(what, *rest):
            if sys.argv[2] == "read" or "run-00002" in what:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(what, *rest)
        def rows():
            for i in range(100):
                yield {"x": i, "data": bytes(100_000)}
            setattr(os, sys.argv[2], killed)
        ps.write(sys.argv[1], rows(), shards=3)
        """,
        tmp_path / "data",
        call,
    )
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert os.listdir(tmp_path) != []
    assert all(name.startswith(".") for name in os.listdir(tmp_path))
    ps.write(tmp_path / "data", {"x": np.arange(3)})
    assert sorted(os.listdir(tmp_path)) == ["data-00000-of-00001.tfrecord", "data.penstock.json"]


def test_temporary_files_of_a_living_writer_are_left_alone(tmp_path: Path):
    with ps.Writer(tmp_path / "data", rows_per_shard=10) as slow:
        slow.write_batch({"x": np.arange(100)})
        temporary = set(os.listdir(tmp_path))
        assert len(temporary) == 11  # and a lock
        ps.write(tmp_path / "data-more", {"x": np.arange(3)})
        ps.write(tmp_path / "data", {"x": np.arange(3)}, part=1)
        ps.abort(tmp_path / "data")
        assert temporary <= set(os.listdir(tmp_path))
    assert values(tmp_path, slow.manifest) == list(range(100))


def test_a_writer_that_is_forgotten_leaves_nothing(tmp_path: Path):
    writer = ps.Writer(tmp_path / "data")
    writer.write({"x": 1})
    with pytest.warns(ResourceWarning, match="was not closed"):
        del writer
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("shards", "shuffle"), [(2, None), (2, 7), (512, None)])
def test_memory_is_bounded_whatever_the_size_of_a_stream(tmp_path: Path, shards: int, shuffle: int | None):
    process = start_python(
        f"""
        import numpy as np
        import resource
        def rows(count):
            for i in range(count):
                yield {{"x": np.full(2500, i, np.float32)}}
        ps.write(sys.argv[1] + "/small", rows(9_000), shards={shards}, shuffle={shuffle})
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        ps.write(sys.argv[1] + "/large", rows(45_000), shards={shards}, shuffle={shuffle})
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        """,
        tmp_path,
    )
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    assert int(out) < 150_000  # kilobytes, of 450 MB written; how many blocks are on their way depends on the load


class Faults:
    """Lets one of the calls that change names fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
        self.calls = 0
        self._at = at
        for name in ("rename", "replace", "unlink"):
            monkeypatch.setattr(os, name, self._failing(getattr(os, name)))

    def _failing(self, call: Any) -> Any:
        def counted(*arguments: Any, **options: Any) -> None:
            self.calls += 1
            if self.calls - 1 == self._at:
                raise OSError(5, "Input/output error", arguments[0])
            call(*arguments, **options)

        return counted


@pytest.mark.parametrize("shards", [2, 3])
def test_after_any_one_failure_the_old_dataset_is_whole_or_the_new_one(tmp_path: Path, shards: int):
    outcomes = []
    for at in range(100):
        folder = tmp_path / str(at)
        ps.write(folder / "data", {"x": np.arange(10)}, shards=3)
        with pytest.MonkeyPatch.context() as monkeypatch:
            faults = Faults(monkeypatch, at)
            try:
                ps.write(folder / "data", {"x": np.arange(5)}, shards=shards, replace=True)
                failed = False
            except OSError:
                failed = True
        manifest = ps.Manifest.load(folder / "data.penstock.json")
        assert manifest.verify(folder) == []
        found = values(folder, manifest)
        assert found in (list(range(10)), list(range(5)))
        outcomes.append((failed, found == list(range(5))))
        if faults.calls <= at:
            break
    assert outcomes[-1] == (False, True)
    assert (True, False) in outcomes
    assert (True, True) in outcomes  # the old files could not be deleted, and the error says so


def test_a_store_that_cannot_rename_reports_what_exists_of_the_new_dataset(monkeypatch: pytest.MonkeyPatch):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    ps.write("memory://replacing/data", {"x": np.arange(10)}, shards=2)
    pipe_file = memory.pipe_file

    def full(name: str, data: bytes) -> None:
        if "00001-of-00003" in name:
            raise OSError(28, "No space left on device")
        pipe_file(name, data)

    monkeypatch.setattr(type(memory), "pipe_file", staticmethod(full))
    with pytest.raises(OSError, match="No space") as caught:
        ps.write("memory://replacing/data", {"x": np.arange(9)}, shards=3, replace=True)
    [note] = caught.value.__notes__
    assert "finished shards of the new one: memory://replacing/data-00000-of-00003.tfrecord" in note
    assert [name.rpartition("/")[2] for name in memory.find("/replacing")] == ["data-00000-of-00003.tfrecord"]
    memory.rm("/replacing", recursive=True)
