"""``cache(filename)``: elements in a file, which the first whole pass writes and all others read.

The file is there when it is complete, and not before. Its first record says what the elements were made from: where
that has changed they are not read, for they may be wrong by now.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import Any

from penstock.reader import RecordReader
from penstock.tf.data.element_records import decode, encode
from penstock.tf.data.made_from import MadeFrom, made_from
from penstock.tf.data.node import Moving, Node
from penstock.tf.errors import DataLossError, FailedPreconditionError, tensorflow_errors
from penstock.tf.io import gfile
from penstock.writer import RecordWriter

_FORMAT, _VERSION = "penstock.tf.cache", 2


class CachedInFile(Moving):
    """All elements, kept in a file by the first pass that comes to the end."""

    def __init__(self, before: Node, name: str) -> None:
        super().__init__(before)
        self.cardinality = before.cardinality
        self._path = f"{name}.cache"

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        return self._kept() if gfile.exists(self._path) else chain.from_iterable(self._stretches())

    @cached_property
    def _made_from(self) -> MadeFrom:
        return made_from(self.before)

    def _kept(self) -> Iterator[Any]:
        with tensorflow_errors():
            records = iter(RecordReader(self._path, compression=""))
            self._check(next(records, b""))
            yield from decode(records)

    def _stretches(self) -> Iterator[Iterator[Any]]:
        """Give the elements up to an error, which ends a generator, and then those behind it; and write them all.

        A pass that is given up closes this generator, and the writer leaves no file.
        """
        with tensorflow_errors():
            gfile.makedirs(os.path.dirname(self._path) or ".")
            with RecordWriter(self._path, compression="") as writer:
                header = {"format": _FORMAT, "version": _VERSION, **self._made_from._asdict()}
                writer.write(json.dumps(header).encode())
                rows = self.before.rows()
                ended: list[bool] = []
                while not ended:
                    yield _stretch(rows, writer, ended)

    def _check(self, header: bytes) -> None:
        try:
            found = json.loads(bytes(header))
            fits = found["format"] == _FORMAT and found["version"] == _VERSION
            steps, files = found["steps"], dict(found["files"])
        except (ValueError, TypeError, KeyError):
            fits = False
        if not fits:
            raise DataLossError(f"{self._path} is no cache that can be read: delete it")
        now = self._made_from
        changed = [name for name, content in now.files.items() if files.get(name, content) != content]
        if changed or steps != now.steps:
            what = (
                f"{changed[0]} has changed" if changed else "the steps before cache() or their functions have changed"
            )
            raise FailedPreconditionError(
                f"{self._path} holds other elements than this data set gives: {what} since it was written. "
                "Delete it, or give cache() another name"
            )


def _stretch(rows: Iterator[Any], writer: RecordWriter, ended: list[bool]) -> Iterator[Any]:
    for row in rows:
        writer.write_many(encode(row))
        yield row
    ended.append(True)
