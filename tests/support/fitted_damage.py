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
    chance = random.Random(f"fitted {seed}")
    records = [holder(chance) if chance.random() < 0.4 else payload(chance, nested=False) for _ in range(9)]
    if seed % 8 == 0:  # one among many that hold none
        records = [payload(chance, nested=False) for _ in range(80)]
        records[chance.randrange(60, 80)] = holder(chance)
    model = ModelFile(records)
    holders = [at for at in _starts(records) if any(at < inner < _stop(model, at) for inner in model.headers())]
    # What tells that records are inner ones is the header before them, and the end of the payload behind them.
    hurt = [_destroy, _fit] if chance.random() < 0.7 else [_fit, _destroy]
    for harm in hurt:
        if holders:
            harm(model, chance.choice(holders), chance)
    for _ in range(chance.randint(0, 2)):
        damage(model, chance.choice((*KINDS, "torn")), chance)
    return model


def holder(chance: random.Random) -> bytes:
    """A payload that holds records; behind them nothing, anything, padding, or a record that is cut short."""
    inner = framing.frames(chance.randbytes(chance.randint(0, 40)) for _ in range(chance.randint(1, 6)))
    cut_short = framing.frame(chance.randbytes(30))[: chance.randint(12, 40)]
    behind = chance.choice((b"", chance.randbytes(chance.randint(1, 40)), bytes(chance.randint(8, 64)), cut_short))
    return chance.randbytes(chance.choice((0, 0, 3, 30))) + inner + behind


def _starts(records: list[bytes]) -> list[int]:
    starts = [0]
    for record in records:
        starts.append(starts[-1] + 16 + len(record))
    return starts[:-1]


def _stop(model: ModelFile, at: int) -> int:
    return at + 16 + int.from_bytes(model.data[at : at + 8], "little")


def _destroy(model: ModelFile, holder: int, chance: random.Random) -> None:
    """Damage the header of a record that holds others, its end, or both."""
    stop = min(_stop(model, holder), len(model.data))
    for at in chance.choice(([holder], [stop - chance.randint(1, 30)], [holder, stop - chance.randint(1, 30)])):
        if not 0 <= at < len(model.data):
            continue
        if chance.random() < 0.5:
            model.zero(at, chance.choice((1, 12, 20, 40)))
        else:
            for i in range(at, min(at + chance.choice((1, 4, 12, 20)), len(model.data))):
                model.flip(i, chance.randint(1, 255))


def _fit(model: ModelFile, holder: int, chance: random.Random) -> None:
    """Move an inner record to where one of the file's own is due, or one of these to where an inner one is."""
    headers = sorted(model.headers())
    if not headers:
        return
    start = chance.choice([at for at in headers if at <= holder] or headers)
    stop = _stop(model, start)
    behind = [at for at in headers if stop < at < stop + 600]
    inside = [at for at in headers if start < at < stop]
    match chance.choice(FITS):
        case "missing before" if behind and stop <= len(model.data):
            _cut(model, chance.randrange(start + 12, stop), chance.choice(behind) - stop)
        case "missing from a header" if behind + inside:
            _cut(model, start + chance.randrange(12), chance.choice(behind + inside) - start)
        case "too many" if inside and stop <= len(model.data):
            inner = chance.choice(inside)
            model.insert(chance.randint(min(start + 12, inner), inner), chance.randbytes(stop - inner))
        case "missing inside" if inside:
            inner = chance.choice(inside)
            later = [at for at in headers if at > _stop(model, inner)]
            if later:
                at = chance.randrange(inner + 12, _stop(model, inner))
                _cut(model, at, chance.choice(later[:8]) - _stop(model, inner))
        case _:
            pass


def _cut(model: ModelFile, at: int, size: int) -> None:
    if not model.leaves_no_trace(at, size):
        model.cut(at, size)
