"""The same questions to TensorFlow, which runs in an environment of its own."""

from __future__ import annotations

import random
import signal

from oracle import PYTHON, Oracle

from reliability.damage import Outcome
from reliability.payloads import NAME, ROWS, records
from reliability.sandbox import Sandbox


def read(oracle: Oracle, files: list[bytes], compression: str) -> list[Outcome]:
    # The iterator is the same reader with less around it; it does not know SNAPPY.
    reader = "dataset" if compression == "SNAPPY" else "iterator"
    found = oracle.read(*((file, compression) for file in files), reader=reader)
    return [Outcome(outcome.records, outcome.error is not None) for outcome in found]


def kill_writers(oracle: Oracle, trials: int, seed: int = 1) -> tuple[int, int, int]:
    """Kill TensorFlow's writer, plain and gzip; return the kills, and how many flushed records were and are there."""
    kills = safe = found = 0
    with Sandbox(PYTHON, "reliability.tensorflow_work", watched=False) as sandbox:
        for work, compression in (("write", ""), ("write_gzip", "GZIP")):
            rng = random.Random(f"{work} {seed}")
            messages = len(sandbox.run(work, sandbox.empty_folder(), seed).messages)
            for _ in range(trials):
                folder = sandbox.empty_folder()
                one = rng.randrange(1 << 20)
                ended = sandbox.run(work, folder, one, kill_after=rng.randrange(1, messages))
                if ended.status != -signal.SIGKILL or not (folder / NAME).exists():
                    continue
                flushed = max((line["safe"] for line in ended.messages if "safe" in line), default=0)
                (outcome,) = read(oracle, [(folder / NAME).read_bytes()], compression)
                expected = records(one, ROWS)[:flushed]
                kills += 1
                safe += flushed
                found += sum(a == b for a, b in zip(outcome.records, expected, strict=False))
    return kills, safe, found
