"""Reads one file whole, and adds up what is good and what is not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial

from penstock._core import RecordChunk, ValidRecords
from penstock.codec.decode_blobs import is_blob
from penstock.codec.decoder import Decoder
from penstock.compression import Compression
from penstock.errors import CorruptDataError, MalformedExampleError, MissingExtraError, import_extra
from penstock.index import known_starts
from penstock.records.read_options import ReadOptions
from penstock.records.scanner import RecordEvents
from penstock.schema import Schema
from penstock.schema.recognize import recognize_payload
from penstock.storage import locate


class FileCheck:
    """One pass over one file.

    Args:
        path: The file, local or a URL.
        schema: What its Examples are to hold; None: whatever they like.
        compression: None tells by content.
        max_record_bytes: A longer record is damage, whatever its header says.
        decode: Decode images and tensors as well, one at a time.
        threads: Native threads that read a local file, and check what they read.
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
    ) -> None:
        self._store, self._path = locate(path)
        self._options = ReadOptions(
            compression=compression,
            max_record_bytes=max_record_bytes,
            threads=threads,
            skip=True,
            known_starts=partial(known_starts, self._path),
        )
        self.payloads = PayloadCheck(schema, threads, decode=decode)
        self.records = 0
        """Good ones, so far."""
        self.bytes = 0
        """Of their frames, in the uncompressed stream."""
        self.before: int | None = None
        """Of the records, those before the first damage; None where nothing is damaged."""
        self.damage: list[CorruptDataError] = []

    def run(self) -> Iterator[int]:
        """Read the file; answer piece by piece how many good records there were in it."""
        events = RecordEvents(self._store, self._path, self._options)
        with closing(events.checked(self.payloads.native) if self.payloads.native else iter(events)) as found:
            for event in found:
                if isinstance(event, CorruptDataError):
                    self.damage.append(event)
                    self.before = self.records if self.before is None else self.before
                elif isinstance(event, ValidRecords):
                    self.payloads.count(event.records)
                    yield self._count(event.records, event.bytes)
                elif isinstance(event, RecordChunk):
                    self.payloads.look_at(event)
                    yield self._count(len(event), int(event.spans[:, 1].sum()) + 16 * len(event))

    def _count(self, records: int, size: int) -> int:
        self.records += records
        self.bytes += size
        return records


MOST_TOLD = 10
"""Where so many records are malformed, the others are not looked at any more."""


class PayloadCheck:
    """Looks at the payloads of one file, a chunk at a time.

    The native decoder checks lists and raw numbers. What images and tensors hold is known when they are decoded, which
    ``decode`` asks for: a record at a time, so that no more than one of each is in memory.
    """

    def __init__(self, schema: Schema | None, threads: int = 1, *, decode: bool = False) -> None:
        self._has_schema = schema is not None
        schema = Schema({}) if schema is None else schema
        names = [name for name, feature in schema.items() if not is_blob(feature)]
        # Without a schema nothing else tells another message from an Example; with one, TensorFlow's rules hold.
        self._decoder = Decoder(schema, columns=names, validate="all", strict=not self._has_schema, threads=threads)
        nested = any(schema[name].partitions for name in names)
        self.not_decoded: MissingExtraError | None = None
        """Why images are not decoded, where they were to be."""
        self.decoded = self._decodable(schema) if decode else []
        """The images and tensors that are decoded."""
        self._blobs = Decoder(schema, columns=self.decoded, threads=1) if self.decoded else None
        self.native = None if nested or self._blobs else self._decoder._native
        """What is sound to this native decoder needs no look; None where it does not see all that is checked."""
        self._good = 0
        self._told: list[MalformedExampleError] = []
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

    def look_at(self, chunk: RecordChunk) -> None:
        """Check the payloads of a chunk, in one native call unless some are malformed."""
        while len(chunk) and len(self._told) < MOST_TOLD:
            try:
                self._decoder.decode(chunk)
            except MalformedExampleError as error:
                before = (error.record or 0) - chunk.first_record
                self._accept(chunk[:before])
                if not self._told:
                    self._seems = recognize_payload(chunk[before])
                self._told.append(error)
                chunk = chunk[before + 1 :]
            else:
                self._accept(chunk)
                return

    def _accept(self, chunk: RecordChunk) -> None:
        """Count payloads that are sound to the native decoder, and decode what it does not look into."""
        self._good += len(chunk)
        for row in range(len(chunk) if self._blobs else 0):
            if len(self._told) >= MOST_TOLD:
                return
            try:
                assert self._blobs is not None
                self._blobs.decode(chunk[row : row + 1])
            except MalformedExampleError as error:
                self._told.append(error)

    def count(self, records: int) -> None:
        """Note that so many payloads were sound to the ``native`` decoder."""
        self._good += records

    @property
    def are_examples(self) -> bool | None:
        """Whether the payloads are Examples, apart from some that are malformed; None where that cannot be told."""
        if self._good:
            return True
        # What does not fit a schema may be Examples of another one.
        return False if self._told and not self._has_schema else None

    @property
    def seems(self) -> str | None:
        """What the payloads seem to be where they are no Examples, by the first of them."""
        return self._seems if self.are_examples is False else None

    @property
    def malformed(self) -> list[MalformedExampleError]:
        """Records that are not what the others are, or what the schema says: the first ten of them."""
        return self._told if self._has_schema or self._good else []
