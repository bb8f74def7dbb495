"""Damage that holds headers which are none: each checks itself, and claims a payload that is not its own.

They stand right before real headers, overlap them, follow each other, and stand where a record is due; what they claim
ends where records start, inside them, behind them, or at the end of the file.
"""

from __future__ import annotations

import random

import framing
from damage_model import KINDS, ModelFile, damage, payload
from fitted_damage import holder

PLACES = ("before", "between", "overlapping", "in a row", "due", "before zeros")


def forged_damage(seed: int) -> ModelFile:
    """Return a file, some of whose records hold TFRecords, with one to three forged places and other damage."""
    chance = random.Random(f"forged {seed}")
    while (model := _damaged(chance)).holds_made_up_frame():
        pass
    return model


def _damaged(chance: random.Random) -> ModelFile:
    model = ModelFile([_payload(chance) for _ in range(chance.choice((3, 9, 9, 25)))])
    for _ in range(chance.choice((1, 1, 2, 3))):
        _forge(model, chance.choice(PLACES), chance)
    for _ in range(chance.choice((0, 0, 1, 2))):
        damage(model, chance.choice((*KINDS, "torn")), chance)
    return model


def _payload(chance: random.Random) -> bytes:
    """Anything; often eight bytes: with their checksum they are a header, too."""
    if (kind := chance.random()) < 0.3:
        return holder(chance)
    if kind < 0.55:
        return chance.choice((8, 8, 0, 20, chance.randrange(400), chance.randrange(1 << 64))).to_bytes(8, "little")
    return payload(chance, nested=False)


def _forge(model: ModelFile, place: str, chance: random.Random) -> None:
    headers = sorted(model.headers())
    if not headers:
        return
    starts = sorted(model.whole_records()) if chance.random() < 0.7 else headers
    real = chance.choice(starts or headers)
    match place:
        case "before" if real >= 12:
            # As the end of a stretch that is noise, or zeros.
            size = min(chance.choice((0, 0, 4, 40, 150)), real - 12)
            model.overwrite(real - 12 - size, chance.choice((bytes(size), chance.randbytes(size))))
            model.overwrite(real - 12, _header(model, real - 12, chance))
        case "between":
            model.insert(real, _header(model, real, chance, shift=12))
        case "overlapping" if real >= 11:
            _overlap(model, real, chance)
        case "in a row":
            for _ in range(chance.randint(2, 4)):
                model.insert(real, _header(model, real, chance, shift=12))
        case "due":
            model.overwrite(real, _header(model, real, chance))
        case "before zeros":
            model.overwrite(real, _header(model, real, chance))
            model.zero(real + 12, chance.randint(1, 60))
        case _:
            pass


def _header(model: ModelFile, at: int, chance: random.Random, shift: int = 0) -> bytes:
    """A header for ``at`` that claims what is of interest; what lies behind it will have moved by ``shift``."""
    if chance.random() < 0.25:
        return framing.header(chance.choice((8, 8, 0, 1 << 20, 1 << 62)))
    ends = [*(end for end in model.headers() if end >= at), len(model.data)]
    stop = chance.choice(ends[-1:] if chance.random() < 0.1 else ends[:8]) + shift + chance.choice((0, 0, 0, 4, -4, 7))
    return framing.header(max(stop - at - 16, 0))


def _overlap(model: ModelFile, real: int, chance: random.Random) -> None:
    """A header whose last bytes are the first of a real one's length."""
    shared = chance.choice((1, 1, 1, 2))
    at = real - 12 + shared
    for length in chance.sample(range(1 << 20), 1 << 10 if shared == 1 else 1 << 12):
        forged = framing.header(chance.choice((length, length % 600)))
        if forged[-shared:] == model.data[real : real + shared]:
            model.overwrite(at, forged)
            return
