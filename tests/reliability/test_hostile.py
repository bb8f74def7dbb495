"""Input from strangers gives a result or a documented error, whatever is in it, and costs little."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from reliability.hostile import TARGETS, Attack
from reliability.sandbox import Sandbox

import penstock as ps

MOST_MEMORY = 64 << 20


@pytest.fixture(scope="module")
def attacked():
    with Sandbox(module="reliability.hostile", watched=False) as sandbox:
        yield sandbox


@pytest.mark.parametrize("target", TARGETS)
def test_mutated_input_gives_a_result_or_a_documented_error(attacked: Sandbox, target: str):
    ended = attacked.run(target, attacked.empty_folder(), 1)
    assert ended.status == 0
    assert "done" in ended.messages[-1], ended.messages
    attack = Attack(**ended.messages[-1]["done"])
    assert attack.executions > 0
    assert attack.findings == []
    assert attack.peak < MOST_MEMORY


def test_a_tensor_of_a_few_bytes_does_not_fill_memory():
    # Shape [2**28], one value that stands for all.
    tensor = bytes.fromhex("0801 1208 12060880808080 01 2a04 0000803f".replace(" ", ""))
    schema = ps.Schema({"tensor": ps.Feature("float32", (2,), encoding="tensor")})
    (record,) = ps.Encoder(ps.Schema({"tensor": ps.Feature("bytes")})).encode([{"tensor": tensor}])
    with pytest.raises(ps.MalformedExampleError, match="lists only 1 of them"):
        ps.Decoder(schema).decode([record])


NAMES = ["../data", "/etc/passwd", "a/b", "..", ".", "", "C:\\data", "C:data", "..\\data", "\\\\host\\share", "a\0b", 3]


@pytest.mark.parametrize("name", NAMES)
def test_a_manifest_names_no_file_outside_its_folder(tmp_path: Path, name: object):
    manifest = json.loads(ps.write(tmp_path / "data", {"x": [1, 2]}).to_json())
    manifest["shards"][0]["name"] = name
    with pytest.raises(ps.ManifestError, match="name of a shard"):
        ps.Manifest.from_json(json.dumps(manifest))
