"""The format of index files: one line of JSON, then the packed numbers that it lists, in order."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from penstock import _core
from penstock.compression import KINDS
from penstock.compression.gzip import EMPTY_FILE, deflate
from penstock.errors import IndexFileError, StaleIndexError
from penstock.format_header import HEADER_KEYS, FormatHeader
from penstock.index.file_identity import Identity
from penstock.index.gzip_members import cumulated
from penstock.index.restarts import MAY_RESTART, restarts_of
from penstock.index.shard_index import FRAME_OVERHEAD, Lengths, Members, Restarts, ShardIndex, Uint64s

# What an index with restart points requires of its reader.
_RESTARTS = "restarts"
HEADER = FormatHeader("record index", "penstock.index", 1, extensions=frozenset({_RESTARTS}))
_KEYS = (*HEADER_KEYS, "identity", "compression", "records", "numbers", "restarts_sought", "windows")
_RESTART_KEYS = ("restart_bits", "restart_offsets", "window_sizes")
_MEMBER_KEYS = ("member_sizes", "member_stream_sizes", "member_records")
# Deflate never compresses by a larger factor.
_MOST_DEFLATED = 1032


def to_bytes(index: ShardIndex) -> bytes:
    """Return the content of an index file."""
    head = HEADER.to_json() | index.unknown
    head |= {
        "identity": index.identity.to_json(),
        "compression": index.compression,
        "records": index.records,
    }
    if index.restarts_sought:
        head["restarts_sought"] = True
    if index.restarts is None:
        return join_document(head, _numbers_of(index))
    windows = b"".join(index.restarts.windows)
    head["requires"] = [_RESTARTS]
    head["windows"] = {"bytes": len(windows), "crc32c": f"{_core.crc32c(windows):08x}"}
    return join_document(head, _numbers_of(index)) + windows


def join_document(head: dict[str, Any], named: Iterable[tuple[str, Uint64s]]) -> bytes:
    """Return the content of an index file with this first line, and with numbers packed after it."""
    numbers, bodies = {}, []
    for key, values in named:
        numbers[key], body = pack(values)
        bodies.append(body)
    return b"".join([json.dumps(head | {"numbers": numbers}).encode("ascii"), b"\n", *bodies])


def _numbers_of(index: ShardIndex) -> Iterator[tuple[str, Uint64s]]:
    if index.lengths is not None:
        yield "lengths", index.lengths.values()
    if index.members is not None:
        starts = (index.members.file_offset, index.members.stream_offset, index.members.first_record)
        for key, values in zip(_MEMBER_KEYS, starts, strict=True):
            yield key, np.diff(values)
    if index.restarts is not None:
        sizes = np.array([len(window) for window in index.restarts.windows], np.uint64)
        parts = (
            np.diff(index.restarts.bits, prepend=np.uint64(0)),
            np.diff(index.restarts.block_offset, prepend=np.uint64(0)),
        )
        yield from zip(_RESTART_KEYS, (*parts, sizes), strict=True)


def from_bytes(data: bytes, identity: Identity) -> ShardIndex:
    """Return the index of the file with this identity; raise if it was written for another one."""
    head, rest = split_document(data, HEADER, identity)
    kind = head.get("compression")
    if kind not in KINDS:
        raise IndexFileError(f"the compression {str(kind)[:80]!r} is not known")
    most_bytes = identity.size * (_MOST_DEFLATED if kind else 1)
    most_records = most_bytes // FRAME_OVERHEAD
    rest, windows = _split_windows(head, rest)
    most_members = identity.size // len(EMPTY_FILE)
    numbers = unpack_all(head.get("numbers"), rest, lambda key: most_records if key == "lengths" else most_members)
    lengths = Lengths.of([numbers["lengths"]]) if "lengths" in numbers else None
    if lengths is not None and lengths.stream_bytes > most_bytes:
        raise IndexFileError("its records do not fit in the file")
    index = ShardIndex(
        identity=identity,
        compression=kind,
        lengths=lengths,
        members=_members(numbers),
        restarts=_restarts(numbers, windows, lengths, identity.size) if _RESTARTS in head.get("requires", []) else None,
        restarts_sought=head.get("restarts_sought") is True,
        unknown={key: value for key, value in head.items() if key not in _KEYS},
    )
    _check_sums(index, number(head, "records"))
    return index


def split_document(data: bytes, header: FormatHeader, identity: Identity) -> tuple[dict[str, Any], bytes]:
    """Return the first line of an index file, and the bytes after it; raise if it was written for other data."""
    line, _, rest = data.partition(b"\n")
    try:
        document = json.loads(line)
    # The parser raises RecursionError for deep nesting, ValueError for bad UTF-8 and very long integers.
    except (ValueError, RecursionError) as error:
        raise IndexFileError(f"not a {header.noun}: its first line is not JSON ({type(error).__name__})") from None
    head = header.check(document, IndexFileError)
    if head.get("identity") != identity.to_json():
        raise StaleIndexError("it was made for other data, or the data changed since")
    return head, rest


def unpack_all(entries: Any, data: bytes, most: Callable[[str], int]) -> dict[str, Uint64s]:
    """Return the packed numbers by name, at most ``most(name)`` of each."""
    if not isinstance(entries, dict):
        raise IndexFileError('"numbers" is an object in JSON')
    numbers = {}
    start = 0
    for key, entry in entries.items():
        stop = start + number(entry, "bytes")
        if stop > len(data):
            raise IndexFileError("it is cut short")
        numbers[key] = unpack(entry, data[start:stop], most(key))
        start = stop
    if start != len(data):
        raise IndexFileError("something follows its numbers")
    return numbers


def _members(numbers: dict[str, Uint64s]) -> Members | None:
    if _MEMBER_KEYS[0] not in numbers:
        return None
    parts = [numbers.get(key) for key in _MEMBER_KEYS]
    sizes, stream_sizes, records = (part if part is not None else np.empty(0, np.uint64) for part in parts)
    if not len(sizes) == len(stream_sizes) == len(records):
        raise IndexFileError("its members are not as many as it says")
    return Members(cumulated(sizes), cumulated(stream_sizes), cumulated(records))


def _split_windows(head: dict[str, Any], data: bytes) -> tuple[bytes, bytes]:
    """Return the numbers, and the windows of restart points after them."""
    if "windows" not in head:
        return data, b""
    size = number(head["windows"], "bytes")
    if size > len(data):
        raise IndexFileError("it is cut short")
    windows = data[len(data) - size :]
    if head["windows"].get("crc32c") != f"{_core.crc32c(windows):08x}":
        raise IndexFileError("a checksum does not match")
    return data[: len(data) - size], windows


def _restarts(numbers: dict[str, Uint64s], windows: bytes, lengths: Lengths | None, size: int) -> Restarts:
    """Return restart points that are in order and within the file; what they lead to is checked when it is read."""
    bits, offsets, sizes = (numbers.get(key, np.empty(0, np.uint64)) for key in _RESTART_KEYS)
    counts = len(bits) == len(offsets) == len(sizes) > 0
    if not counts or lengths is None or int(sizes.max()) > len(windows) or int(sizes.sum()) != len(windows):
        raise IndexFileError("its restart points are not as many as it says")
    places, streams = np.cumsum(bits, dtype=np.uint64), np.cumsum(offsets, dtype=np.uint64)
    largest = max(int(bits.max()), int(offsets.max()))
    if (
        largest >= 1 << 52
        or not (bits > 0).all()
        or not (offsets[1:] > 0).all()
        or int(places[-1]) >= size * 8
        or int(streams[-1]) > lengths.stream_bytes
    ):
        raise IndexFileError("its restart points are not in the file")
    ends = cumulated(sizes).tolist()
    found = restarts_of(places, streams, [windows[start:stop] for start, stop in pairwise(ends)], lengths)
    if found is None:
        raise IndexFileError("its restart points do not lead to its records")
    return found


def _check_sums(index: ShardIndex, records: int) -> None:
    """Raise unless the parts fit each other and the file: wrong lengths hardly ever add up to its size."""
    lengths, members = index.lengths, index.members
    right = (lengths is not None or members is not None) and index.records == records
    if lengths is not None and not index.compression:
        right = right and lengths.stream_bytes == index.identity.size
    if index.restarts is not None:
        right = right and index.compression in MAY_RESTART and members is None
    if members is not None:
        right = right and index.compression == "GZIP" and int(members.file_offset[-1]) == index.identity.size
        right = right and (lengths is None or members.agree_with(lengths))
    if not right:
        raise IndexFileError("its numbers do not add up to the file")


_LEVEL = 2


def pack(values: Uint64s) -> tuple[dict[str, Any], bytes]:
    """Return the entry in the header of an index file for these values, and the bytes that hold them."""
    base = int(values.min()) if len(values) else 0
    rest = (values - np.uint64(base)).astype("<u8")
    width = (int(rest.max()).bit_length() + 7) // 8 if len(values) else 0
    planes = np.ascontiguousarray(rest.view(np.uint8).reshape(-1, 8)[:, :width].T)
    body = deflate(planes.tobytes(), _LEVEL) if width else b""
    crc = _core.crc32c(body)
    return {"count": len(values), "base": base, "width": width, "bytes": len(body), "crc32c": f"{crc:08x}"}, body


def unpack(head: object, body: bytes, most: int) -> Uint64s:
    """Return the packed values, at most ``most`` of them. Nothing larger than they are is allocated."""
    count, base, width = (number(head, key) for key in ("count", "base", "width"))
    if count > most or width > 8 or base >= 1 << 62:
        raise IndexFileError(f"it claims {count} numbers of {width} bytes, which cannot be")
    assert isinstance(head, dict)
    if head.get("crc32c") != f"{_core.crc32c(body):08x}":
        raise IndexFileError("a checksum does not match")
    if not width:
        return np.broadcast_to(np.uint64(base), count)
    # Inflate before allocating the values: the size of the data is bounded, the claimed count is not.
    planes = np.frombuffer(_inflate(body, count * width), np.uint8).reshape(width, count)
    values = np.full(count, base, np.uint64)
    for place, plane in enumerate(planes):
        values += plane.astype(np.uint64) << np.uint64(8 * place)
    if count and values.max() >= 1 << 62:
        raise IndexFileError("a number is too large")
    return values


def number(head: object, key: str) -> int:
    """Return a number of a JSON object; raise if it is anything else."""
    value = head.get(key) if isinstance(head, dict) else None
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise IndexFileError(f'"{key}" is an integer of 0 or more')
    return value


def _inflate(body: bytes, size: int) -> bytes:
    """Inflate ``body`` to exactly ``size`` bytes; little more than these is ever in memory."""
    inflater, pieces, left = _core.StreamInflater(), [], size
    inflater.feed(body)
    while left >= 0 and not (inflater.done or inflater.damaged or inflater.needs_input):
        pieces.append(inflater.next())
        left -= len(pieces[-1])
    if left or not inflater.done or inflater.unread:
        raise IndexFileError("its numbers cannot be inflated, or are not as many as it says")
    return b"".join(pieces)
