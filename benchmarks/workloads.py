"""The workloads as files in .data: made once, and again when their generators change."""

from __future__ import annotations

import hashlib
import itertools
import json
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from decoded import parts_of, read_batches
from fingerprint import fingerprint
from payloads import WORKLOADS
from workload_columns import COLUMNS, save

import penstock as ps

DATA = Path(__file__).parent / ".data"

# Contestants of a few thousand records a second are timed on a part.
_HEAD = 4_000


@dataclass(frozen=True)
class Workload:
    """One workload and its files: all hold the same payloads, ``head`` the first of them."""

    name: str

    @property
    def plain(self) -> Path:
        return self._file("plain")

    @property
    def head(self) -> Path:
        return self._file("head")

    @property
    def gzip(self) -> Path:
        """One gzip member, byte for byte as TensorFlow writes it."""
        return self._file("gzip")

    @property
    def members(self) -> Path:
        """Many gzip members, as Penstock writes them."""
        return self._file("members")

    @property
    def columns(self) -> Path:
        """The values of all columns, for ``load_columns``."""
        path = DATA / f"{self.name}.npz"
        if not path.exists() or path.stat().st_mtime < self.plain.stat().st_mtime:
            batch = next(read_batches(self.plain, self.name, self.expected["records"]))
            described = COLUMNS[self.name]
            save(str(path), ((name, column, *parts_of(batch[name])) for name, column in described.items()))
        return path

    @cached_property
    def expected(self) -> dict[str, int]:
        """The fingerprint of all payloads."""
        return dict(self._made["plain"])

    @cached_property
    def expected_head(self) -> dict[str, int]:
        return dict(self._made["head"])

    def _file(self, kind: str) -> Path:
        assert self._made, "made on first use"
        return DATA / f"{self.name}.{kind}.tfrecord"

    @cached_property
    def _made(self) -> dict[str, dict[str, int]]:
        stamp = DATA / f"{self.name}.json"
        if stamp.exists():
            known = json.loads(stamp.read_text())
            if known["source"] == _source():
                return dict(known)
        DATA.mkdir(exist_ok=True)
        payloads = list(WORKLOADS[self.name](np.random.default_rng(20261115)))
        made = {"source": _source(), "plain": fingerprint(payloads), "head": fingerprint(payloads[:_HEAD])}
        _write(DATA / f"{self.name}.plain.tfrecord", payloads)
        _write(DATA / f"{self.name}.head.tfrecord", payloads[:_HEAD])
        _write(DATA / f"{self.name}.members.tfrecord", payloads, compression="GZIP")
        _write_like_tensorflow(DATA / f"{self.name}.gzip.tfrecord", DATA / f"{self.name}.plain.tfrecord")
        stamp.write_text(json.dumps(made))
        return made


def _write(path: Path, payloads: list[bytes], compression: str = "") -> None:
    with ps.RecordWriter(path, compression=compression) as writer:
        writer.write_many(payloads)


def _write_like_tensorflow(target: Path, plain: Path) -> None:
    compressor = zlib.compressobj(-1, zlib.DEFLATED, 31, 9)
    with plain.open("rb") as source, target.open("wb") as sink:
        for piece in itertools.takewhile(bool, (source.read(1 << 20) for _ in itertools.count())):
            sink.write(compressor.compress(piece))
        sink.write(compressor.flush())


def _source() -> str:
    here = Path(__file__).parent
    return hashlib.sha256(b"".join((here / f"{name}.py").read_bytes() for name in ("payloads", "wire"))).hexdigest()
