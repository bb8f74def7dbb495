"""The manifest: what it says, what it refuses, and what it finds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock import _core


@pytest.fixture
def manifest(tmp_path: Path) -> ps.Manifest:
    return ps.write(tmp_path / "data", {"x": np.arange(100)}, shards=3)


def document(manifest: ps.Manifest) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(manifest.to_json())
    return found


def test_it_says_what_is_in_the_files(tmp_path: Path, manifest: ps.Manifest):
    found = json.loads((tmp_path / "data.penstock.json").read_text())
    assert (found["format"], found["version"], found["requires"]) == ("penstock.manifest", 1, [])
    assert found["schema"]["features"] == {"x": {"dtype": "int64", "shape": [], "encoding": "list"}}
    for entry in found["shards"]:
        data = (tmp_path / entry["name"]).read_bytes()
        assert entry["bytes"] == len(data)
        assert int(entry["crc32c"], 16) == _core.crc32c(data)
        assert entry["records"] == len(list(ps.RecordReader(tmp_path / entry["name"])))
    assert ps.Manifest.load(tmp_path / "data.penstock.json") == manifest
    assert manifest.records == 100


def test_what_a_newer_version_wrote_is_preserved(manifest: ps.Manifest):
    newer = document(manifest) | {"made_by": "tomorrow"}
    newer["shards"][1]["colour"] = "blue"
    newer["schema"]["features"]["x"]["unit"] = "m"
    again = json.loads(ps.Manifest.from_json(json.dumps(newer)).to_json())
    assert again == newer


@pytest.mark.parametrize(
    "change",
    [
        {"format": "penstock.schema"},
        {"version": 2},
        {"version": "1"},
        {"requires": ["wings"]},
        {"requires": 7},
        {"schema": {}},
        {"schema": None},
        {"shards": {}},
        {"shards": [7]},
    ],
)
def test_what_is_no_manifest_raises(manifest: ps.Manifest, change: dict[str, Any]):
    with pytest.raises(ps.ManifestError):
        ps.Manifest.from_json(json.dumps(document(manifest) | change))


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"7", b"\xff", b"[" * 100_000, b'{"format": "penstock.manifest"}'])
def test_hostile_text_raises(text: bytes):
    with pytest.raises(ps.ManifestError):
        ps.Manifest.from_json(text)


@pytest.mark.parametrize("name", ["../data", "a/b", "a\\b", "", ".", "..", "/etc/passwd", "c:x", "a\0b", 7, None])
def test_names_do_not_lead_out_of_the_folder(manifest: ps.Manifest, name: object):
    changed = document(manifest)
    changed["shards"][0]["name"] = name
    with pytest.raises(ps.ManifestError, match="name of a shard"):
        ps.Manifest.from_json(json.dumps(changed))


@pytest.mark.parametrize(
    "change",
    [
        {"records": -1},
        {"records": 1.5},
        {"records": True},
        {"bytes": 1 << 63},
        {"crc32c": "xyz"},
        {"crc32c": 7},
        {"name": "data-00001-of-00003.tfrecord"},
    ],
)
def test_shards_that_cannot_be_raise(manifest: ps.Manifest, change: dict[str, Any]):
    changed = document(manifest)
    changed["shards"][0] |= change
    with pytest.raises(ps.ManifestError):
        ps.Manifest.from_json(json.dumps(changed))


def test_a_file_that_is_too_large_is_none(tmp_path: Path):
    path = tmp_path / "data.penstock.json"
    with path.open("wb") as file:
        file.truncate((256 << 20) + 1)
    with pytest.raises(ps.ManifestError, match="larger than 268435456 bytes"):
        ps.Manifest.load(path)


def test_verify_finds_what_is_not_as_it_says(tmp_path: Path, manifest: ps.Manifest):
    first, second, third = (tmp_path / shard.name for shard in manifest.shards)
    first.unlink()
    data = bytearray(second.read_bytes())
    data[40] ^= 1
    second.write_bytes(data)
    third.write_bytes(third.read_bytes()[:-1])
    (tmp_path / "data-00007-of-00008.tfrecord").write_bytes(b"")
    (tmp_path / "other-00000-of-00001.tfrecord").write_bytes(b"")
    (tmp_path / "older").mkdir()
    (tmp_path / "older" / "data-00000-of-00002.tfrecord").write_bytes(b"")  # of another folder: none of its business
    assert [(finding.kind, finding.shard) for finding in manifest.verify(tmp_path)] == [
        ("missing", first.name),
        ("checksum", second.name),
        ("size", third.name),
        ("extra", "data-00007-of-00008.tfrecord"),
    ]
