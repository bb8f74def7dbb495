"""Type checkers know what a dataset holds: mypy runs over code as users write it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")

ROOT = Path(__file__).parents[2]

# Each line is checked against the type, or the error, in its comment.
CODE = """
from typing import Any

import numpy as np
import penstock as ps


def count(example: dict[str, Any]) -> int:
    return len(example)


def noisy(example: dict[str, Any], rng: np.random.Generator) -> float:
    return rng.normal()


ds = ps.Dataset("train")
batches = ds.shuffle(seed=7, window=100).shard(0, 2).batch(256)
reveal_type(ds)  # Dataset[Row]
reveal_type([example for example in ds])  # list[Row]
reveal_type(batches)  # Dataset[Batch]
reveal_type([batch for batch in batches.prefetch(2)])  # list[Batch]
reveal_type(next(iter(batches)))  # Batch
reveal_type(iter(ds.map(count)))  # DatasetIterator[int]
reveal_type(iter(ds))  # DatasetIterator[Row]
reveal_type(next(iter(ds.shuffle(seed=7))))  # Row
reveal_type(next(iter(ds))["x"])  # Any
examples: list[dict[str, Any]] = [*ds]  # a row is a dict
reveal_type([batch for batch in batches.progress()])  # list[Batch]
reveal_type(batches.unbatch())  # Dataset[Row]
reveal_type(ds.bucket([8], 4, key="tokens"))  # Dataset[Batch]
reveal_type(ds[0])  # Row
reveal_type(ds[:10])  # Dataset[Row]
reveal_type(ds[[1, 2]])  # Batch
reveal_type(ds[np.arange(2)])  # Batch
reveal_type(ds.map(count))  # Dataset[int]
reveal_type(ds.map(noisy, seed=1))  # Dataset[float]
reveal_type(batches.map(lambda batch: batch.num_rows).filter(bool).cache())  # Dataset[int]
reveal_type(ds.zip(batches))  # Dataset[tuple[Row, Batch]]
reveal_type(ds.concat(ds.take(3)))  # Dataset[Row]
reveal_type(ds.mix(ds.map(count), weights=[1, 1], seed=0))  # Dataset[Row | int]
reveal_type(ds.column_names)  # list[str]
reveal_type(ds.rename_columns({"a": "b"}).drop_columns(["c"]).cast({"b": int}))  # Dataset[Row]
reveal_type(ds.sort("a").unique("b").split({"a": 1}, by="b"))  # dict[str, Dataset[Row]]
reveal_type(ds.flat_map(lambda example: [len(example)]))  # Dataset[int]
reveal_type(ds.window(3, shift=1))  # Dataset[Batch]
reveal_type(batches.select_columns(["a"]))  # Dataset[Batch]
ds.shuffle(1000)  # Too many positional arguments for "shuffle" of "Dataset"
ds.map(noisy)  # Argument 1 to "map" of "Dataset" has incompatible type
ds.map(count, seed=1)  # Argument 1 to "map" of "Dataset" has incompatible type
batches.map(count)  # Argument 1 to "map" of "Dataset" has incompatible type


def train(data: ps.Dataset) -> None:  # without a type argument: elements of any type
    for element in data:
        reveal_type(element)  # Any


train(batches)
"""


def test_elements_have_types(tmp_path: Path):
    (tmp_path / "user_code.py").write_text(CODE)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary"]
    environment = {"MYPYPATH": str(ROOT / "src"), "PATH": ""}
    result = subprocess.run(
        [*command, "--cache-dir", str(ROOT / ".mypy_cache"), "user_code.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    found: dict[int, list[str]] = {}
    for number, message in re.findall(r"^user_code\.py:(\d+): (?:note|error): (.*)$", result.stdout, re.MULTILINE):
        found.setdefault(int(number), []).append(re.sub(r"\b(?:\w+\.)+(?=\w)", "", message))
    for number, line in enumerate(CODE.splitlines(), 1):
        code, _, expected = line.partition("  # ")
        if code.strip().startswith("reveal_type"):
            assert found.get(number) == [f'Revealed type is "{expected}"'], line
        elif expected and not code.startswith(("def ", "examples:")):
            assert found.get(number, [""])[0].startswith(expected), line
        else:
            assert number not in found, line
