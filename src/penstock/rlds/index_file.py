"""Stored step indexes: their format, where they are, and what they are checked for before they are used."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.errors import CorruptDataError, IndexFileError, MalformedExampleError, StaleIndexError
from penstock.format_header import FormatHeader
from penstock.index.build import known_identity
from penstock.index.cache import cache_folder, mark_used, sidecar_path, tidy_once
from penstock.index.file_format import join_document, number, split_document, unpack_all
from penstock.index.file_identity import Identity
from penstock.index.open import reporting
from penstock.index.shard_index import FRAME_OVERHEAD
from penstock.records.read_options import IndexLocation, ReadOptions
from penstock.rlds.step_features import StepFeature, dense_shape
from penstock.rlds.step_index import (
    FOOTER_BYTES,
    Places,
    StepIndex,
    Texts,
    build_step_index,
    ends_of_records,
    has_records_of,
    named_words,
)
from penstock.storage import locate, read_whole, write_whole

HEADER = FormatHeader("step index", "penstock.steps", 1)
_SEAL_BYTES = 4


def open_step_index(path: str, features: Sequence[StepFeature], options: ReadOptions) -> StepIndex:
    """Return the step index of a file: a stored one that fits, or a new one, which is stored."""
    store, name = locate(path)
    identity = known_identity(store, name)
    found = _read(steps_path(sidecar_path(name)), identity, features)
    if found is None and options.index == "cache":
        found = _read(_path_in_cache(identity), identity, features)
        mark_used(_path_in_cache(identity))
    if found is not None and has_records_of(store, name, found, options.thread_count):
        return found
    with reporting(name, identity.size, True) as report:
        index = build_step_index(store, name, features, options, report)
    _store(name, index, features, options.index)
    return index


def renew_step_index(path: str, features: Sequence[StepFeature], options: ReadOptions) -> bool:
    """Rebuild the index of a file that has other values than the stored one says; return False for a damaged file."""
    store, name = locate(path)
    try:
        index = build_step_index(store, name, features, options, lambda done: None)
    except (OSError, CorruptDataError, MalformedExampleError):
        return False
    where: IndexLocation = "sidecar" if os.path.exists(steps_path(sidecar_path(name))) else options.index
    _store(name, index, features, where)
    return True


def _store(name: str, index: StepIndex, features: Sequence[StepFeature], where: IndexLocation) -> None:
    if where == "sidecar":
        write_whole(steps_path(sidecar_path(name)), to_bytes(index, features))
    elif where == "cache":
        try:
            os.makedirs(cache_folder(), exist_ok=True)
            # It holds data of the user, which others may not be allowed to read.
            write_whole(_path_in_cache(index.identity), to_bytes(index, features), private=True)
            tidy_once(cache_folder())
        except OSError:
            pass  # read-only folder or full disk: it is built again the next time


def _path_in_cache(identity: Identity) -> str:
    return os.path.join(cache_folder(), f"{identity.name}.steps")


def steps_path(index_path: str) -> str:
    """Return the path of the step index that belongs to a record index."""
    return index_path.removesuffix(".index") + ".steps"


def _read(path: str, identity: Identity, features: Sequence[StepFeature]) -> StepIndex | None:
    """Return a stored index, or None if there is none that can be used: it is built again."""
    # A value of one byte, the smallest, takes two in the file, and at most 32 in the index.
    most = 16 * identity.size + (64 << 10)
    try:
        data = read_whole(path, most)
        return from_bytes(data, identity, features) if len(data) <= most else None
    except (OSError, IndexFileError):
        return None


def to_bytes(index: StepIndex, features: Sequence[StepFeature]) -> bytes:
    """Return the content of an index file."""
    head = HEADER.to_json() | {
        "identity": index.identity.to_json(),
        "features": [feature.to_json() for feature in features],
        "episodes": len(index.lengths),
        "steps": index.steps,
    }
    return sealed(join_document(head, named_words(index, features)))


def sealed(document: bytes) -> bytes:
    """Append the checksum of an index file: a wrong number would be a wrong value of a step."""
    return document + struct.pack("<I", _core.crc32c(document))


def from_bytes(data: bytes, identity: Identity, features: Sequence[StepFeature]) -> StepIndex:
    """Return the index in a file.

    Raises:
        StaleIndexError: It was made for other data, or for other features.
        IndexFileError: It is damaged, or no step index.
    """
    if sealed(data[:-_SEAL_BYTES]) != data:
        raise IndexFileError("not a step index, or its checksum does not match")
    head, rest = split_document(data[:-_SEAL_BYTES], HEADER, identity)
    if head.get("features") != [feature.to_json() for feature in features]:
        raise StaleIndexError("it was made for other features")
    # An int64, of two words here, takes a byte or more in the file.
    found = unpack_all(head.get("numbers"), rest, lambda key: 2 * identity.size)
    reader = _Reader(found, number(head, "steps"), identity.size)
    record_ends = reader.record_ends(number(head, "episodes"))
    lengths = reader.take("lengths", number(head, "episodes")).astype(np.int64)
    if int(lengths.sum(dtype=np.float64)) != reader.steps or (len(lengths) and int(lengths.max()) > reader.steps):
        raise IndexFileError("its episodes do not have as many steps as it says")
    columns: dict[str, NDArray[Any]] = {}
    texts: dict[str, Texts] = {}
    places: dict[str, Places] = {}
    for feature in features:
        if feature.storage == "column":
            columns[feature.name] = reader.column(feature)
        elif feature.storage == "text":
            texts[feature.name] = reader.texts(feature.name)
        else:
            places[feature.name] = reader.places(feature.name)
    return StepIndex(identity, record_ends, lengths, columns, texts, places)


class _Reader:
    """Reads the parts of an index, and checks that they fit each other and the file."""

    def __init__(self, found: Mapping[str, NDArray[np.uint64]], steps: int, size: int) -> None:
        self._found, self.steps, self._size = found, steps, size

    def take(self, key: str, count: int | None = None, below: int = 1 << 32) -> NDArray[np.uint64]:
        """Return a list of numbers that are smaller than ``below``."""
        values = self._found.get(key)
        if values is None:
            raise IndexFileError(f"it lacks the numbers {key[:80]!r}")
        if count is not None and len(values) != count:
            raise IndexFileError(f"it has {len(values)} numbers {key[:80]!r}, not {count}")
        if len(values) and int(values.max()) >= below:
            raise IndexFileError(f"a number of {key[:80]!r} is too large")
        return values

    def record_ends(self, records: int) -> Places:
        lengths = self.take("record_lengths", records, self._size + 1)
        checksums = self.take("record_checksums", records)
        if int(lengths.sum(dtype=np.float64)) + records * FRAME_OVERHEAD != self._size:
            raise IndexFileError("its records do not add up to the file")
        sizes = np.full(records, FRAME_OVERHEAD, np.uint32)
        sizes[-1:] = FOOTER_BYTES  # no header follows the last one
        return Places(ends_of_records(lengths), sizes, checksums.astype(np.uint32))

    def column(self, feature: StepFeature) -> NDArray[Any]:
        dtype, shape = feature.feature.numpy_dtype, dense_shape(feature.feature)
        word = np.dtype(f"<u{min(4, dtype.itemsize)}")
        count = self.steps * math.prod(shape) * (dtype.itemsize // word.itemsize)
        words = self.take(f"values:{feature.name}", count, 1 << (8 * word.itemsize)).astype(word)
        if dtype == np.bool_ and len(words) and int(words.max()) > 1:
            raise IndexFileError(f"a number of {feature.name[:80]!r} is no bool")
        return words.view(dtype).reshape(self.steps, *shape)

    def texts(self, name: str) -> Texts:
        sizes = self.take(f"sizes:{name}")
        text = self.take(f"text:{name}", below=256).astype(np.uint8).tobytes()
        bounds = np.concatenate([[0], np.cumsum(sizes.astype(np.float64))])
        if bounds[-1] != len(text):
            raise IndexFileError(f"its texts {name[:80]!r} are cut short")
        ends = bounds.astype(np.int64).tolist()
        codes = self.take(f"codes:{name}", self.steps, max(1, len(sizes))).astype(np.uint32)
        if len(codes) and not len(sizes):
            raise IndexFileError(f"it lacks the texts {name[:80]!r}")
        values = (text[start:stop] for start, stop in pairwise(ends))
        return Texts(codes, tuple(values))

    def places(self, name: str) -> Places:
        gaps = self.take(f"gaps:{name}", self.steps, self._size + 1)
        lengths = self.take(f"lengths:{name}", self.steps)
        checksums = self.take(f"checksums:{name}", self.steps)
        ends = np.cumsum(gaps + lengths, dtype=np.uint64)
        # Each of the terms is below the size of a file: where the sum overflows, it decreases.
        if len(ends) and (int(ends[-1]) > self._size or bool((ends[1:] < ends[:-1]).any())):
            raise IndexFileError(f"its places {name[:80]!r} lie outside of the file")
        return Places(ends - lengths, lengths.astype(np.uint32), checksums.astype(np.uint32))
