"""Lets every call to the operating system fail in turn, and checks that it is reported.

A clean run counts the calls that a piece of work makes on its files. Then the work is done again for each of them, and
that call fails, or does half of what it was asked for.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from reliability.sandbox import Call, Sandbox
from reliability.survivors import APPENDING_TO_DATASET, DATASETS, IN_PLACE, SMALL_FILES, prepare
from reliability.trial import FAIL, FALL_SHORT, Ended

SHORT = 0
"""Stands among the error numbers for a call that does half of what it was asked for."""

FAULTS = {
    "open": (errno.EIO, errno.EMFILE, errno.EINTR),
    "read": (errno.EIO, errno.EINTR, SHORT),
    "write": (errno.ENOSPC, errno.EIO, errno.EINTR, SHORT),
    "copy": (errno.EMFILE,),
    "fsync": (errno.EIO, errno.ENOSPC, errno.EINTR),
    "close": (errno.EIO, errno.ENOSPC),
    "rename": (errno.EIO, errno.ENOSPC),
    "truncate": (errno.EIO, errno.EINTR),
    "unlink": (errno.EIO,),
}
TRANSIENT = (errno.EINTR, SHORT)
"""Nothing is wrong: the call is to be made again. Nobody should hear of it."""

WORKS = {
    "write": (),
    "write_gzip": (),
    "write_in_place": (),
    "write_in_place_gzip": (),
    "write_synced": (),
    "write_synced_gzip": (),
    "write_synced_in_place": (),
    "append": (),
    "append_gzip": (),
    "append_synced": (),
    "append_to_dataset": (),
    "write_dataset": (),
    "write_dataset_gzip": (),
    "write_dataset_synced": (),
    "write_dataset_stream": (),
    "convert_to_table": (),
    "write_parts": (),
    "save_schema": (),
    "save_manifest": (),
    "read": ("write",),
    "read_gzip": ("write_gzip",),
    "count": ("write",),
    "index": ("write",),
    "repair": ("write", "break_file"),
    "repair_gzip": ("write_gzip", "break_gzip"),
    "load_schema": ("save_schema",),
    "load_manifest": ("save_manifest",),
    "verify_manifest": ("write_dataset",),
    "verify": ("write_dataset",),
}
"""What is done, and what has to be done before."""

_PARTIAL = re.compile(r"\..*\.[0-9a-f]{8}\.partial")
_REPLACED = re.compile(r"\..*\.[0-9a-f]{8}\.replaced")
_SEED = 1


@dataclass
class Faults:
    """What injecting faults came to."""

    injected: int = 0
    surfaced: int = 0
    handled: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Clean:
    """What the work does undisturbed."""

    result: object
    before: dict[str, bytes]
    after: dict[str, bytes]


def inject_faults(sandbox: Sandbox, works: Iterable[str] = tuple(WORKS), *, every: int = 1) -> Faults:
    """Let each call of each work fail in each way, or every so many of these."""
    result = Faults()
    turn = 0
    for work in works:
        folder = _begin(sandbox, work)
        before = _snapshot(folder)
        ended = sandbox.run(work, folder, _SEED)
        assert "done" in ended.messages[-1], ended
        clean = Clean(ended.messages[-1]["done"], before, _snapshot(folder))
        for number, call in enumerate(sandbox.calls()):
            for fault in FAULTS[call.kind]:
                turn += 1
                if turn % every == 0:
                    _inject(sandbox, work, number, fault, clean, result)
    return result


def _begin(sandbox: Sandbox, work: str) -> Path:
    folder = sandbox.empty_folder()
    if not WORKS[work]:
        prepare(work, folder)
    for earlier in WORKS[work]:
        sandbox.run(earlier, folder, _SEED)
        sandbox.log.unlink()
    return folder


def _inject(sandbox: Sandbox, work: str, number: int, fault: int, clean: Clean, result: Faults) -> None:
    folder = _begin(sandbox, work)
    ended = sandbox.run(work, folder, _SEED, at=number, action=FAIL if fault else FALL_SHORT, error=fault)
    chosen = next((call for call in sandbox.calls() if call.chosen), None)
    if chosen is None or fault not in FAULTS[chosen.kind]:
        return  # threads take turns as they like: this time the call was another one, or there were fewer
    result.injected += 1
    surfaced = bool(ended.messages) and "raised" in ended.messages[-1]
    result.surfaced += surfaced
    result.handled += not surfaced
    name = errno.errorcode[fault] if fault else "a short one"
    problems = _judge_result(chosen, fault, ended, clean) + _judge_files(work, surfaced, _snapshot(folder), clean)
    result.problems += [f"{work}, call {number} ({chosen.kind}), {name}: {problem}" for problem in problems]


def _judge_result(call: Call, fault: int, ended: Ended, clean: Clean) -> list[str]:
    if ended.status != 0:
        return ["it hung" if ended.status is None else f"it died with status {ended.status}"]
    last = ended.messages[-1]
    if "raised" in last:
        if fault in TRANSIENT:
            return [f"surfaced as {last['raised']}: {last['message']}"]
        return [] if last["errno"] == fault else [f"surfaced as {last['raised']}: {last['message']}"]
    if last["done"] != clean.result:
        return ["the result is wrong"]
    return ["swallowed"] if call.changes and fault not in TRANSIENT else []


def _judge_files(work: str, surfaced: bool, found: dict[str, bytes], clean: Clean) -> list[str]:
    if not surfaced:
        return [] if found == clean.after else ["the files are not those of a clean run"]
    problems = []
    # Old files that could not be deleted may remain next to a new dataset.
    visible = {name: content for name, content in found.items() if not _REPLACED.fullmatch(name)}
    if work in DATASETS and visible != clean.after and found != clean.before:
        problems.append("neither the old dataset nor the new one is whole")
    for name, content in visible.items():
        if name.endswith(".torn"):
            continue  # what an appending writer cut off, whole or in part: nothing else is lost with it
        if _PARTIAL.fullmatch(name):
            if work in DATASETS or work in SMALL_FILES:
                problems.append(f"{name} is left")
        elif work in APPENDING_TO_DATASET and b'"appending": true' in content:
            continue  # the manifest states that the writer was stopped
        elif content not in (clean.before.get(name), clean.after.get(name)) and not (
            work in IN_PLACE and clean.after[name].startswith(content)
        ):
            problems.append(f"{name} is neither the old file nor the new one")
    return problems


def _snapshot(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
