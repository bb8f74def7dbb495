"""A plain model of damage: files whose bytes know where they come from, so that what can be recovered is known."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import framing

from penstock import _core

UNKNOWN = -1


@dataclass
class ModelFile:
    """A file of records, and for each of its bytes the place in the undamaged file that it comes from."""

    payloads: list[bytes]
    data: bytearray = field(init=False)
    origins: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.data = bytearray(framing.frames(self.payloads))
        self.origins = list(range(len(self.data)))

    def flip(self, at: int, mask: int) -> None:
        self.data[at] ^= mask
        self.origins[at] = UNKNOWN

    def zero(self, at: int, size: int) -> None:
        self.overwrite(at, bytes(size))

    def overwrite(self, at: int, some: bytes) -> None:
        for i, byte in enumerate(some[: len(self.data) - at], start=at):
            if self.data[i] != byte:
                self.data[i] = byte
                self.origins[i] = UNKNOWN

    def cut(self, at: int, size: int) -> None:
        del self.data[at : at + size]
        del self.origins[at : at + size]

    def insert(self, at: int, some: bytes) -> None:
        # Where the first byte is the one that stood there, that one stays, and the others follow it.
        while at < len(self.data) and some[:1] == self.data[at : at + 1]:
            at, some = at + 1, some[1:] + some[:1]
        self.data[at:at] = some
        self.origins[at:at] = [UNKNOWN] * len(some)

    def whole_records(self) -> dict[int, bytes]:
        """The records that the damage left whole, by their offset now."""
        at_origin = {origin: at for at, origin in enumerate(self.origins) if origin != UNKNOWN}
        found = {}
        end = 0
        for payload in self.payloads:
            frame = framing.frame(payload)
            end += len(frame)
            # Its last byte is there and the right ones before it, though they may be those of a twin.
            at = at_origin.get(end - 1, -1) + 1 - len(frame)
            if at >= 0 and self.data[at : at + len(frame)] == frame:
                found[at] = payload
        return found

    def leaves_no_trace(self, at: int, size: int) -> bool:
        """Whether a cut from ``at`` on joins what is whole frames on both sides: nobody could know of it."""
        headers = self.headers()
        ends = {0, *(found + 16 + int.from_bytes(self.data[found : found + 8], "little") for found in headers)}
        # Where the bytes on both sides are alike, a cut a little before or after leaves the same.
        first, last = at, at
        while first > 0 and first + size <= len(self.data) and self.data[first - 1] == self.data[first - 1 + size]:
            first -= 1
        while last + size < len(self.data) and self.data[last] == self.data[last + size]:
            last += 1
        return any(
            begin in ends and (begin + size >= len(self.data) or begin + size in headers)
            for begin in range(first, last + 1)
        )

    def holds_made_up_frame(self) -> bool:
        """Whether damage has made a whole frame out of two headers, as happens after one that says 8.

        Its payload is the length in the second one, and nobody could know that it was not written so; unless that one
        is the header of a whole record.
        """
        headers, whole = self.headers(), self.whole_records()
        return any(
            self.data[at : at + 8] == b"\b\0\0\0\0\0\0\0"
            and at + 12 in headers
            and at + 12 not in whole
            and self.origins[at : at + 24] != list(range(self.origins[at], self.origins[at] + 24))
            for at in headers
        )

    def headers(self) -> set[int]:
        """Where headers stand that check themselves, those inside payloads among them."""
        found, at = set(), -1
        while (at := _core.find_header(self.data, at + 1)) < len(self.data):
            found.add(at)
        return found


KINDS = ("flip", "zero", "cut", "insert", "header", "short insert", "short cut")


def damage(model: ModelFile, kind: str, rng: random.Random) -> None:
    """Damage a file somewhere."""
    size = len(model.data)
    if not size:
        return
    at = rng.randrange(size)
    if kind == "flip":
        model.flip(at, 1 << rng.randrange(8))
    elif kind == "zero":
        model.zero(at, rng.randint(1, 120))
    elif kind in ("cut", "short cut"):
        length = rng.randint(1, 120 if kind == "cut" else 8)
        if not model.leaves_no_trace(at, length):
            model.cut(at, length)
    elif kind == "torn":
        if not model.leaves_no_trace(at, size - at):
            model.cut(at, size - at)
    elif kind == "short insert":
        model.insert(at, rng.randbytes(rng.randint(1, 40)))
    elif kind == "insert":
        # Longer than a record: fewer could move a header to where, by rng, one is expected.
        model.insert(at, rng.randbytes(rng.randint(250, 400)))
    else:
        starts = sorted(model.whole_records())
        if starts:
            model.zero(rng.choice(starts), rng.randint(8, 40))


def payload(rng: random.Random, *, nested: bool) -> bytes:
    """Random bytes, or a TFRecord file with random bytes before and after it."""
    if not nested:
        return rng.randbytes(rng.choice((0, 1, 5, 20, 60, 90)))
    inner = framing.frames(rng.randbytes(rng.randint(0, 20)) for _ in range(rng.randint(1, 4)))
    before, after = (rng.randbytes(rng.choice((0, 0, 3, 30))) for _ in range(2))
    return before + inner + after
