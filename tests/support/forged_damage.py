"""Damage that holds headers which are none: each checks itself, and claims a payload that is not its own.

They stand right before real headers, overlap them, follow each other, and stand where a record is due; what they claim
ends where records start, inside them, after them, or at the end of the file.
"""

from __future__ import annotations

import random

import framing
from damage_model import KINDS, ModelFile, damage, payload
from fitted_damage import holder

PLACES = ("before", "between", "overlapping", "in a row", "due", "before zeros")


def forged_damage(seed: int) -> ModelFile:
    """Return a file, some of whose records hold TFRecords, with one to three forged places and other damage."""
    rng = random.Random(f"forged {seed}")
    while (model := _damaged(rng)).holds_made_up_frame():
        pass
    return model


def _damaged(rng: random.Random) -> ModelFile:
    model = ModelFile([_payload(rng) for _ in range(rng.choice((3, 9, 9, 25)))])
    for _ in range(rng.choice((1, 1, 2, 3))):
        _forge(model, rng.choice(PLACES), rng)
    for _ in range(rng.choice((0, 0, 1, 2))):
        damage(model, rng.choice((*KINDS, "torn")), rng)
    return model


def _payload(rng: random.Random) -> bytes:
    """Anything; often eight bytes: with their checksum they are a header, too."""
    if (kind := rng.random()) < 0.3:
        return holder(rng)
    if kind < 0.55:
        return rng.choice((8, 8, 0, 20, rng.randrange(400), rng.randrange(1 << 64))).to_bytes(8, "little")
    return payload(rng, nested=False)


def _forge(model: ModelFile, place: str, rng: random.Random) -> None:
    headers = sorted(model.headers())
    if not headers:
        return
    starts = sorted(model.whole_records()) if rng.random() < 0.7 else headers
    real = rng.choice(starts or headers)
    match place:
        case "before" if real >= 12:
            # As the end of a stretch that is noise, or zeros.
            size = min(rng.choice((0, 0, 4, 40, 150)), real - 12)
            model.overwrite(real - 12 - size, rng.choice((bytes(size), rng.randbytes(size))))
            model.overwrite(real - 12, _header(model, real - 12, rng))
        case "between":
            model.insert(real, _header(model, real, rng, shift=12))
        case "overlapping" if real >= 11:
            _overlap(model, real, rng)
        case "in a row":
            for _ in range(rng.randint(2, 4)):
                model.insert(real, _header(model, real, rng, shift=12))
        case "due":
            model.overwrite(real, _header(model, real, rng))
        case "before zeros":
            model.overwrite(real, _header(model, real, rng))
            model.zero(real + 12, rng.randint(1, 60))
        case _:
            pass


def _header(model: ModelFile, at: int, rng: random.Random, shift: int = 0) -> bytes:
    """A header for ``at`` that claims what is of interest; what lies after it will have moved by ``shift``."""
    if rng.random() < 0.25:
        return framing.header(rng.choice((8, 8, 0, 1 << 20, 1 << 62)))
    ends = [*(end for end in model.headers() if end >= at), len(model.data)]
    stop = rng.choice(ends[-1:] if rng.random() < 0.1 else ends[:8]) + shift + rng.choice((0, 0, 0, 4, -4, 7))
    return framing.header(max(stop - at - 16, 0))


def _overlap(model: ModelFile, real: int, rng: random.Random) -> None:
    """A header whose last bytes are the first of a real one's length."""
    shared = rng.choice((1, 1, 1, 2))
    at = real - 12 + shared
    for length in rng.sample(range(1 << 20), 1 << 10 if shared == 1 else 1 << 12):
        forged = framing.header(rng.choice((length, length % 600)))
        if forged[-shared:] == model.data[real : real + shared]:
            model.overwrite(at, forged)
            return
