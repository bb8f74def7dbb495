"""Which steps of an episode a row holds: a window of observations before it, a chunk of actions after it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.dataset.order import RowKeys
from penstock.rlds.step_index import Ints, bounds_of

Pad: TypeAlias = Literal["repeat", "zero", "drop"]
"""What stands for steps before the start and after the end of an episode: its first and last step, or zeros; or rows
that would need such steps are dropped."""

GoalChoice: TypeAlias = Literal["last", "future"]
"""The goal of a step: the last step of its episode, or one after it that is drawn at random in each epoch."""


class Positions(NamedTuple):
    """Positions within episodes, and which of them exist; the others are those of the nearest step."""

    steps: NDArray[np.int64]
    exist: NDArray[np.bool_]


def one_step(steps: Ints) -> Positions:
    """Return the positions of one step for each row."""
    return Positions(steps[:, None], np.ones((len(steps), 1), np.bool_))


class Goal(NamedTuple):
    """Which later step of its episode is the goal of a row."""

    choice: GoalChoice
    seed: int

    def positions(self, keys: RowKeys, steps: Ints, lengths: Ints) -> Positions:
        """Return the position of each row's goal; the last step of an episode is its own."""
        last = lengths - 1
        if self.choice == "last":
            return one_step(last)
        later = np.maximum(last - steps, 1).astype(np.uint64)
        drawn = (_random(self.seed, keys) % later).astype(np.int64)
        return one_step(np.minimum(steps + 1 + drawn, last))


def _random(seed: int, keys: RowKeys) -> NDArray[np.uint64]:
    """Return a pseudo-random number for each row and epoch (SplitMix64 of both)."""
    state = np.full(len(keys.rows), np.uint64(seed % 2**64), np.uint64)
    for part in (keys.epochs, keys.rows):
        state += (part.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    return state


@dataclass(frozen=True, eq=False)
class RowPlan:
    """The rows that episodes make, one for each step that has its window and its chunk.

    Args:
        lengths: The number of steps of each episode.
        window: The steps of a window, with the row's own as the last one.
        horizon: The steps of a chunk, with the row's own as the first one.
        pad: ``"drop"`` leaves out rows whose window or chunk goes beyond the episode.
    """

    lengths: Ints
    window: int
    horizon: int
    pad: Pad

    @cached_property
    def bounds(self) -> Ints:
        """The first row of each episode, and the number of all rows."""
        lost = self.window + self.horizon - 2 if self.pad == "drop" else 0
        return bounds_of(np.maximum(0, self.lengths - lost))

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.bounds[-1])

    def locate(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the episode of each row, and the number of its step in it."""
        episodes = np.searchsorted(self.bounds, rows, side="right") - 1
        steps = rows - self.bounds[episodes]
        return episodes, steps + self.window - 1 if self.pad == "drop" else steps

    def windows(self, episodes: Ints, steps: Ints) -> Positions:
        """Return the positions of the steps of each window, oldest first."""
        return self._around(episodes, steps, np.arange(1 - self.window, 1))

    def chunks(self, episodes: Ints, steps: Ints) -> Positions:
        """Return the positions of the steps of each chunk."""
        return self._around(episodes, steps, np.arange(self.horizon))

    def _around(self, episodes: Ints, steps: Ints, offsets: Ints) -> Positions:
        wanted = steps[:, None] + offsets
        nearest = np.clip(wanted, 0, self.lengths[episodes][:, None] - 1)
        return Positions(nearest, nearest == wanted)
