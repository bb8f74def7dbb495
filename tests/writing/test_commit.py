"""Parts that several processes write become one dataset, or nothing."""

from __future__ import annotations

import json
import os
import pickle
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from manifest_reading import contents, values
from processes import start_python

import penstock as ps

SCHEMA = ps.Schema({"x": int, "name": str})


def rows(first: int, stop: int) -> list[dict[str, object]]:
    return [{"x": x, "name": f"row {x}"} for x in range(first, stop)]


def write_part(path: str | Path, part: int | str, first: int, stop: int, **options: Any) -> ps.Manifest:
    return ps.write(path, rows(first, stop), schema=SCHEMA, part=part, **options)


def shown(folder: Path) -> list[str]:
    """The files that a plain pattern matches."""
    return sorted(path.name for path in folder.glob("[!.]*"))


@pytest.fixture(params=["local", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "local":
        yield str(tmp_path)
        return
    yield "memory://parts"
    if fsspec.filesystem("memory").exists("/parts"):
        fsspec.filesystem("memory").rm("/parts", recursive=True)


def listed(folder: str) -> list[str]:
    if "://" in folder:
        memory = fsspec.filesystem("memory")
        return sorted(name.rpartition("/")[2] for name in memory.find("/parts"))
    return sorted(os.listdir(folder))


def test_processes_write_one_dataset_together(tmp_path: Path):
    path = str(tmp_path / "train")
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        parts = list(pool.map(write_part, [path] * 3, ["c", "b", "a"], [0, 5, 5], [5, 5, 20]))
    assert shown(tmp_path) == []
    with pytest.raises(FileNotFoundError):
        ps.Dataset(path)
    manifest = ps.commit(path, parts)
    assert shown(tmp_path) == listed(str(tmp_path))
    ds = ps.Dataset(path)
    assert [int(row["x"]) for row in ds] == list(range(20))  # in the order of the parts, whatever their keys
    assert (ds.schema, [shard.records for shard in manifest.shards]) == (SCHEMA, [5, 0, 15])
    assert ps.Manifest.load(path + ".penstock.json").verify(tmp_path) == []


def test_parts_give_the_dataset_that_one_process_writes(tmp_path: Path):
    ps.write(tmp_path / "one" / "train", {"x": np.arange(9)}, shards=3)
    parts = [ps.write(tmp_path / "many" / "train", {"x": np.arange(i, i + 3)}, part=i) for i in (0, 3, 6)]
    ps.commit(tmp_path / "many" / "train", parts)
    assert contents(tmp_path / "many") == contents(tmp_path / "one")


def test_one_attempt_for_each_key_counts(folder: str):
    path = f"{folder}/train"
    first = write_part(path, "a", 0, 5)
    again = write_part(path, "a", 0, 5)
    other = write_part(path, "b/ö %", 5, 12, rows_per_shard=4)
    write_part(path, "b/ö %", 5, 6)  # nobody reports it
    write_part(path, "never used", 5, 6)
    with pytest.raises(RuntimeError), ps.Writer(path, schema=SCHEMA, part="a") as writer:
        writer.write({"x": 1, "name": "lost"})
        raise RuntimeError
    manifest = ps.commit(path, [first, other, again])
    assert listed(folder) == [f"train-{number:05d}-of-00003.tfrecord" for number in range(3)] + ["train.penstock.json"]
    assert values(folder, manifest) == list(range(12))
    assert manifest.verify(folder) == []


def test_parts_travel_as_json_and_as_pickles(tmp_path: Path):
    part = write_part(tmp_path / "train", 0, 0, 1000, shards=2)
    assert len(part.to_json()) < 1500
    assert ps.Manifest.from_json(json.loads(json.dumps(part.to_json()))) == part
    assert ps.commit(tmp_path / "train", [pickle.loads(pickle.dumps(part))]).records == 1000


def test_abort_removes_parts_and_nothing_else(folder: str):
    ps.write(f"{folder}/train-more", rows(0, 3), schema=SCHEMA)
    ps.write(f"{folder}/train", rows(0, 3), schema=SCHEMA)
    before = listed(folder)
    parts = [write_part(f"{folder}/train", part, 0, 5) for part in range(3)]
    kept = write_part(f"{folder}/train-more", 0, 0, 5)
    ps.abort(f"{folder}/train", parts[:1])
    assert len(listed(folder)) == len(before) + 3
    ps.abort(f"{folder}/train", parts[:1])  # they are gone: nothing to do
    ps.abort(f"{folder}/train")
    assert listed(folder) == sorted([*before, kept.shards[0].name])


def test_a_dataset_is_replaced_when_the_parts_are_committed(folder: str):
    path = f"{folder}/train"
    ps.write(path, rows(0, 3), schema=SCHEMA, shards=3)
    parts = [write_part(path, part, 5 * part, 5 * part + 5) for part in range(2)]
    assert [int(row["x"]) for row in ps.Dataset(path)] == [0, 1, 2]
    with pytest.raises(FileExistsError, match="replace=True replaces it"):
        ps.commit(path, parts)
    ps.commit(path, parts, replace=True)
    assert [int(row["x"]) for row in ps.Dataset(path)] == list(range(10))
    assert len(listed(folder)) == 3


def test_a_commit_can_be_repeated(folder: str):
    parts = [write_part(f"{folder}/train", part, 5 * part, 5 * part + 5) for part in range(2)]
    manifest = ps.commit(f"{folder}/train", parts)
    assert ps.commit(f"{folder}/train", parts) == manifest
    assert values(folder, manifest) == list(range(10))


def test_parts_are_appended_to_a_dataset_also_equal_ones_and_once_when_repeated(folder: str):
    path = f"{folder}/train"
    for count in (1, 2, 3):
        parts = [write_part(path, "only", 0, 5)]
        manifest = ps.commit(path, parts, append=True)
        assert ps.commit(path, parts, append=True) == manifest
        assert values(folder, manifest) == [*range(5)] * count
        assert len(manifest.shards) == count
        assert not [name for name in listed(folder) if ".part-" in name]


def test_parts_of_another_schema_are_not_appended(tmp_path: Path):
    path = tmp_path / "train"
    ps.commit(path, [write_part(path, 0, 0, 5)])
    before = listed(str(tmp_path))
    part = ps.write(path, {"y": [1]}, part="other")
    with pytest.raises(ps.SchemaError, match="different schemas"):
        ps.commit(path, [part], append=True)
    ps.abort(path)
    assert listed(str(tmp_path)) == before


def test_an_append_of_a_part_that_is_gone_changes_nothing(tmp_path: Path):
    path = tmp_path / "train"
    ps.commit(path, [write_part(path, 0, 0, 5)])
    before = listed(str(tmp_path))
    part = write_part(path, 1, 5, 9)
    os.remove(tmp_path / part.shards[0].name)
    with pytest.raises(ps.ManifestError, match="is missing"):
        ps.commit(path, [part], append=True)
    assert listed(str(tmp_path)) == before


def test_a_commit_that_was_killed_can_be_repeated(tmp_path: Path):
    parts = [write_part(tmp_path / "train", part, 5 * part, 5 * part + 5) for part in range(3)]
    code = """
        replace = os.replace
        def killed(source, target):
            if "00001-of" in target:
                os.kill(os.getpid(), signal.SIGKILL)
            replace(source, target)
        os.replace = killed
        ps.commit(sys.argv[1], [ps.Manifest.from_json(text) for text in sys.argv[2:]])
    """
    process = start_python(code, tmp_path / "train", *(part.to_json() for part in parts))
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert shown(tmp_path) == ["train-00000-of-00003.tfrecord"]
    with pytest.raises(FileNotFoundError):
        ps.Dataset(tmp_path / "train")  # a part of the shards is no dataset
    manifest = ps.commit(tmp_path / "train", parts)
    assert values(tmp_path, manifest) == list(range(15))
    assert len(os.listdir(tmp_path)) == 4


def test_a_commit_that_fails_leaves_the_parts_and_the_old_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    ps.write(tmp_path / "train", rows(0, 3), schema=SCHEMA, shards=3)
    parts = [write_part(tmp_path / "train", part, 5 * part, 5 * part + 5) for part in range(3)]
    before = contents(tmp_path)
    replace = os.replace

    def full(source: str, target: str) -> None:
        if target.endswith("train-00001-of-00003.tfrecord") and ".part-" in source:
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        ps.commit(tmp_path / "train", parts, replace=True)
    assert contents(tmp_path) == before


def test_what_makes_no_dataset_raises(tmp_path: Path):
    path = tmp_path / "train"
    parts = [write_part(path, part, 0, 5) for part in range(3)]
    with pytest.raises(ps.ManifestError, match="at least one part"):
        ps.commit(path, [])
    with pytest.raises(ps.ManifestError, match=r"expected what write.* returned, found no file"):
        ps.commit(path, [*parts, ps.Manifest(SCHEMA, ())])
    with pytest.raises(ps.ManifestError, match=r"expected what write\('test', \.\.\., part=\.\.\.\) returned, found"):
        ps.commit(tmp_path / "test", parts)
    whole = ps.write(tmp_path / "whole", rows(0, 1), schema=SCHEMA)
    with pytest.raises(ps.ManifestError, match="expected what write"):
        ps.commit(tmp_path / "whole", [whole])
    with pytest.raises(TypeError, match="returned, found str"):
        ps.commit(path, ["train-00000-of-00001.tfrecord"])
    other = ps.write(path, {"x": [1]}, part=9)
    with pytest.raises(ps.SchemaError, match="different schemas: pass the same schema="):
        ps.commit(path, [*parts, other])
    damaged = tmp_path / parts[0].shards[0].name
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with pytest.raises(ps.ManifestError, match=r"has 244 bytes, its writer recorded 245: write the part again"):
        ps.commit(path, parts)
    damaged.unlink()
    with pytest.raises(ps.ManifestError, match="is missing: write the part again, or leave it out"):
        ps.commit(path, parts)
    assert [name for name in shown(tmp_path) if name.startswith("train")] == []
