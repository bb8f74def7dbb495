"""Index files of other tools, all for plain files.

DALI's ``.idx`` and tfrecord's ``.tfindex`` are the same text: a line ``start length`` for each record, where the length
is that of the whole frame. tfr-reader's ``.idx`` is binary: a count, then ``start, end, payload length`` for each. None
of them names its data: one is used only if it adds up to the file, and the headers of some records agree.
"""

from __future__ import annotations

import os
import random
import re
import struct

import numpy as np

from penstock.compression.detect import starts_plain
from penstock.errors import IndexFileError, StaleIndexError
from penstock.index.file_identity import Identity
from penstock.index.shard_index import FRAME_OVERHEAD, Lengths, ShardIndex, Uint64s
from penstock.storage import is_remote, read_whole

SUFFIXES = {"dali": ".idx", "tfindex": ".tfindex"}
"""The extensions of the files that DALI and tfrecord read."""
_LINES = re.compile(rb"(?:\d{1,18} \d{1,18}\n)*(?:\d{1,18} \d{1,18})?")
_MOST_BYTES_A_RECORD = 40
_SAMPLES = 16


def find_foreign(path: str, identity: Identity) -> ShardIndex | None:
    """Return the index that another tool wrote next to a local plain file, if there is one that fits."""
    if is_remote(path):
        return None
    stem = os.path.splitext(path)[0]
    for suffix in SUFFIXES.values():
        for name in dict.fromkeys((path + suffix, stem + suffix)):
            if os.path.isfile(name):
                try:
                    return read_foreign(name, path, identity)
                except (IndexFileError, OSError):
                    pass  # of an unknown tool, or for other data
    return None


def read_foreign(index_path: str, path: str, identity: Identity) -> ShardIndex:
    """Read an index of another tool for a local plain file; raise if it does not fit."""
    most = (identity.size // FRAME_OVERHEAD) * _MOST_BYTES_A_RECORD + 8
    data = read_whole(index_path, most)
    if len(data) > most:
        raise StaleIndexError(f"{index_path}: it has more records than {path} can hold")
    starts, ends = _from_text(data) if _LINES.fullmatch(data) else _from_binary(data, index_path)
    joined = np.concatenate([starts, [np.uint64(identity.size)]]) == np.concatenate([[np.uint64(0)], ends])
    if not joined.all() or (ends > identity.size).any() or (ends < starts + np.uint64(FRAME_OVERHEAD)).any():
        raise StaleIndexError(f"{index_path}: its records do not add up to {path}")
    lengths = ends - starts - np.uint64(FRAME_OVERHEAD)
    _check_headers(path, index_path, starts, lengths)
    return ShardIndex(identity=identity, compression="", lengths=Lengths.of([lengths]))


def to_text(index: ShardIndex) -> bytes:
    """Return the content of the index file that DALI and tfrecord read."""
    if index.compression:
        raise IndexFileError(f"DALI and tfrecord read only plain files, and this one is {index.compression}")
    starts, lengths = index.locations(np.arange(index.records))
    sizes = lengths + np.uint64(FRAME_OVERHEAD)
    return b"".join(b"%d %d\n" % entry for entry in zip(starts.tolist(), sizes.tolist(), strict=True))


def _from_text(data: bytes) -> tuple[Uint64s, Uint64s]:
    numbers = np.array(data.split(), np.uint64).reshape(-1, 2)
    return numbers[:, 0], numbers[:, 0] + numbers[:, 1]


def _from_binary(data: bytes, index_path: str) -> tuple[Uint64s, Uint64s]:
    entries, odd = divmod(len(data) - 8, 24)
    if odd or entries < 0 or struct.unpack_from("<Q", data)[0] != entries:
        raise IndexFileError(f"{index_path}: not an index of a known format")
    numbers = np.frombuffer(data, "<u8", offset=8).astype(np.uint64).reshape(-1, 3)
    return numbers[:, 0], numbers[:, 1]


def _check_headers(path: str, index_path: str, starts: Uint64s, lengths: Uint64s) -> None:
    """Compare a sample of the records, and the last one, with the headers in the file."""
    if not len(starts):
        return
    rows = {*random.sample(range(len(starts)), min(_SAMPLES, len(starts))), len(starts) - 1}
    with open(path, "rb", buffering=0) as file:
        for row in sorted(rows):
            file.seek(int(starts[row]))
            header = file.read(12)
            if not starts_plain(header) or int.from_bytes(header[:8], "little") != lengths[row]:
                raise StaleIndexError(f"{index_path}: record {row} of {path} is not where it says")
