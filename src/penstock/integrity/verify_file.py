"""Check one file in a single read: its frames, its payloads, and the checksum of all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock._core import RecordChunk, ValidRecords
from penstock.codec.decode_blobs import is_blob
from penstock.codec.decoder import Decoder
from penstock.compression import Compression
from penstock.errors import CorruptDataError, MalformedExampleError, MissingExtraError, import_extra
from penstock.index import known_starts
from penstock.integrity.problems import Problem, problem_of
from penstock.records.read_options import ReadOptions
from penstock.records.scanner import RecordScanner
from penstock.schema import Schema
from penstock.schema.recognize_bytes import recognize_payload
from penstock.storage import locate

MAX_MALFORMED = 10
"""After this many malformed records, the payloads of a file are not checked any more."""


@dataclass(frozen=True)
class VerifiedFile:
    """What one file holds, and what is wrong with it."""

    path: str
    records: int = 0
    """Records whose checksums match."""
    bytes: int = 0
    """The size of their frames, uncompressed."""
    problems: tuple[Problem, ...] = ()
    before_damage: int | None = None
    """How many of the records are before the first damage; None if nothing is damaged."""
    examples: bool | None = None
    """Whether the payloads are Examples; None if unknown."""
    decoded: tuple[str, ...] | None = None
    """The images and tensors that were decoded; None if none was requested, or Pillow is missing."""
    seems: str | None = None
    """What the payloads seem to be, if they are not Examples."""
    doubtful: int = 0
    """Further records that may be inside the payload of a damaged one."""

    def _document(self, advise: Callable[[Problem], str] | None = None) -> dict[str, Any]:
        """Return the report on the file as JSON values."""
        before = self.before_damage
        return {
            "path": self.path,
            "records": self.records,
            "bytes": self.bytes,
            "examples": self.examples,
            "decoded": list(self.decoded or ()),
            "seems": self.seems,
            "saved": None if before is None else {"before": before, "after": self.records - before},
            "doubtful": self.doubtful,
            "problems": [problem._document(advise) for problem in self.problems],
        }


class FileCheck:
    """One read of one file.

    Args:
        path: The file, local or a URL.
        schema: What its Examples hold; None accepts any Example.
        compression: None detects it from the content.
        max_record_bytes: A longer record is damage, whatever its header says.
        decode: Decode images and tensors as well, one at a time.
        threads: Native threads that read and check a local file.
        checksum: Compute the checksum of the whole file.
    """

    def __init__(
        self,
        path: str,
        schema: Schema | None,
        *,
        compression: Compression | None = None,
        max_record_bytes: int = 1 << 30,
        decode: bool = False,
        threads: int = 1,
        checksum: bool = False,
    ) -> None:
        self._store, self._path = locate(path)
        self._options = ReadOptions(
            compression=compression, max_record_bytes=max_record_bytes, threads=threads, on_damage="skip"
        )
        self._checksum = checksum
        self._decode = decode
        self.payloads = PayloadCheck(schema, threads, decode=decode)
        self.records = 0
        """Good records so far."""
        self.bytes = 0
        """The size of their frames, uncompressed."""
        self.before_damage: int | None = None
        """How many of the records are before the first damage; None if nothing is damaged."""
        self.damage: list[CorruptDataError] = []
        self.crc32c = 0
        """The checksum of the whole file, after :meth:`run` with ``checksum``, if nothing is damaged."""

    def run(self) -> Iterator[int]:
        """Read the file; yield the number of good records in each part of it."""
        scanner = RecordScanner(
            self._store,
            self._path,
            self._options,
            checksum=self._checksum,
            known_starts=partial(known_starts, self._path),
        )
        native = self.payloads.native
        with closing(scanner.checked(native) if native else iter(scanner)) as events:
            for event in events:
                if isinstance(event, CorruptDataError):
                    self.damage.append(event)
                    self.before_damage = self.records if self.before_damage is None else self.before_damage
                elif isinstance(event, ValidRecords):
                    self.payloads.count(event.records)
                    yield self._count(event.records, event.bytes)
                elif isinstance(event, RecordChunk):
                    self.payloads.check(event)
                    yield self._count(len(event), int(event.spans[:, 1].sum()) + 16 * len(event))
        self.crc32c = scanner.crc32c

    def report(self, failures: list[Problem]) -> VerifiedFile:
        """Return what was found; ``failures`` ended the read early."""
        payloads = self.payloads
        malformed: list[Exception] = [*payloads.malformed]
        decoded = tuple(payloads.decoded) if self._decode else None
        if payloads.not_decoded is not None:
            malformed.append(payloads.not_decoded)
            decoded = decoded or None
        damaged = [problem_of(self._path, error) for error in self.damage]
        return VerifiedFile(
            self._path,
            self.records,
            self.bytes,
            (*damaged, *failures, *(problem_of(self._path, error) for error in malformed)),
            self.before_damage,
            payloads.are_examples,
            decoded,
            payloads.seems,
            sum(error.records for error in self.damage),
        )

    def _count(self, records: int, size: int) -> int:
        self.records += records
        self.bytes += size
        return records


class PayloadCheck:
    """Checks the payloads of one file, a chunk at a time.

    The native decoder checks lists and raw numbers. Images and tensors are checked by decoding them, if ``decode`` is
    set: a record at a time, so that no more than one of each is in memory.
    """

    def __init__(self, schema: Schema | None, threads: int = 1, *, decode: bool = False) -> None:
        self._has_schema = schema is not None
        schema = Schema({}) if schema is None else schema
        names = [name for name, feature in schema.items() if not is_blob(feature)]
        # Without a schema, only strictness rejects other messages than Examples; with one, TensorFlow's rules apply.
        self._decoder = Decoder(schema, columns=names, validate="all", strict=not self._has_schema, threads=threads)
        nested = any(schema[name].partitions for name in names)
        self.not_decoded: MissingExtraError | None = None
        """Why images are not decoded, although they should be."""
        self.decoded = self._decodable(schema) if decode else []
        """The images and tensors that are decoded."""
        self._blobs = Decoder(schema, columns=self.decoded, threads=1) if self.decoded else None
        self.native = None if nested or self._blobs else self._decoder._native
        """The native decoder, if it checks everything by itself; else None."""
        self._good = 0
        self._malformed: list[MalformedExampleError] = []
        self._seems: str | None = None

    def _decodable(self, schema: Schema) -> list[str]:
        names = [name for name, feature in schema.items() if is_blob(feature)]
        images = {name for name in names if schema[name].encoding != "tensor"}
        if images:
            try:
                import_extra("PIL.Image", "image", f"{', '.join(sorted(images))} not decoded: decoding images")
            except MissingExtraError as error:
                self.not_decoded = error
                names = [name for name in names if name not in images]
        return names

    def check(self, chunk: RecordChunk) -> None:
        """Check the payloads of a chunk, in one native call unless some are malformed."""
        while len(chunk) and len(self._malformed) < MAX_MALFORMED:
            try:
                self._decoder.decode(chunk)
            except MalformedExampleError as error:
                before = (error.record or 0) - chunk.first_record
                self._accept(chunk[:before])
                if not self._malformed:
                    self._seems = recognize_payload(chunk[before])
                self._malformed.append(error)
                chunk = chunk[before + 1 :]
            else:
                self._accept(chunk)
                return

    def _accept(self, chunk: RecordChunk) -> None:
        """Count payloads that the native decoder accepts, and decode their images and tensors."""
        self._good += len(chunk)
        for row in range(len(chunk) if self._blobs else 0):
            if len(self._malformed) >= MAX_MALFORMED:
                return
            try:
                assert self._blobs is not None
                self._blobs.decode(chunk[row : row + 1])
            except MalformedExampleError as error:
                self._malformed.append(error)

    def count(self, records: int) -> None:
        """Add payloads that the ``native`` decoder has accepted."""
        self._good += records

    @property
    def are_examples(self) -> bool | None:
        """Whether the payloads are Examples, except for some that are malformed; None if unknown."""
        if self._good:
            return True
        # Payloads that do not fit a schema may be Examples of another one.
        return False if self._malformed and not self._has_schema else None

    @property
    def seems(self) -> str | None:
        """What the payloads seem to be if they are not Examples, judged by the first one."""
        return self._seems if self.are_examples is False else None

    @property
    def malformed(self) -> list[MalformedExampleError]:
        """The first records that are not Examples like the others, or do not fit the schema."""
        return self._malformed if self._has_schema or self._good else []
