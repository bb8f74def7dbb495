"""Loses power, in a model: what was written since the last sync is lost, in part, out of order, and torn in sectors.

The writes, syncs and renames of a real process are logged. A disk in memory replays them up to some point. Then it
keeps what was synced, some of what was written since, sector by sector, and the first few changes of names since the
folder was synced. The file system has no mercy: nothing survives that was not synced.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reliability.sandbox import Event, Sandbox, read_log
from reliability.survivors import examine, prepare

WRITERS = (
    "write_synced",
    "write_synced_gzip",
    "write_synced_in_place",
    "append_synced",
    "append_synced_gzip",
    "append_to_dataset_synced",
    "write_dataset_synced",
)

SECTOR = 512


@dataclass
class File:
    """What a file is sure to hold, and what was done to it since: (offset, bytes), or (size, None) where it was cut."""

    safe: bytes = b""
    since: list[tuple[int, bytes | None]] = field(default_factory=list)

    def all(self) -> bytes:
        content = bytearray(self.safe)
        for change in self.since:
            _apply(content, *change)
        return bytes(content)

    def after_loss(self, rng: random.Random) -> bytes:
        content = bytearray(self.safe)
        survival = rng.choice([0.0, 0.5, 0.9, 1.0])
        for offset, data in self.since:
            if data is None:
                if rng.random() < survival:
                    _apply(content, offset, None)
                continue
            whole = rng.random() < survival
            for start in range(0, len(data), SECTOR):
                if whole or rng.random() < survival:
                    _apply(content, offset + start, data[start : start + SECTOR])
        return bytes(content)


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del content[offset:]
    content.extend(bytes(max(0, offset - len(content))))
    if data is not None:
        content[offset : offset + len(data)] = data


Name = tuple[str, File | None]


class Disk:
    """One folder on a disk, with what the process sees and what is sure to stay."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self.names = {str(path): File(path.read_bytes()) for path in folder.iterdir()}
        self._safe_names = dict(self.names)
        self._since: list[list[Name]] = []
        self._inodes: dict[int, File | None] = {}  # None: the folder

    def replay(self, event: Event) -> None:
        match event.what:
            case "opened":
                self._open(event)
            case "wrote":
                self._file(event).since.append((event.first, event.data))
            case "truncated":
                self._file(event).since.append((event.first, None))
            case "synced":
                self._sync(self._inodes[event.inode])
            case "renamed":
                old, new = event.name.split("\t")
                self._change((new, self.names[old]), (old, None))
            case "unlinked":
                self._change((event.name, None))

    def after_loss(self, rng: random.Random) -> dict[str, bytes]:
        """The files that are found when the power is back."""
        names: dict[str, File] = dict(self._safe_names)
        for changes in self._since[: rng.randint(0, len(self._since))]:
            _rename(names, changes)
        return {name: file.after_loss(rng) for name, file in names.items()}

    def _open(self, event: Event) -> None:
        if event.name == self.folder:
            self._inodes[event.inode] = None
            return
        if event.first:
            self._change((event.name, File()))
        self._inodes[event.inode] = self.names[event.name]
        if event.second:
            self._file(event).since.append((0, None))

    def _file(self, event: Event) -> File:
        file = self._inodes[event.inode]
        assert file is not None
        return file

    def _sync(self, file: File | None) -> None:
        if file is not None:
            file.safe, file.since = file.all(), []
        else:
            self._safe_names, self._since = dict(self.names), []

    def _change(self, *changes: Name) -> None:
        self._since.append(list(changes))
        _rename(self.names, list(changes))


def _rename(names: dict[str, File], changes: list[Name]) -> None:
    for name, file in changes:
        if file is None:
            names.pop(name, None)
        else:
            names[name] = file


@dataclass
class PowerLosses:
    """What losing power came to."""

    losses: int = 0
    safe: int = 0
    lost: int = 0
    problems: list[str] = field(default_factory=list)


def lose_power(sandbox: Sandbox, trials: int, *, works: Iterable[str] = WRITERS, seed: int = 1) -> PowerLosses:
    """Lose power so many times in each kind of work."""
    result = PowerLosses()
    for work in works:
        rng = random.Random(f"{work} {seed}")
        folder = sandbox.empty_folder()
        prepare(work, folder)
        disk = Disk(folder)
        ended = sandbox.run(work, folder, seed)
        assert "done" in ended.messages[-1], ended
        events = [event for event in read_log(sandbox.log) if event.what != "call"]
        points = sorted(rng.randint(0, len(events)) for _ in range(trials))
        messages: list[Any] = []
        at = 0
        for point in points:
            for event in events[at:point]:
                if event.what == "message":
                    messages.append(json.loads(event.name))
                else:
                    disk.replay(event)
            at = point
            _look(work, folder, disk.after_loss(rng), messages, seed, result)
    return result


def _look(
    work: str, folder: Path, files: dict[str, bytes], messages: list[Any], seed: int, result: PowerLosses
) -> None:
    for path in folder.iterdir():
        path.unlink()
    for name, content in files.items():
        Path(name).write_bytes(content)
    verdict = examine(work, folder, seed, messages, tail="skip_file")
    result.losses += 1
    result.safe += verdict.safe
    result.lost += verdict.lost
    result.problems += verdict.problems
