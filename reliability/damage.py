"""Damages files: every bit of small ones, every cut, and larger ones at random, with everything that disks do."""

from __future__ import annotations

import itertools
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fitted_damage import fitted_damage
from forged_damage import forged_damage

import penstock as ps
from penstock.records.read_options import OnDamage

COMPRESSIONS = ("", "GZIP", "ZLIB", "SNAPPY")

# Frames of 0, 1, 17 and 64 bytes, one of them compressible: small enough to try every bit.
FEW = [b"", b"x", b"one short record.", b"penstock" * 8]


@dataclass(frozen=True)
class Outcome:
    """What a reader got out of a file, and whether it reported anything."""

    records: list[bytes]
    reported: bool


@dataclass(frozen=True)
class Damaged:
    """A damaged file, the records that it had, and those that the damage has not touched."""

    file: bytes
    records: list[bytes]
    untouched: list[bytes]


def bit_flips(file: bytes) -> list[bytes]:
    return [
        file[:position] + bytes([file[position] ^ 1 << bit]) + file[position + 1 :]
        for position in range(len(file))
        for bit in range(8)
    ]


def truncations(file: bytes) -> list[bytes]:
    return [file[:size] for size in range(len(file))]


def written(records: list[bytes], compression: str = "") -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        with ps.RecordWriter(path, compression=compression) as writer:
            writer.write_many(records)
        return path.read_bytes()


def read(file: bytes, compression: str = "", on_error: OnDamage = "raise") -> Outcome:
    with tempfile.NamedTemporaryFile() as target:
        target.write(file)
        target.flush()
        records: list[bytes] = []
        reader = ps.RecordReader(target.name, compression=compression, on_error=on_error, threads=1)
        try:
            for record in reader:
                records.append(record)
        except ps.CorruptDataError:
            return Outcome(records, True)
        return Outcome(records, bool(reader.damage))


def repaired(file: bytes) -> tuple[list[bytes], list[bytes]]:
    """The records that repair saves of a damaged file, and those that it keeps apart."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "source", Path(folder) / "target"
        source.write_bytes(file)
        repaired = ps.repair(source, target, compression="")
        apart = repaired.doubtful_target
        saved = list(ps.RecordReader(target, compression=""))
        return saved, [] if apart is None else list(ps.RecordReader(apart, compression=""))


def nested_damage(trials: int, seed: int = 1) -> Iterator[Damaged]:
    """Damage files whose records hold TFRecords, some of them: at the header of one, and in up to two other places."""
    for trial in range(trials):
        rng = random.Random(f"nested {seed} {trial}")
        records = [rng.randbytes(rng.randrange(4, 120)) for _ in range(12)]
        holders = rng.sample(range(12), 4)
        for number in holders:
            inner = [rng.randbytes(rng.randrange(4, 40)) for _ in range(rng.randrange(1, 5))]
            records[number] = rng.randbytes(rng.choice([0, 9])) + written(inner) + rng.randbytes(4)
        starts = [0, *itertools.accumulate(len(record) + 16 for record in records)]
        file = bytearray(written(records))
        places = [starts[holders[0]], *(rng.randrange(len(file)) for _ in range(rng.randrange(3)))]
        hurt = set()
        for start in places:
            for at in range(start, min(len(file), start + rng.choice([8, 12, 30, 100]))):
                file[at] ^= rng.choice([0x11, file[at] or 0x11])  # noise, and zeros
                hurt.add(at)
        untouched = [
            record
            for record, at in zip(records, starts, strict=False)
            if hurt.isdisjoint(range(at, at + len(record) + 16))
        ]
        yield Damaged(bytes(file), records, untouched)


def made_to_fool(trials: int, seed: int = 1) -> Iterator[Damaged]:
    """Damage such files so that inner records stand where the file's own are due, or with headers that are forged."""
    for trial in range(trials):
        model = (fitted_damage, forged_damage)[trial % 2](seed << 32 | trial)
        untouched = list(dict.fromkeys(model.whole_records().values()))  # some are alike
        yield Damaged(bytes(model.data), model.payloads, untouched)


def random_damage(trials: int, seed: int = 1) -> Iterator[Damaged]:
    """Damage plain files of some dozens of different records: a flip, zeros, noise, a hole, more bytes, a cut."""
    for trial in range(trials):
        rng = random.Random(f"damage {seed} {trial}")
        count = rng.randrange(5, 40)
        records = [number.to_bytes(4, "big") + rng.randbytes(rng.randrange(300)) for number in range(count)]
        file = written(records)
        what = rng.choice(["flip", "zeros", "noise", "hole", "insertion", "cut"])
        start = rng.randrange(len(file))
        stop = start + 1 if what == "flip" else min(len(file), start + rng.choice([1, 16, 100, 512, 4096]))
        middle = {
            "flip": bytes([file[start] ^ 1 << rng.randrange(8)]),
            "zeros": bytes(stop - start),
            "noise": rng.randbytes(stop - start),
            "insertion": rng.randbytes(rng.choice([1, 7, 600])),
        }.get(what, b"")
        if what == "insertion":
            stop = start
        if what == "cut":
            stop = len(file)
        # Zeros over zeros, and noise that happens to be right, are no damage.
        while start < stop and middle and len(middle) == stop - start and file[start] == middle[0]:
            start, middle = start + 1, middle[1:]
        while start < stop and middle and len(middle) == stop - start and file[stop - 1] == middle[-1]:
            stop, middle = stop - 1, middle[:-1]
        untouched, at = [], 0
        for record in records:
            end = at + len(record) + 16
            if end <= start or at >= stop:
                untouched.append(record)
            at = end
        yield Damaged(file[:start] + middle + file[stop:], records, untouched)
