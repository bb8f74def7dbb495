"""The index of the steps in one file of episodes: numbers and texts as columns, everything else by its place.

A record's checksum covers a whole episode, so each value that is read by its place has a checksum of its own.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock._core import RecordChunk
from penstock.codec.decoder import Decoder
from penstock.columns import BytesColumn, Ragged
from penstock.errors import MalformedExampleError, NotSeekableError
from penstock.index.build import ReportProgress, check_unchanged, compression_of, known_identity
from penstock.index.file_identity import Identity
from penstock.index.shard_index import FRAME_OVERHEAD
from penstock.records.read_options import ReadOptions
from penstock.records.scanner import RecordScanner
from penstock.rlds.step_features import StepFeature, dense_shape
from penstock.schema import Feature, Schema
from penstock.storage import FileStore

Ints: TypeAlias = NDArray[np.int64]
FOOTER_BYTES = 4
"""The checksum after the payload of a record; the rest of :data:`FRAME_OVERHEAD` is the header before it."""


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts of steps, each distinct one stored once."""

    codes: NDArray[np.uint32]
    """The number of the text of each step."""
    values: tuple[bytes, ...]


@dataclass(frozen=True, eq=False)
class Places:
    """Where the values of steps are in a file, and their CRC32C."""

    offsets: NDArray[np.uint64]
    lengths: NDArray[np.uint32]
    checksums: NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class StepIndex:
    """The steps of one file, numbered through all its episodes."""

    identity: Identity
    record_ends: Places
    """What lies between the payload of each record and that of the next one: its checksum, and the next header."""
    lengths: Ints
    """The number of steps of each episode."""
    columns: Mapping[str, NDArray[Any]]
    texts: Mapping[str, Texts]
    places: Mapping[str, Places]

    @cached_property
    def steps(self) -> int:
        """The number of steps of all episodes."""
        return int(self.lengths.sum())


def build_step_index(
    store: FileStore, path: str, features: Sequence[StepFeature], options: ReadOptions, report: ReportProgress
) -> StepIndex:
    """Read a file once, and return the index of its steps.

    Raises:
        NotSeekableError: The file is compressed, so that no part of a record can be read alone.
        CorruptDataError: A record is damaged.
        MalformedExampleError: A record is no episode with these features.
    """
    identity = known_identity(store, path)
    if kind := compression_of(store, path, options):
        raise NotSeekableError(
            f"steps cannot be read out of {path}: it is compressed ({kind}); uncompress it first: "
            f"penstock convert {path} -o COPY --compression none",
            path=path,
        )
    cutter = _Cutter(path, features)
    parts: list[_Part] = []
    pending: deque[Future[_Part]] = deque()
    with ThreadPoolExecutor(options.thread_count, "penstock-steps") as pool:
        try:
            for chunk in RecordScanner(store, path, options).chunks():
                if len(pending) > options.thread_count:
                    parts.append(pending.popleft().result())
                pending.append(pool.submit(cutter.cut, chunk))
                report(chunk.frame_offset(len(chunk) - 1))
            parts += [part.result() for part in pending]
        finally:
            pool.shutdown(cancel_futures=True)
    check_unchanged(store, path, identity)
    return cutter.join(identity, parts)


@dataclass(frozen=True, eq=False)
class _Part:
    """What is found in some records."""

    records: list[tuple[int, int]]
    """The length and the CRC32C of each payload."""
    lengths: Ints
    columns: dict[str, NDArray[Any]]
    texts: dict[str, tuple[NDArray[np.intp], list[bytes]]]
    places: dict[str, tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint32]]]


class _Cutter:
    """Cuts records into steps. Thread-safe."""

    def __init__(self, path: str, features: Sequence[StepFeature]) -> None:
        self._path, self._features = path, features
        self._located = [feature for feature in features if feature.storage != "column"]
        decoded = [feature for feature in features if feature.storage != "located"]
        schema = Schema(
            {
                feature.key: Feature(
                    "bytes" if feature.storage == "text" else feature.stored.dtype, (None, *feature.feature.shape)
                )
                for feature in decoded
            }
        )
        self._decoder = Decoder(schema, threads=1) if decoded else None

    def cut(self, chunk: RecordChunk) -> _Part:
        """Find the steps in some records."""
        batch = None if self._decoder is None else self._decoder.decode(chunk)
        requested = [(feature.key, feature.float_bytes) for feature in self._located]
        found = _core.locate_values(chunk, requested)
        if isinstance(found, tuple):
            raise self._fault(*found, chunk)
        values = {feature.name: of_feature for feature, of_feature in zip(self._located, found, strict=True)}
        counts = {name: of_feature[0].astype(np.int64) for name, of_feature in values.items()}
        buffer, spans = chunk.buffer, chunk.spans.tolist()
        records = [(length, _core.crc32c(buffer[start : start + length])) for start, length in spans]
        part = _Part(records, np.zeros(len(chunk), np.int64), {}, {}, {})
        for feature in self._features:
            if feature.storage == "located":
                part.places[feature.name] = values[feature.name][1:]
                continue
            assert batch is not None
            column = batch[feature.key]
            assert isinstance(column, Ragged)
            counts[feature.name] = column.lengths
            if feature.storage == "text":
                assert isinstance(column.values, BytesColumn)
                part.texts[feature.name] = _distinct(column.values, *values[feature.name][2:])
            else:
                part.columns[feature.name] = np.asarray(column.values).view(feature.feature.numpy_dtype)
        expected = counts[self._features[0].name]
        for feature in self._features:
            wrong = np.flatnonzero(counts[feature.name] != expected)
            if len(wrong):
                self._raise_uneven(feature, chunk, int(wrong[0]), expected, counts[feature.name])
        part.lengths[:] = expected
        return part

    def _fault(self, kind: str, record: int, number: int, chunk: RecordChunk) -> MalformedExampleError:
        feature = self._located[number] if number < len(self._located) else None
        reason = {
            "wrong-kind": f"expected a list of {'floats' if feature and feature.float_bytes else 'bytes'}",
            "not-divided": "the floats do not divide into steps",
            "scattered": "a value is not in one piece, so that it cannot be read alone",
        }.get(kind, "expected an Example, found malformed bytes")
        of_feature = "" if feature is None else f", feature {feature.key!r}"
        return MalformedExampleError(
            f"{reason}: {self._path}, record {chunk.first_record + record}{of_feature}",
            path=self._path,
            record=chunk.first_record + record,
            feature=None if feature is None else feature.key,
        )

    def _raise_uneven(self, feature: StepFeature, chunk: RecordChunk, row: int, expected: Ints, found: Ints) -> None:
        record = chunk.first_record + row
        raise MalformedExampleError(
            f"expected {expected[row]} values of {feature.key!r}, one for each step, found {found[row]}: "
            f"{self._path}, record {record}",
            path=self._path,
            record=record,
            feature=feature.key,
        )

    def join(self, identity: Identity, parts: Sequence[_Part]) -> StepIndex:
        """Return the index of all records, in order; the parts are used up."""
        columns: dict[str, NDArray[Any]] = {}
        texts: dict[str, Texts] = {}
        places: dict[str, Places] = {}
        for feature in self._features:
            name = feature.name
            if feature.storage == "column":
                empty = np.empty((0, *dense_shape(feature.feature)), feature.feature.numpy_dtype)
                columns[name] = np.concatenate([empty, *(part.columns.pop(name) for part in parts)])
            elif feature.storage == "text":
                texts[name] = join_texts([part.texts.pop(name) for part in parts])
            else:
                found = [part.places.pop(name) for part in parts]
                places[name] = Places(
                    np.concatenate([np.empty(0, np.uint64), *(offsets for offsets, _, _ in found)]),
                    np.concatenate([np.empty(0, np.uint32), *(lengths.astype(np.uint32) for _, lengths, _ in found)]),
                    np.concatenate([np.empty(0, np.uint32), *(checksums for _, _, checksums in found)]),
                )
        lengths = np.concatenate([np.empty(0, np.int64), *(part.lengths for part in parts)])
        records = [record for part in parts for record in part.records]
        return StepIndex(identity, _record_ends(records), lengths, columns, texts, places)


def _record_ends(records: Sequence[tuple[int, int]]) -> Places:
    checksums = [_core.mask_crc(checksum) for _, checksum in records]
    headers = [_header(length) for length, _ in records[1:]] + [b""]
    ends = [struct.pack("<I", checksum) + header for checksum, header in zip(checksums, headers, strict=False)]
    lengths = np.array([length for length, _ in records], np.uint64)
    return Places(
        ends_of_records(lengths),
        np.array([len(end) for end in ends], np.uint32),
        np.array([_core.crc32c(end) for end in ends], np.uint32),
    )


def _header(length: int) -> bytes:
    packed = struct.pack("<Q", length)
    return packed + struct.pack("<I", _core.mask_crc(_core.crc32c(packed)))


def ends_of_records(lengths: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return where the payload of each record ends, by their lengths."""
    return np.cumsum(lengths + np.uint64(FRAME_OVERHEAD), dtype=np.uint64) - np.uint64(FOOTER_BYTES)


def has_records_of(store: FileStore, path: str, index: StepIndex, threads: int) -> bool:
    """Return whether each record of a file still has the length and the checksum that it had when it was indexed.

    The identity of a file samples its two ends, and the numbers of steps are never read again: this is what notices
    a change between the ends. It costs one read of 16 bytes per record.
    """
    if index.identity.tag:
        return True  # the tag changes with every byte
    ends = index.record_ends
    lengths = ends.lengths.astype(np.uint64)
    if store.capabilities.native_paths:
        reader = _core.ValueReader([path], threads=threads)
        found = reader.read(np.zeros(len(lengths), np.int64), ends.offsets, lengths, ends.checksums)
        return not isinstance(found[0], str)
    places = zip(ends.offsets.tolist(), lengths.tolist(), ends.checksums.tolist(), strict=True)
    return all(_core.crc32c(store.read(path, start, start + size)) == checksum for start, size, checksum in places)


def _distinct(
    values: BytesColumn, lengths: NDArray[np.uint64], checksums: NDArray[np.uint32]
) -> tuple[NDArray[np.intp], list[bytes]]:
    """Return the distinct strings, and the number of each; equal lengths and checksums are confirmed byte by byte."""
    hashes = lengths << np.uint64(32) | checksums
    _, firsts, codes = np.unique(hashes, return_index=True, return_inverse=True)
    distinct = values[firsts]
    if bool(np.all(values == distinct[codes])):
        return codes, distinct.to_list()
    listed: list[bytes] = values.to_list()
    numbers = {value: number for number, value in enumerate(dict.fromkeys(listed))}
    return np.array([numbers[value] for value in listed], np.intp), list(numbers)


def join_texts(parts: Sequence[tuple[NDArray[Any], Sequence[bytes]]]) -> Texts:
    """Concatenate texts, so that each distinct one has one number."""
    numbers: dict[bytes, int] = {}
    codes = [np.empty(0, np.uint32)]
    for part_codes, values in parts:
        mapped = np.array([numbers.setdefault(value, len(numbers)) for value in values], np.uint32)
        codes.append(mapped[part_codes])
    return Texts(np.concatenate(codes), tuple(numbers))


def bounds_of(lengths: Ints) -> Ints:
    """Return where each episode starts, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def named_words(index: StepIndex, features: Sequence[StepFeature]) -> Iterator[tuple[str, NDArray[np.uint64]]]:
    """Return the content of an index as named lists of numbers."""
    record_ends = index.record_ends
    starts = np.concatenate([np.zeros(1, np.uint64), record_ends.offsets + np.uint64(FOOTER_BYTES)])[:-1]
    yield "record_lengths", record_ends.offsets - starts - np.uint64(FRAME_OVERHEAD - FOOTER_BYTES)
    yield "record_checksums", record_ends.checksums.astype(np.uint64)
    yield "lengths", index.lengths.astype(np.uint64)
    for feature in features:
        name = feature.name
        if feature.storage == "column":
            yield f"values:{name}", words_of(index.columns[name])
        elif feature.storage == "text":
            texts = index.texts[name]
            yield f"codes:{name}", texts.codes.astype(np.uint64)
            yield f"sizes:{name}", np.array([len(value) for value in texts.values], np.uint64)
            yield f"text:{name}", np.frombuffer(b"".join(texts.values), np.uint8).astype(np.uint64)
        else:
            places = index.places[name]
            lengths = places.lengths.astype(np.uint64)
            ends = np.concatenate([np.zeros(1, np.uint64), places.offsets + lengths])
            yield f"gaps:{name}", places.offsets - ends[:-1]
            yield f"lengths:{name}", lengths
            yield f"checksums:{name}", places.checksums.astype(np.uint64)


def words_of(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the stored form of numbers as integers of at most 32 bits."""
    values = np.ascontiguousarray(values)
    word = np.dtype(f"<u{min(4, values.dtype.itemsize)}")
    return values.reshape(-1).view(word).astype(np.uint64)
