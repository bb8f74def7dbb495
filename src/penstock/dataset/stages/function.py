"""Calls of a user's function: once for each element of a block, with random numbers of the element's own."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from penstock.dataset.block import Elements
from penstock.dataset.order import Keys
from penstock.dataset.stages.elements import each
from penstock.dataset.stages.stage import Stage

_UINT64 = 2**64


class Outcome(NamedTuple):
    """What a function made of a block: all results, or those in front of the element that it failed for."""

    results: list[Any]
    error: Exception | None


@dataclass(frozen=True)
class Call:
    """A function, ready to be called for the elements of blocks on any thread or process."""

    fn: Callable[..., Any]
    seed: int | None
    test: bool
    """Whether the truth of what it returns is all that is wanted."""

    def __call__(self, elements: Elements, keys: Keys, stopped: Callable[[], bool] = bool) -> Outcome:
        """Call the function for each element; ends early once ``stopped``."""
        results: list[Any] = []
        random = None if self.seed is None else RandomNumbers(self.seed)
        rows = zip(each(elements), keys.rows.tolist(), keys.epochs.tolist(), strict=True)
        for element, row, epoch in rows:
            if stopped():
                break
            try:
                result = self.fn(element) if random is None else self.fn(element, random.of(epoch, row))
                results.append(bool(result) if self.test else result)
            except Exception as raised:
                error = raised
                if isinstance(raised, StopIteration):  # or generators would turn it into an error that names no row
                    error = RuntimeError("the function raised StopIteration, which does not end a dataset")
                    error.__cause__ = raised
                error.add_note(f"raised by {name_of(self.fn)} for row {row} in epoch {epoch}")
                return Outcome(results, error)
        return Outcome(results, None)


class RandomNumbers:
    """The random numbers of rows, derived from a seed: the same wherever and whenever they are asked for."""

    def __init__(self, seed: int) -> None:
        self._philox = np.random.Philox(key=seed % _UINT64)
        self._generator = np.random.Generator(self._philox)
        self._fresh: Any = self._philox.state

    def of(self, epoch: int, row: int) -> np.random.Generator:
        """Answer the generator of a row in an epoch; it is another row's at the next call."""
        # To make a generator takes ten times as long as to set one, because it asks the system for entropy. This one is
        # counter-based: rows are places in the stream of a key, 2**192 numbers apart.
        self._fresh["state"]["key"][1] = epoch % _UINT64
        self._fresh["state"]["counter"][3] = row % _UINT64
        self._philox.state = self._fresh
        return self._generator


def name_of(fn: Callable[..., Any]) -> str:
    """Name a function by its module and its name in it."""
    if isinstance(fn, partial):
        return name_of(fn.func)
    named = fn if hasattr(fn, "__qualname__") else type(fn)
    # A process that multiprocessing started has the script under a name of its own, though it is the same script.
    module = "__main__" if named.__module__ == "__mp_main__" else named.__module__
    return f"{module}.{named.__qualname__}"


@dataclass(frozen=True)
class FunctionStage(Stage):
    """A stage that calls a function for each element.

    Args:
        fn: Called with the element, and with a ``np.random.Generator`` where there is a ``seed``.
        workers: How many threads or processes call it; 0: the one that iterates.
        processes: Whether workers are processes, for functions that hold the GIL. The function must pickle.
        seed: Random numbers are derived from it, from the epoch and from the row: the same whoever calls.
    """

    fn: Callable[..., Any]
    _: KW_ONLY
    workers: int = 0
    processes: bool = False
    seed: int | None = None

    def __post_init__(self) -> None:
        if not callable(self.fn):
            raise TypeError(f"a function is expected, found {type(self.fn).__name__}")
        if self.workers < 0:
            raise ValueError(f"workers are 0 or more, not {self.workers}")
        if self.processes:
            if os.name == "nt":
                raise NotImplementedError("Windows passes no files between processes: use threads (processes=False)")
            if not self.workers:
                raise ValueError("processes=True needs workers: how many processes")
            _check_pickles(self.fn)


def _check_pickles(fn: Callable[..., Any]) -> None:
    try:
        pickle.dumps(fn)
    except Exception as error:
        raise TypeError(
            f"{name_of(fn)} does not pickle, so other processes cannot call it: define it at the top of a module, "
            "or use threads (processes=False)"
        ) from error
