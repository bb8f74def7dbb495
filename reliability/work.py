"""The work that is interrupted: every way in which Penstock reads and writes files.

Each function takes a folder, ``report`` and a seed, and returns something that JSON knows and that only depends on the
seed. It reports what is safe from now on.
"""

from __future__ import annotations

import errno
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner

import penstock as ps
import penstock.cli
import penstock.conversion.tables
import penstock.discovery.infer
import penstock.integrity.repair
import penstock.writing.write
from penstock.index import open_index
from reliability.payloads import NAME, ROWS, record

Report = Callable[..., None]

SHARD = "data-00001-of-00003.tfrecord"
"""The file of a dataset that is appended to."""


def _write(writer: ps.RecordWriter, report: Report, seed: int, *, sync: bool) -> None:
    rng = random.Random(seed)
    for number in range(ROWS):
        writer.write(record(seed, number))
        if rng.random() < 0.2:
            writer.sync() if sync else writer.flush()
            report(safe=number + 1)


def _writing(**options: Any) -> Callable[[str, Report, int], None]:
    sync = options.get("sync", False)
    name = NAME + (".gz" if options.get("compression") == "GZIP" else "")

    def work(folder: str, report: Report, seed: int) -> None:
        with ps.RecordWriter(Path(folder) / name, **options) as writer:
            _write(writer, report, seed, sync=sync)
        report(closed=True)

    return work


write = _writing()
write_gzip = _writing(compression="GZIP", level=1)
write_in_place = _writing(atomic=False)
write_in_place_gzip = _writing(atomic=False, compression="GZIP", level=1)
write_synced = _writing(sync=True)
write_synced_gzip = _writing(sync=True, compression="GZIP", level=1)
write_synced_in_place = _writing(sync=True, atomic=False)
append = _writing(append=True)
append_gzip = _writing(append=True, compression="GZIP", level=1)
append_synced = _writing(append=True, sync=True)
append_synced_gzip = _writing(append=True, sync=True, compression="GZIP", level=1)


def _appending_to_dataset(*, sync: bool) -> Callable[[str, Report, int], None]:
    def work(folder: str, report: Report, seed: int) -> None:
        with ps.RecordWriter(Path(folder) / SHARD, append=True, sync=sync) as writer:
            _write(writer, report, seed, sync=sync)
        report(closed=True)

    return work


append_to_dataset = _appending_to_dataset(sync=False)
append_to_dataset_synced = _appending_to_dataset(sync=True)


def columns(seed: int) -> dict[str, Any]:
    return {"x": np.arange(seed, seed + 500), "name": [b"row %d" % i for i in range(500)]}


def write_dataset(folder: str, report: Report, seed: int) -> None:
    ps.write(f"{folder}/data", columns(seed), shards=3, replace=True)
    report(closed=True)


def write_dataset_gzip(folder: str, report: Report, seed: int) -> None:
    ps.write(f"{folder}/data", columns(seed), shards=2, compression="GZIP", replace=True)
    report(closed=True)


def write_dataset_synced(folder: str, report: Report, seed: int) -> None:
    ps.write(f"{folder}/data", columns(seed), shards=3, replace=True, sync=True)
    report(closed=True)


def write_dataset_stream(folder: str, report: Report, seed: int) -> None:
    rows = ({"x": seed + i, "name": b"row %d" % i} for i in range(500))
    ps.write(f"{folder}/data", rows, shards=3, compression="GZIP", replace=True)
    report(closed=True)


def write_dataset_shuffled(folder: str, report: Report, seed: int) -> None:
    ps.write(f"{folder}/source/data", columns(seed), replace=True)
    source = ps.Dataset(f"{folder}/source/data", index="none")
    ps.write(f"{folder}/data", source.shuffle(seed=seed), shards=3, replace=True, memory=1 << 14)
    report(closed=True)


def convert_to_dataset(folder: str, report: Report, seed: int) -> None:
    """Convert a table through records in a hidden folder, because its rows are sorted."""
    found = columns(seed)
    lines = [f"{x},{name.decode()}\n" for x, name in zip(found["x"].tolist(), found["name"], strict=True)]
    Path(folder, "rows.csv").write_text("x,name\n" + "".join(lines))
    ps.convert(f"{folder}/rows.csv", f"{folder}/data", sort="x", descending=True, shards=2, replace=True)
    report(closed=True)


def convert_to_table(folder: str, report: Report, seed: int) -> None:
    ps.write(f"{folder}/source", columns(seed), replace=True)
    ps.convert(f"{folder}/source", f"{folder}/data.jsonl", replace=True)
    report(closed=True)


def write_parts(folder: str, report: Report, seed: int) -> None:
    try:
        parts = [ps.write(f"{folder}/data", columns(seed + part), part=part) for part in range(2)]
        ps.commit(f"{folder}/data", parts, replace=True)
    except BaseException:
        ps.abort(f"{folder}/data")
        raise
    report(closed=True)


def save_schema(folder: str, report: Report, seed: int) -> None:
    ps.Schema({f"feature {seed}": ps.Feature("int64")}).save(f"{folder}/schema.json")
    report(closed=True)


def save_manifest(folder: str, report: Report, seed: int) -> None:
    manifest = ps.Manifest(ps.Schema({f"feature {seed}": ps.Feature("int64")}), ())
    manifest.save(f"{folder}/data.penstock.json")
    report(closed=True)


# Reading: what is read was written by the functions above.


def _digest(found: Iterator[bytes]) -> list[int]:
    crc = count = 0
    for each in found:
        crc = ps._core.crc32c(each, crc)
        count += 1
    return [count, crc]


def read(folder: str, report: Report, seed: int) -> list[int]:
    return _digest(iter(ps.RecordReader(f"{folder}/{NAME}", threads=1)))


def read_gzip(folder: str, report: Report, seed: int) -> list[int]:
    return _digest(iter(ps.RecordReader(f"{folder}/{NAME}.gz")))


def count(folder: str, report: Report, seed: int) -> int:
    return ps.RecordReader(f"{folder}/{NAME}").count()


def load_manifest(folder: str, report: Report, seed: int) -> str:
    return ps.Manifest.load(f"{folder}/data.penstock.json").to_json()


def load_schema(folder: str, report: Report, seed: int) -> str:
    return ps.Schema.load(f"{folder}/schema.json").to_json()


def break_file(folder: str, report: Report, seed: int) -> None:
    path = Path(folder) / NAME
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def break_gzip(folder: str, report: Report, seed: int) -> None:
    path = Path(folder) / f"{NAME}.gz"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def repair_gzip(folder: str, report: Report, seed: int) -> list[object]:
    repaired = ps.repair(f"{folder}/{NAME}.gz", f"{folder}/saved.tfrecord")
    return [repaired.records, repaired.causes]


def repair(folder: str, report: Report, seed: int) -> list[object]:
    repaired = ps.repair(f"{folder}/{NAME}", f"{folder}/saved.tfrecord")
    return [repaired.records, repaired.causes]


def index(folder: str, report: Report, seed: int) -> int:
    return open_index(f"{folder}/{NAME}", where="sidecar", threads=1).records


def verify_manifest(folder: str, report: Report, seed: int) -> list[str]:
    manifest = ps.Manifest.load(f"{folder}/data.penstock.json")
    return [str(finding) for finding in manifest.verify(folder)]


def verify(folder: str, report: Report, seed: int) -> object:
    """Run the command; the operating system errors that it reports are raised."""
    result = CliRunner().invoke(penstock.cli.main, ["verify", folder, "--json", "--jobs", "1"])
    if result.output.startswith("Error: "):  # and nothing else
        document, causes = None, [result.output]
    else:
        document = json.loads(result.output)
        causes = [problem["cause"] for file in document["files"] for problem in file["problems"]]
    for number in errno.errorcode:
        if any(os.strerror(number).lower() in cause.lower() for cause in causes):
            raise OSError(number, "; ".join(causes))
    return document
