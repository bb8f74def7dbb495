"""Damage that is made to fool a repair.

Bytes are missing, or too many, so that a record that lies inside a payload stands where one of the file's own is due;
and the payload around it has lost its header, its end, or both.
"""

from __future__ import annotations

import random

import framing
from damage_model import KINDS, ModelFile, damage, payload

FITS = ("missing before", "missing from a header", "too many", "missing inside")


def fitted_damage(seed: int) -> ModelFile:
    """Return a file some of whose records hold TFRecords, damaged so that inner ones look like the file's own."""
    rng = random.Random(f"fitted {seed}")
    records = [holder(rng) if rng.random() < 0.4 else payload(rng, nested=False) for _ in range(9)]
    if seed % 8 == 0:  # one among many that hold none
        records = [payload(rng, nested=False) for _ in range(80)]
        records[rng.randrange(60, 80)] = holder(rng)
    model = ModelFile(records)
    holders = [at for at in _starts(records) if any(at < inner < _stop(model, at) for inner in model.headers())]
    # What shows that records are inner ones is the header before them, and the end of the payload after them.
    hurt = [_destroy, _fit] if rng.random() < 0.7 else [_fit, _destroy]
    for harm in hurt:
        if holders:
            harm(model, rng.choice(holders), rng)
    for _ in range(rng.randint(0, 2)):
        damage(model, rng.choice((*KINDS, "torn")), rng)
    return model


def holder(rng: random.Random) -> bytes:
    """A payload that holds records; after them nothing, anything, padding, or a record that is cut short."""
    inner = framing.frames(rng.randbytes(rng.randint(0, 40)) for _ in range(rng.randint(1, 6)))
    cut_short = framing.frame(rng.randbytes(30))[: rng.randint(12, 40)]
    after = rng.choice((b"", rng.randbytes(rng.randint(1, 40)), bytes(rng.randint(8, 64)), cut_short))
    return rng.randbytes(rng.choice((0, 0, 3, 30))) + inner + after


def _starts(records: list[bytes]) -> list[int]:
    starts = [0]
    for record in records:
        starts.append(starts[-1] + 16 + len(record))
    return starts[:-1]


def _stop(model: ModelFile, at: int) -> int:
    return at + 16 + int.from_bytes(model.data[at : at + 8], "little")


def _destroy(model: ModelFile, holder: int, rng: random.Random) -> None:
    """Damage the header of a record that holds others, its end, or both."""
    stop = min(_stop(model, holder), len(model.data))
    for at in rng.choice(([holder], [stop - rng.randint(1, 30)], [holder, stop - rng.randint(1, 30)])):
        if not 0 <= at < len(model.data):
            continue
        if rng.random() < 0.5:
            model.zero(at, rng.choice((1, 12, 20, 40)))
        else:
            for i in range(at, min(at + rng.choice((1, 4, 12, 20)), len(model.data))):
                model.flip(i, rng.randint(1, 255))


def _fit(model: ModelFile, holder: int, rng: random.Random) -> None:
    """Move an inner record to where one of the file's own is due, or one of these to where an inner one is."""
    headers = sorted(model.headers())
    if not headers:
        return
    start = rng.choice([at for at in headers if at <= holder] or headers)
    stop = _stop(model, start)
    after = [at for at in headers if stop < at < stop + 600]
    inside = [at for at in headers if start < at < stop]
    match rng.choice(FITS):
        case "missing before" if after and stop <= len(model.data):
            _cut(model, rng.randrange(start + 12, stop), rng.choice(after) - stop)
        case "missing from a header" if after + inside:
            _cut(model, start + rng.randrange(12), rng.choice(after + inside) - start)
        case "too many" if inside and stop <= len(model.data):
            inner = rng.choice(inside)
            model.insert(rng.randint(min(start + 12, inner), inner), rng.randbytes(stop - inner))
        case "missing inside" if inside:
            inner = rng.choice(inside)
            later = [at for at in headers if at > _stop(model, inner)]
            if later:
                at = rng.randrange(inner + 12, _stop(model, inner))
                _cut(model, at, rng.choice(later[:8]) - _stop(model, inner))
        case _:
            pass


def _cut(model: ModelFile, at: int, size: int) -> None:
    if not model.leaves_no_trace(at, size):
        model.cut(at, size)
