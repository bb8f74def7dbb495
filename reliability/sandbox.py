"""The client of :mod:`reliability.fork_server`: builds the library that it runs on, starts it, and hands it trials."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from reliability.trial import Ended, Trial

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Call:
    """A call on a watched file: what it was, and whether it could change anything."""

    kind: str
    changes: bool
    chosen: bool


class Sandbox:
    """Processes whose calls to the operating system are watched, each in an empty folder."""

    def __init__(self, python: str | Path = sys.executable, module: str = "reliability.work", *, watched: bool = True):
        self._module = module
        self._home = Path(tempfile.mkdtemp(prefix="penstock-reliability-"))
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE.parent / "tests" / "support")]),
        }
        if watched:
            library = self._home / "intercept.so"
            compiler = os.environ.get("CC", "cc")
            subprocess.run(
                [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(HERE / "intercept.c")], check=True
            )
            environment["LD_PRELOAD"] = str(library)
        self._process = subprocess.Popen(
            [python, "-m", "reliability.fork_server", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )

    def empty_folder(self) -> Path:
        """A folder for one trial; the one before is removed."""
        folder = self._home / "folder"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.log.unlink(missing_ok=True)
        return folder

    @property
    def log(self) -> Path:
        return self._home / "log"

    def run(self, work: str, folder: Path, seed: int, **happens: int | None) -> Ended:
        """Do the work in a child; ``happens`` are fields of :class:`Trial`."""
        trial = Trial(f"{self._module}:{work}", str(folder), seed, str(self.log), **happens)
        pickle.dump(trial, self._process.stdin)
        self._process.stdin.flush()
        return pickle.load(self._process.stdout)

    def calls(self) -> list[Call]:
        """The calls of the last child, in order."""
        events = read_log(self.log)
        return [Call(event.name, bool(event.first), bool(event.second)) for event in events if event.what == "call"]

    def close(self) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
        shutil.rmtree(self._home)

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@dataclass(frozen=True)
class Event:
    """A line of the log; ``intercept.c`` says what the details of each kind are."""

    what: str
    inode: int
    first: int
    second: int
    name: str
    data: bytes


def read_log(path: Path) -> list[Event]:
    events = []
    log = path.read_bytes()
    at = 0
    while at < len(log):
        end = log.index(b"\n", at)
        what, inode, first, second, size, name = log[at:end].decode().split("\t", 5)
        at = end + 1 + int(size)
        events.append(Event(what, int(inode), int(first), int(second), name, log[end + 1 : at]))
    return events
