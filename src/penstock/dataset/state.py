"""The saved state of an iterator: its position, and the data and pipeline that it belongs to, as JSON values."""

from __future__ import annotations

import math
from typing import Any

from penstock.dataset.block import Cursor, is_start
from penstock.dataset.pipeline import Pipeline
from penstock.errors import StateError
from penstock.format_header import FormatHeader

HEADER = FormatHeader("state", "penstock.state", 2)
"""Version 1 dealt unshuffled rows to ranks one by one: a state of it goes on so to the end of its epoch."""


def save_state(pipeline: Pipeline, epoch: int, cursor: Cursor, given: int) -> dict[str, Any]:
    """Return the state of an iterator that has returned ``given`` elements of the block at ``cursor``."""
    try:
        common: Any = {"cursor": pipeline.common_cursor(cursor, given)}
    except StateError as reason:
        common = {"refused": str(reason)}
    return {
        **HEADER.to_json(),
        "data": pipeline.start.identities,
        "pipeline": pipeline.describe(),
        "world": pipeline.world,
        "epoch": epoch,
        "cursor": cursor,
        "given": given,
        "common": common,
    }


def load_state(pipeline: Pipeline, state: Any) -> tuple[int, Cursor, int]:
    """Return the epoch, the cursor, and how many elements of its block were returned.

    Raises:
        StateError: The state is damaged, or belongs to other data or to another pipeline.
    """
    HEADER.check(state, StateError)
    if state.get("data") != pipeline.start.identities:
        raise StateError("the state belongs to other data: the files are not those that it was saved with")
    found, expected = state.get("pipeline"), pipeline.describe()
    if found != expected:
        raise StateError(f"the state belongs to another pipeline: it was saved with {found}, this is {expected}")
    epoch, cursor, given = state.get("epoch"), state.get("cursor"), state.get("given")
    then, now = state.get("world"), pipeline.world
    if state["version"] == 1:
        now = math.prod(now) if type(then) is int and isinstance(now, list) else now
        cursor = {**cursor, "strided": True} if isinstance(cursor, dict) and is_start(cursor) else cursor
    if then != now:
        common = state.get("common") or {}
        if "cursor" not in common:
            reason = common.get("refused", "the state does not say where")
            raise StateError(
                f"{state.get('world')} ranks saved this state, {pipeline.world} cannot resume it: {reason}"
            )
        cursor, given = common["cursor"], 0
    if type(epoch) is not int or type(given) is not int or not isinstance(cursor, dict) or given < 0:
        raise StateError("not the state of an iterator: its numbers are missing")
    return epoch, cursor, given
