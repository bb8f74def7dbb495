"""Kills writers at random points, with SIGKILL, and looks what is left.

Half of the kills come from inside, at a call to the operating system: before it, after it, or when half of a write is
done. The others come from outside when the writer has reported a random number of flushes, wherever it is by then.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Iterable
from dataclasses import dataclass, field

from reliability.sandbox import Sandbox
from reliability.survivors import examine, prepare
from reliability.trial import KILL_AFTER, KILL_BEFORE, KILL_HALFWAY

WRITERS = (
    "write",
    "write_gzip",
    "write_in_place",
    "write_in_place_gzip",
    "append",
    "append_gzip",
    "append_to_dataset",
    "write_dataset",
    "write_dataset_gzip",
    "write_dataset_stream",
    "write_dataset_shuffled",
    "write_parts",
    "convert_to_dataset",
    "convert_to_table",
    "save_schema",
    "save_manifest",
)


@dataclass
class Kills:
    """What killing came to."""

    kills: int = 0
    safe: int = 0
    lost: int = 0
    problems: list[str] = field(default_factory=list)


def kill_writers(sandbox: Sandbox, trials: int, *, works: Iterable[str] = WRITERS, seed: int = 1) -> Kills:
    """Kill each kind of writer so many times."""
    result = Kills()
    for work in works:
        rng = random.Random(f"{work} {seed}")
        folder = sandbox.empty_folder()
        prepare(work, folder)
        messages = len(sandbox.run(work, folder, seed).messages)
        calls = len(sandbox.calls())
        for _ in range(trials):
            _kill_one(sandbox, work, rng, calls, messages, result)
    return result


def _kill_one(sandbox: Sandbox, work: str, rng: random.Random, calls: int, messages: int, result: Kills) -> None:
    folder = sandbox.empty_folder()
    prepare(work, folder)
    seed = rng.randrange(1 << 20)
    if rng.random() < 0.5:
        action = rng.choice([KILL_BEFORE, KILL_HALFWAY, KILL_AFTER])
        ended = sandbox.run(work, folder, seed, at=rng.randrange(calls), action=action)
    else:
        ended = sandbox.run(work, folder, seed, kill_after=rng.randrange(messages))
    if ended.status != -signal.SIGKILL:
        if ended.status != 0:
            result.problems.append(f"{work}: ended with status {ended.status}")
        return  # it was done before its call, or its kill, came
    verdict = examine(work, folder, seed, ended.messages, tail="tolerate_tail")
    result.kills += 1
    result.safe += verdict.safe
    result.lost += verdict.lost
    result.problems += verdict.problems
