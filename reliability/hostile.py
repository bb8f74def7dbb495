"""Hands mutated input to everything in Python that takes input from strangers: files, messages, descriptions.

Each function is work for :mod:`reliability.fork_server`: it tries many inputs in a child and returns an
:class:`Attack`, as a dict. A finding is an exception that is not of the documented kind. A crash or a hang ends the
child: whoever started it finds that. The native parsers have fuzzers of their own in ``cpp/fuzz``.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import traceback
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_args

import framing
import numpy as np

import penstock as ps
import penstock.cli
import penstock.discovery.infer
from penstock._core import ValueReader
from penstock.codec.tensor_proto import parse_tensor, serialize_tensor
from penstock.index import file_format
from penstock.index.file_identity import Identity
from penstock.index.open import open_index
from penstock.records.read_options import OnDamage, ReadOptions
from penstock.rlds.index_file import from_bytes, sealed, to_bytes
from penstock.rlds.step_features import StepFeature
from penstock.rlds.step_index import build_step_index, has_records_of
from penstock.storage import locate
from reliability.mutation import mutate_bytes, mutate_json

EXECUTIONS = int(os.environ.get("EXECUTIONS", "300"))
"""Inputs that one call tries."""

MOST_BYTES = 1024
"""Inputs are no larger: so much the less should they cost."""


@dataclass
class Attack:
    """What so many inputs came to."""

    executions: int = 0
    findings: list[str] = field(default_factory=list)
    peak: int = 0
    """The most memory that one input has cost, in bytes."""

    def on(self, attempt: Callable[[], object], allowed: type[Exception] | tuple[type[Exception], ...]) -> None:
        """Try one input."""
        before = _restart_peak()
        try:
            attempt()
        except allowed:
            pass
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            self.findings.append(f"{type(error).__name__}: {str(error)[:200]} ({where.name}, line {where.lineno})")
        self.executions += 1
        self.peak = max(self.peak, _peak() - before)


def _memory(line: str) -> int:
    with open("/proc/self/status") as status:
        return next(int(found.split()[1]) << 10 for found in status if found.startswith(line))


def _restart_peak() -> int:
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak is what is resident now
    return _memory("VmRSS")


def _peak() -> int:
    return _memory("VmHWM")


def _small_files(rng: random.Random) -> dict[str, bytes]:
    records = [rng.randbytes(rng.choice([0, 1, 20, 90])) for _ in range(rng.randrange(1, 5))]
    plain = framing.frames(records)
    members = gzip.compress(framing.frames(records[:1]), mtime=0) + gzip.compress(framing.frames(records[1:]), mtime=0)
    return {
        "plain": plain,
        "hostile length": plain + framing.header(rng.choice([2**64 - 1, 2**63, 2**40, 2**30, 5000])) + bytes(20),
        "gzip": members,
        "zlib": zlib.compress(plain),
        "snappy": framing.snappy_block(plain),
        "bomb": gzip.compress(framing.header(2**29) + bytes(500_000)),
    }


def files(folder: str, report: object, seed: int) -> dict[str, Any]:
    """Read mutated files of every compression under every policy; count, index, describe, repair and append to them."""
    rng = random.Random(f"files {seed}")
    attack = Attack()
    path = f"{folder}/file"
    policies = get_args(OnDamage)
    for _ in range(EXECUTIONS):
        kind, data = rng.choice(list(_small_files(rng).items()))
        Path(path).write_bytes(mutate_bytes(rng, data)[:MOST_BYTES])
        policy = rng.choice(policies)
        trailing = rng.choice(["error", "zeros", "ignore"])
        compression = {"gzip": "GZIP", "zlib": "ZLIB", "snappy": "SNAPPY"}.get(kind, "")
        reader = ps.RecordReader(
            path, on_error=policy, trailing=trailing, compression=rng.choice(["auto", compression]), threads=1
        )
        attack.on(lambda: list(reader), ps.CorruptDataError)  # noqa: B023
        attack.on(reader.count, ps.CorruptDataError)
        attack.on(lambda: open_index(path, where="none").records, ps.CorruptDataError)
        attack.on(lambda: ps.infer_schema(path), ps.PenstockError)
        attack.on(lambda: ps.repair(path, f"{folder}/repaired", replace=True), ps.CorruptDataError)
        attack.on(lambda: ps.RecordWriter(path, append=True).close(), (ps.CorruptDataError, ValueError))
    return asdict(attack)


def tensors(folder: str, report: object, seed: int) -> dict[str, Any]:
    """Parse mutated TensorProtos."""
    rng = random.Random(f"tensors {seed}")
    attack = Attack()
    messages = [
        serialize_tensor(np.arange(12, dtype=dtype).reshape(3, 4))
        for dtype in ("uint8", "int32", "int64", "float32", "float64", "float16", "complex64")
    ]
    messages += [serialize_tensor(np.array([b"some", b"", b"bytes"], object)), serialize_tensor(np.float32(1))]
    # Values in typed lists, and a shape that claims far more of them.
    messages += [
        b"\x08\x01\x12\x08\x12\x06\x08\x80\x80\x80\x80\x10\x2a\x04\x00\x00\x80\x3f",
        b"\x08\x09\x12\x00\x52\x01\x01",
    ]
    for _ in range(EXECUTIONS):
        message = mutate_bytes(rng, rng.choice(messages))[:MOST_BYTES]
        attack.on(lambda: parse_tensor(message), ps.MalformedExampleError)  # noqa: B023
    return asdict(attack)


_SCHEMA = ps.Schema(
    {
        "label": ps.Feature("int64"),
        "image": ps.Feature("uint8", (4, 4, 3), encoding="png"),
        "words": ps.Feature("str", (None,)),
        "weights": ps.Feature("float32", (2, 2), default=np.ones((2, 2), np.float32)),
        "tensor": ps.Feature("float64", (2,), encoding="tensor"),
        "raw": ps.Feature("int16", (3,), encoding="raw", optional=True),
    }
)


def schemas(folder: str, report: object, seed: int) -> dict[str, Any]:
    """Load mutated schemas of every format, and plan how to decode by those that are accepted."""
    rng = random.Random(f"schemas {seed}")
    attack = Attack()
    plain = _SCHEMA.select(["label", "words"])
    sources: list[tuple[str, Callable[[Any], ps.Schema]]] = [
        (_SCHEMA.to_json(), ps.Schema.from_json),
        (_SCHEMA.to_json(), ps.Schema.from_json),
        (plain.to_pbtxt(), ps.Schema.from_pbtxt),
        (_SCHEMA.select(["label", "image", "words"]).to_tfds(), ps.Schema.from_tfds),
    ]
    for _ in range(EXECUTIONS):
        text, load = rng.choice(sources)
        mutated = _mutated_text(rng, text)
        attack.on(lambda: ps.Decoder(load(mutated)), ps.SchemaError)  # noqa: B023
    return asdict(attack)


def manifests(folder: str, report: object, seed: int) -> dict[str, Any]:
    """Load mutated manifests, and compare those that are accepted with the files that are there."""
    rng = random.Random(f"manifests {seed}")
    attack = Attack()
    text = ps.write(f"{folder}/data", {"x": [1, 2, 3]}, shards=2).to_json()

    def load(text: str) -> None:
        for shard in ps.Manifest.from_json(text).shards:
            assert os.path.dirname(os.path.abspath(f"{folder}/{shard.name}")) == folder, shard.name
        ps.Manifest.from_json(text).verify(folder)

    for _ in range(EXECUTIONS):
        mutated = _mutated_text(rng, text)
        attack.on(lambda: load(mutated), (ps.ManifestError, OSError))  # noqa: B023
    return asdict(attack)


def indexes(folder: str, report: object, seed: int) -> dict[str, Any]:
    """Load mutated indexes, and ask those that are accepted where all records are."""
    rng = random.Random(f"indexes {seed}")
    attack = Attack()
    whole = []
    for name, data in {
        "plain": framing.frames([b"a", b"bb", b"ccc"]),
        "gzip": gzip.compress(framing.frames([b"a"])),
    }.items():
        Path(f"{folder}/{name}").write_bytes(data)
        index = open_index(f"{folder}/{name}", where="none")
        whole.append((file_format.to_bytes(index), index.identity))
    # In which restart points have windows.
    noise = rng.randbytes(70_000).hex().encode()
    Path(f"{folder}/stream").write_bytes(gzip.compress(framing.frames([noise[n : n + 3000] for n in range(9)] * 150)))
    index = open_index(f"{folder}/stream", where="none")
    whole.append((file_format.to_bytes(index), index.identity))

    def load(data: bytes, identity: Identity) -> None:
        index = file_format.from_bytes(data, identity)
        index.locations(np.arange(min(index.records, 1000)))

    for _ in range(EXECUTIONS):
        data, identity = rng.choice(whole)
        if rng.random() < 0.5:
            head, _, rest = data.partition(b"\n")
            data = json.dumps(mutate_json(rng, json.loads(head))).encode() + b"\n" + rest
        else:
            data = mutate_bytes(rng, data)
        attack.on(lambda: load(data, identity), ps.IndexFileError)  # noqa: B023
    return asdict(attack)


def step_indexes(folder: str, report: object, seed: int) -> dict[str, Any]:
    """Load mutated indexes of steps, and read from the file what those that are accepted lead to."""
    rng = random.Random(f"step_indexes {seed}")
    attack = Attack()
    features = (
        StepFeature("camera", ps.Feature("uint8", (4, 4, 3), encoding="png"), "located"),
        StepFeature("action", ps.Feature("float32", (2,)), "column"),
        StepFeature("task", ps.Feature("str"), "text"),
    )
    schema = ps.Schema(
        {
            "steps/camera": ps.Feature("bytes", (None,)),
            "steps/action": ps.Feature("float32", (None, 2)),
            "steps/task": ps.Feature("str", (None,)),
        }
    )
    path = f"{folder}/episodes"
    with ps.RecordWriter(path, compression="") as writer:
        for steps in (3, 0, 2):
            episode = {
                "steps/camera": [rng.randbytes(rng.randrange(40)) for _ in range(steps)],
                "steps/action": np.ones((steps, 2), np.float32),
                "steps/task": ["pick", "place", "pick"][:steps],
            }
            writer.write_many(ps.Encoder(schema).encode([episode]))
    store, _ = locate(path)
    index = build_step_index(store, path, features, ReadOptions(), lambda done: None)
    whole = to_bytes(index, features)
    reader = ValueReader([path], threads=1)

    def load(data: bytes) -> None:
        found = from_bytes(data, index.identity, features)
        has_records_of(store, path, found, 1)
        assert all(len(column) == found.steps for column in found.columns.values())
        for texts in found.texts.values():
            [texts.values[code] for code in texts.codes]
        for places in found.places.values():
            files = np.zeros(found.steps, np.int64)
            reader.read(files, places.offsets, places.lengths.astype(np.uint64), places.checksums)

    for _ in range(EXECUTIONS):
        head, _, rest = whole[:-4].partition(b"\n")
        if rng.random() < 0.7:
            head = json.dumps(mutate_json(rng, json.loads(head))).encode()
        else:
            rest = mutate_bytes(rng, rest)
        mutated = sealed(head + b"\n" + rest) if rng.random() < 0.9 else mutate_bytes(rng, whole)
        attack.on(lambda: load(mutated), ps.IndexFileError)  # noqa: B023
    return asdict(attack)


def records(folder: str, report: object, seed: int) -> dict[str, Any]:
    """Decode mutated records with images, tensors, text and raw bytes in them."""
    rng = random.Random(f"records {seed}")
    attack = Attack()
    row = {
        "label": 3,
        "image": np.zeros((4, 4, 3), np.uint8),
        "words": ["some", "words"],
        "weights": np.ones((2, 2), np.float32),
        "tensor": np.ones(2),
        "raw": np.arange(3, dtype=np.int16),
    }
    (whole,) = ps.Encoder(_SCHEMA).encode([row])
    decoder = ps.Decoder(_SCHEMA)
    allowed = (ps.MalformedExampleError, UnicodeDecodeError)  # text is decoded where it is asked for
    for _ in range(EXECUTIONS):
        mutated = mutate_bytes(rng, bytes(whole))[:MOST_BYTES]
        attack.on(lambda: decoder.decode([mutated])["words"].to_list(), allowed)  # noqa: B023
    return asdict(attack)


def _mutated_text(rng: random.Random, text: str) -> str | bytes:
    if text.startswith("{") and rng.random() < 0.7:
        value = json.loads(text)
        for _ in range(rng.choice([1, 1, 2])):
            value = mutate_json(rng, value)
        return json.dumps(value)
    mutated = mutate_bytes(rng, text.encode())
    return mutated.decode("utf-8", "surrogateescape") if not text.startswith("{") else mutated


TARGETS = ("files", "records", "tensors", "schemas", "manifests", "indexes", "step_indexes")
