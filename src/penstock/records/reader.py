"""Read the records of one file, as bytes or in chunks, with a policy for damage."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Self

from penstock._core import RecordChunk
from penstock.arguments import int_at_least
from penstock.compression import Trailing, check_or_auto
from penstock.errors import CorruptDataError
from penstock.records.read_options import OnDamage, ReadOptions
from penstock.records.scanner import RecordScanner
from penstock.storage import StrPath, locate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Damage that a killed writer leaves at the end of a file.
_TAIL = ("truncated-header", "truncated-record", "truncated-stream")


class RecordReader:
    """Iterate the records of a TFRecord file as ``bytes``.

    Each iteration reads the file again. To avoid a Python object per record, use :meth:`chunks`.

    Example:
        >>> with ps.RecordWriter("data.tfrecord") as writer:
        ...     writer.write_many([b"one", b"two"])
        >>> list(ps.RecordReader("data.tfrecord"))
        [b'one', b'two']

    Args:
        path: A local path, a URL that fsspec knows (``s3://``, ``https://`` ...), or ``-`` for standard input.
        compression: ``"auto"`` detects it from the content; or ``"GZIP"``, ``"ZLIB"``, ``"SNAPPY"``, ``""`` (none).
        verify: Check payload checksums. Headers and lengths are always checked.
        on_error: What to do at damage. ``"raise"`` an exception, after the good records before it;
            ``"tolerate_tail"`` skips an incomplete last record, as a killed writer leaves it; ``"skip"`` reads every
            record outside the damage, also after a damaged header; ``"skip_record"`` skips records with a damaged
            payload, and raises at any other damage; ``"skip_file"`` ends at the first damage. What was skipped is in
            :attr:`damage`.
        nested: With ``on_error="skip"``, whether payloads may hold TFRecords. After damage, such inner records look
            like records of the file. True skips all records in doubt, as damage of the kind ``"doubtful"``, unless
            there is an index of the file. None judges by the other records: if they are many, none of them holds
            TFRecords, and a record with these in its payload would be far longer than all of them, they are records of
            the file. False takes all for records of the file.
        skip: Records to skip at the start. They are checked like all others.
        max_record_bytes: A longer record is an error, whatever its header says.
        trailing: What may follow a compressed stream: ``"error"`` (nothing), ``"zeros"`` (padding), ``"ignore"``.
        multistream: Read on if a second ZLIB stream follows the first, which TensorFlow drops.
        require_nonempty: An input without a single byte is an error: an interrupted writer leaves such a file.
        threads: Native threads that read and check a local file; by default one per CPU
            that the process may use.
    """

    def __init__(
        self,
        path: StrPath,
        *,
        compression: str | None = "auto",
        verify: bool = True,
        on_error: OnDamage = "raise",
        nested: bool | None = True,
        skip: int = 0,
        max_record_bytes: int = 1 << 30,
        trailing: Trailing = "error",
        multistream: bool = False,
        require_nonempty: bool = False,
        threads: int | None = None,
    ) -> None:
        options = ReadOptions(
            compression=check_or_auto(compression),
            verify=verify,
            max_record_bytes=max_record_bytes,
            threads=threads,
            on_damage=on_error,
            nested=nested,
            trailing=trailing,
            multistream=multistream,
            require_nonempty=require_nonempty,
        )
        self._set(path, options, int_at_least("skip", skip, 0))

    def _set(self, path: StrPath, options: ReadOptions, skip: int) -> None:
        self._store, self._path = locate(path)
        self._options, self._skip = options, skip
        self._damage: list[CorruptDataError] = []

    @classmethod
    def _with_options(cls, path: StrPath, options: ReadOptions) -> Self:
        """Return a reader with options that are checked already."""
        reader = cls.__new__(cls)
        reader._set(path, options, 0)
        return reader

    def __repr__(self) -> str:
        return f"<RecordReader of {self._path!r}>"

    @property
    def path(self) -> str:
        """The path of the file.

        Example:
            >>> ps.RecordReader("train-00000-of-00004.tfrecord").path
            'train-00000-of-00004.tfrecord'
        """
        return self._path

    @property
    def damage(self) -> list[CorruptDataError]:
        """The damage that the last iteration skipped, in order, as errors that were not raised.

        Example:
            >>> with ps.RecordWriter("data.tfrecord") as writer:
            ...     writer.write_many([b"one", b"two"])
            >>> with open("data.tfrecord", "r+b") as file:
            ...     size = file.truncate(30)  # inside the second record
            >>> reader = ps.RecordReader("data.tfrecord", on_error="tolerate_tail")
            >>> list(reader)
            [b'one']
            >>> [error.kind for error in reader.damage]
            ['truncated-header']
        """
        return list(self._damage)

    def __iter__(self) -> Iterator[bytes]:
        return itertools.chain.from_iterable(self.chunks())

    def chunks(self) -> Iterator[RecordChunk]:
        """Iterate chunks of records of up to about 1 MiB: a buffer, and the spans of the payloads in it.

        Example:
            >>> with ps.RecordWriter("data.tfrecord") as writer:
            ...     writer.write_many([b"one", b"three"])
            >>> for chunk in ps.RecordReader("data.tfrecord").chunks():
            ...     print(len(chunk), chunk.spans[:, 1])
            2 [3 5]
        """
        chunks = self._undamaged(partial(self._scan, self._options))
        # One generator less if nothing is skipped: reading a chunk evicts the code of the interpreter from the caches.
        return _after(self._skip, chunks) if self._skip else chunks

    def count(self) -> int:
        """Count the records by their headers; payloads are not checked, and large ones are not read.

        Example:
            >>> ps.RecordReader("train-00000-of-00004.tfrecord").count()
            25
        """
        scanner = self._scan(replace(self._options, verify=False))
        if scanner.native and not self._options.skips_damage:
            self._damage = []
            total, error = scanner.count()
            if error:
                self._skip_or_raise(error)
        else:
            total = sum(map(len, self._undamaged(lambda: scanner)))
        return max(0, total - self._skip)

    def _scan(self, options: ReadOptions) -> RecordScanner:
        return RecordScanner(self._store, self._path, options, known_starts=partial(_known_starts, self._path))

    def _undamaged(self, open_file: Callable[[], RecordScanner]) -> Generator[RecordChunk, None, None]:
        """Yield the chunks; raise damage, or collect it and continue as far as the policy and the damage allow."""
        self._damage = []
        # Close it here: an error keeps its frames alive, and with them open files and threads.
        with closing(iter(open_file())) as remaining:
            for event in remaining:
                if isinstance(event, RecordChunk):
                    yield event
                elif isinstance(event, CorruptDataError):
                    self._skip_or_raise(event)
                    if self._options.on_damage not in ("skip", "skip_record"):
                        return

    def _skip_or_raise(self, error: CorruptDataError) -> None:
        skipped_by_policy = {
            "raise": False,
            "tolerate_tail": error.kind in _TAIL,
            "skip": True,
            "skip_record": error.kind == "data-crc",
            "skip_file": True,
        }
        if not skipped_by_policy[self._options.on_damage]:
            raise error
        self._damage.append(error)


def _after(skipped: int, chunks: Iterator[RecordChunk]) -> Iterator[RecordChunk]:
    for chunk in chunks:
        if skipped < len(chunk):
            yield chunk[skipped:]
            break
        skipped -= len(chunk)
    yield from chunks


def _known_starts(path: str) -> NDArray[np.uint64] | None:
    # Imported here: most files are not damaged.
    from penstock.index import known_starts

    return known_starts(path)
