"""A folder of blocks: complete, or not there.

``blocks`` holds them one behind another, ``index.json`` says where each is, with its checksum. Both are written to a
folder of another name, which is renamed when the last block is in it.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np

from penstock import _core
from penstock.dataset.block import Block, Cursor
from penstock.dataset.kept.block_bytes import UNREADABLE, decode, encode
from penstock.errors import ChecksumError, CorruptDataError, TruncatedError

FORMAT = "penstock.cache"
VERSION = 1


class Kept(NamedTuple):
    """Where a block is in the file, and where it was in the flow."""

    offset: int
    length: int
    checksum: int
    start: Cursor
    stop: Cursor


class KeptBlocks:
    """The blocks of a folder that is complete."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "blocks"
        index = folder / "index.json"
        try:
            self.entries = _entries(json.loads(index.read_bytes()))
        except UNREADABLE as error:
            raise CorruptDataError(
                f"{index} is no index of a cache ({error}): remove {folder}", path=str(index)
            ) from error

    def read(self, number: int) -> Block:
        """Read a block and check it."""
        offset, length, checksum, start, stop = self.entries[number]
        where = f"{self._path}, byte {offset}"
        details: dict[str, Any] = {"path": str(self._path), "offset": offset, "record": number}
        with open(self._path, "rb") as file:
            # Before memory is asked for.
            if offset + length > os.fstat(file.fileno()).st_size:
                raise TruncatedError(f"a block reaches beyond the end of the cache: {where}", **details)
            file.seek(offset)
            memory = np.fromfile(file, np.uint8, length)
        if memory.nbytes != length:
            raise TruncatedError(f"a block reaches beyond the end of the cache: {where}", **details)
        if _core.crc32c(memory) != checksum:
            raise ChecksumError(f"a block of the cache is damaged: {where}: remove {self._path.parent}", **details)
        try:
            return decode(memory, start, stop)
        except UNREADABLE as error:
            raise CorruptDataError(f"a block of the cache cannot be read ({error}): {where}", **details) from error


def _entries(index: Any) -> list[Kept]:
    if index["format"] != FORMAT or index["version"] != VERSION or index["requires"]:
        raise ValueError(f"it is of another version, {index['version']!r}")
    entries = [Kept(*entry) for entry in index["blocks"]]
    for entry in entries:
        if not all(type(number) is int and number >= 0 for number in entry[:3]):
            raise ValueError("the places of its blocks are no numbers")
    return entries


class KeptBlocksWriter:
    """Writes a folder of blocks; unless it is committed, nothing stays of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(folder)
        self._begin()
        # Before it was held, another process that began may have taken it for abandoned.
        while not os.path.exists(self._file.name):
            self._file.close()
            self._begin()
        self._entries: list[Kept] = []

    def _begin(self) -> None:
        self._unfinished = Path(tempfile.mkdtemp(prefix=f".{self._folder.name}.", dir=self._folder.parent))
        self._file: BinaryIO = open(self._unfinished / "blocks", "wb")  # noqa: SIM115
        # Held as long as this process lives: what nobody holds was abandoned. Windows has no such locks, nor have some
        # network file systems; there nothing is removed.
        with suppress(OSError, ImportError):
            import fcntl

            fcntl.flock(self._file, fcntl.LOCK_EX)

    def add(self, block: Block) -> None:
        """Write a block; its elements are storable."""
        offset, checksum = self._file.tell(), 0
        for piece in encode(block):
            checksum = _core.crc32c(piece, checksum)
            self._file.write(piece.data)
        self._entries.append(Kept(offset, self._file.tell() - offset, checksum, block.start, block.stop))

    def commit(self) -> None:
        """Make the folder visible, on the disk; where another process was first, its folder stays."""
        index = {"format": FORMAT, "version": VERSION, "requires": [], "blocks": self._entries}
        with open(self._unfinished / "index.json", "w") as file:
            json.dump(index, file)
            file.flush()
            os.fsync(file.fileno())
        self._file.flush()
        os.fsync(self._file.fileno())
        if os.name == "nt":
            self._file.close()  # a folder with open files cannot be renamed there; elsewhere its lock is still needed
        try:
            self._unfinished.rename(self._folder)
        except OSError:
            if not self._folder.exists():
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        shutil.rmtree(self._unfinished, ignore_errors=True)


def _remove_abandoned(folder: Path) -> None:
    for unfinished in folder.parent.glob(f".{folder.name}.*"):
        try:
            import fcntl

            with open(unfinished / "blocks", "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(unfinished, ignore_errors=True)
        except (OSError, ImportError):  # somebody is at work, or has just finished
            continue
