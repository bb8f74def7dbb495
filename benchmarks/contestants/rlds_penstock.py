"""Penstock: steps by their index, in batches of 64."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from robot_data import CAMERAS

import penstock as ps
from penstock.rlds.statistics import compute_statistics


def steps(folder: str, shuffled: bool, decode: bool) -> int:
    """Iterate all steps once; return how many there are."""
    ds = ps.rlds.open(folder).steps(decode=decode)
    return _count(ds.shuffle(seed=7).batch(64) if shuffled else ds.batch(64))


def decoding(folder: str) -> int:
    """Decode all pictures, which are in memory; return how many steps have them."""
    global _stored
    if _stored is None:
        encoded = ps.rlds.open(folder).steps(decode=False).select_columns(CAMERAS)
        feature = ps.Feature("uint8", (256, 256, 3), encoding="jpeg")
        schema = ps.Schema(dict.fromkeys(CAMERAS, feature))
        keep = ps.Encoder(ps.Schema(dict.fromkeys(CAMERAS, bytes)))
        _stored = ps.Decoder(schema), [keep.encode(batch) for batch in encoded.batch(64)]
    decoder, batches = _stored
    return sum(len(decoder.decode(records)[CAMERAS[0]]) for records in batches)


def statistics(folder: str) -> list[float]:
    """Return the means of the actions, with all statistics of all numbers computed."""
    episodes = ps.rlds.open(folder)
    names = [name for name in episodes.column_names if name in ("action", "observation/state")]
    columns = {name: episodes.column(name) for name in names}
    found = compute_statistics(columns, len(episodes), int(episodes.lengths.sum()))
    return np.round(found["action"].mean, 3).tolist()


def _count(batches: Iterable[Any]) -> int:
    return sum(len(batch["action"]) for batch in batches)


_stored: Any = None
