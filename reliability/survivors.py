"""What is left after the end of a process, and whether it is what was promised."""

from __future__ import annotations

import functools
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import penstock as ps
from penstock.records.read_options import OnDamage
from reliability import work
from reliability.payloads import NAME, records

OLD_SEED = 7_000
"""Of what stands in the folder before the work begins."""

APPENDING = frozenset({"append", "append_gzip", "append_synced", "append_synced_gzip"})
APPENDING_TO_DATASET = frozenset({"append_to_dataset", "append_to_dataset_synced"})
IN_PLACE = (
    frozenset({"write_in_place", "write_in_place_gzip", "write_synced_in_place"}) | APPENDING | APPENDING_TO_DATASET
)
DATASETS = frozenset(
    {
        "write_dataset",
        "write_dataset_gzip",
        "write_dataset_synced",
        "write_dataset_stream",
        "write_dataset_shuffled",
        "write_parts",
        "convert_to_dataset",
    }
)
SMALL_FILES = {"save_schema": "schema.json", "save_manifest": "data.penstock.json", "convert_to_table": "data.jsonl"}


@dataclass
class Verdict:
    """How many records were safe, how many of them are gone, and what else is not as promised."""

    safe: int = 0
    lost: int = 0
    problems: list[str] = field(default_factory=list)


def prepare(name: str, folder: Path) -> None:
    """Put something older where the work will write: it must not be lost before the new is whole."""
    if name in APPENDING_TO_DATASET:
        work.write_dataset(str(folder), _nothing, OLD_SEED)
    elif name in DATASETS | SMALL_FILES.keys():
        getattr(work, name)(str(folder), _nothing, OLD_SEED)
    elif name in APPENDING or name not in IN_PLACE:
        path = folder / _file_of(name)
        with ps.RecordWriter(path) as writer:
            writer.write_many(_old_records())
        if name in APPENDING:  # as a crash left it
            with open(path, "ab") as file:
                file.write(path.read_bytes()[:20])


def examine(name: str, folder: Path, seed: int, messages: list[Any], *, tail: OnDamage) -> Verdict:
    """Look at a folder after the end; ``tail`` is the policy for what was not safe yet."""
    closed = any("closed" in line for line in messages)
    if name in DATASETS:
        return _examine_dataset(name, folder, seed, closed)
    if name in SMALL_FILES:
        return _examine_small_file(name, folder, seed, closed)
    safe = max((line["safe"] for line in messages if "safe" in line), default=0)
    if name in APPENDING_TO_DATASET:
        return _examine_appended(name, folder, seed, safe, closed, tail)
    return _examine_records(name, folder, seed, safe, closed, tail)


def _examine_records(name: str, folder: Path, seed: int, safe: int, closed: bool, tail: OnDamage) -> Verdict:
    earlier = _old_records() if name in APPENDING else []
    expected = earlier + records(seed)
    verdict = Verdict(len(expected) if closed else len(earlier) + safe)
    path = folder / _file_of(name)
    if name in IN_PLACE:
        found = _read(path, tail, verdict) if path.exists() else []
    else:
        found = _read(path, "raise", verdict)
        if found == _old_records():
            if closed:
                verdict.problems.append(f"{name}: the old file stands there after close()")
            partial = [_read(file, tail, verdict) for file in folder.glob(".*.partial")]
            found = max(partial, key=len, default=[])
        elif found != expected:
            verdict.problems.append(f"{name}: the final name holds neither the old file nor the new one")
    if found != expected[: len(found)]:
        verdict.problems.append(f"{name}: records that were never written")
    verdict.lost = max(0, verdict.safe - len(found))
    return verdict


def _examine_appended(name: str, folder: Path, seed: int, safe: int, closed: bool, tail: OnDamage) -> Verdict:
    """Look at a shard and its manifest, which reports a writer that was stopped; then let the next one mend it."""
    earlier = _old_shard()
    expected = earlier + records(seed)
    verdict = Verdict(len(expected) if closed else len(earlier) + safe)
    found = _read(folder / work.SHARD, tail, verdict)
    if found != expected[: len(found)]:
        verdict.problems.append(f"{name}: records that were never written")
    verdict.lost = max(0, verdict.safe - len(found))
    manifest = folder / "data.penstock.json"
    findings = ps.Manifest.load(manifest).verify(folder)
    if any(finding.kind != "appended" or closed for finding in findings):
        verdict.problems += [f"{name}: {finding}" for finding in findings]
    try:
        with warnings.catch_warnings(action="ignore"):
            ps.RecordWriter(folder / work.SHARD, append=True).close()
    except ps.CorruptDataError as error:
        # A kill leaves nothing that cannot be appended to. A loss of power may: holes in what was not synced.
        if tail == "tolerate_tail":
            verdict.problems.append(f"{name}: {error}")
        return verdict
    verdict.problems += [f"{name}: not mended: {finding}" for finding in ps.Manifest.load(manifest).verify(folder)]
    return verdict


def _examine_dataset(name: str, folder: Path, seed: int, closed: bool) -> Verdict:
    path = folder / "data.penstock.json"
    verdict = Verdict(500 if closed else 0)
    if not path.exists():
        verdict.lost = verdict.safe
        return verdict
    try:
        manifest = ps.Manifest.load(path)
    except ps.PenstockError as error:
        verdict.problems.append(f"{name}: half a manifest: {error}")
        return verdict
    verdict.problems += [f"{name}: {finding}" for finding in manifest.verify(folder)]
    if manifest.to_json() != _written(name, seed) and (closed or manifest.to_json() != _written(name, OLD_SEED)):
        verdict.problems.append(f"{name}: the manifest is of another dataset")
    return verdict


def _examine_small_file(name: str, folder: Path, seed: int, closed: bool) -> Verdict:
    found = (folder / SMALL_FILES[name]).read_text()
    if found == _written(name, seed) or (not closed and found == _written(name, OLD_SEED)):
        return Verdict()
    return Verdict(problems=[f"{name}: neither the old file nor the new one"])


def _read(path: Path, policy: OnDamage, verdict: Verdict) -> list[bytes]:
    records: list[bytes] = []
    try:
        for record in ps.RecordReader(path, on_error=policy, threads=1):
            records.append(record)
    except ps.CorruptDataError as error:
        verdict.problems.append(str(error))
    return records


@functools.cache
def _written(name: str, seed: int) -> str:
    """The manifest or schema that undisturbed work writes."""
    with tempfile.TemporaryDirectory() as folder:
        getattr(work, name)(folder, _nothing, seed)
        return (Path(folder) / SMALL_FILES.get(name, "data.penstock.json")).read_text()


def _file_of(name: str) -> str:
    return NAME + (".gz" if name.endswith("gzip") else "")


@functools.cache
def _old_shard() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        work.write_dataset(folder, _nothing, OLD_SEED)
        return list(ps.RecordReader(Path(folder) / work.SHARD))


@functools.cache
def _old_records() -> list[bytes]:
    return records(OLD_SEED, 5)


def _nothing(**_: object) -> None:
    pass
