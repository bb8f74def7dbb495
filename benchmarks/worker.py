"""Runs one contestant's tasks and times them: a server on pipes, run by the contestant's own environment.

``worker.py MODULE CORES`` reads JSON lines ``{"task", "arguments", "rounds"}``. A task is a function of the module; it
returns a value, or an iterable of payloads or batches, which is then gone through. With ``rounds`` 0 nothing is timed:
the result (of payloads, their fingerprint) goes back to be compared with what is expected. A module whose tasks return
batches has a function ``plain_columns`` that makes of a batch, and of the task's arguments, what is summed up.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from fingerprint import column_fingerprint, fingerprint


def load(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("contestant", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def result_of(module: ModuleType, task: Any, arguments: dict[str, Any]) -> Any:
    result = task(**arguments)
    if not is_payloads(result):
        return result
    if hasattr(module, "plain_columns"):
        return column_fingerprint(module.plain_columns(batch, **arguments) for batch in result)
    return fingerprint(result)


def seconds(task: Any, arguments: dict[str, Any], rounds: int) -> float:
    """Time of one call, the mean over some rounds."""
    start = time.perf_counter()
    for _ in range(rounds):
        result = task(**arguments)
        if is_payloads(result):
            for _payload in result:
                pass
    return (time.perf_counter() - start) / rounds


def is_payloads(result: Any) -> bool:
    return isinstance(result, Iterable) and not isinstance(result, (dict, list, str))


def main() -> None:
    module_path, cores = sys.argv[1], int(sys.argv[2])
    if cores:  # before the module starts any thread
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever the contestant prints must not end up between the replies
    module = load(module_path)
    for line in sys.stdin:
        question = json.loads(line)
        task, arguments, rounds = getattr(module, question["task"]), question["arguments"], question["rounds"]
        reply = seconds(task, arguments, rounds) if rounds else result_of(module, task, arguments)
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main()
