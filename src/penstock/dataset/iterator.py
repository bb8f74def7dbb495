"""Hands out the elements of a dataset, and knows where it stands."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NoReturn, TypeAlias

from penstock.dataset.block import Block, Cursor, Flow, each
from penstock.dataset.display import summary
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.progress import Meter
from penstock.dataset.state import load_state, save_state
from penstock.errors import StateError

Position: TypeAlias = tuple[int, Cursor, int]
"""The epoch, where a block begins, and how many of its elements were given out."""


class DatasetIterator:
    """One pass over a dataset. Threads start with the first element and end with the last, or with ``close()``.

    >>> it = iter(ds)
    >>> batch = next(it); state = it.state_dict()
    >>> it = iter(ds); it.load_state_dict(state)
    """

    def __init__(self, pipeline: Pipeline, epoch: int, epoch_started: Callable[[int], None]) -> None:
        self._pipeline, self._epoch_started = pipeline, epoch_started
        self._process = os.getpid()
        self.meter = Meter()
        """What the pass has done so far: elements, seconds by kind of work, what was passed over."""
        self._restart(epoch, {"epoch": epoch}, 0)

    def _restart(self, epoch: int, cursor: Cursor, skip: int) -> None:
        self._epoch, self._cursor, self._given = epoch, cursor, skip
        self._flow: Flow | None = None
        self._block: Block | None = None
        self._elements: Iterator[Any] = iter(())
        self._ended = False

    @property
    def epoch(self) -> int:
        """Which pass this is, counted from 0."""
        return self._epoch

    def __repr__(self) -> str:
        return f"<epoch {self._epoch}, {self.meter.elements} elements given, of {summary(self._pipeline)}>"

    def __iter__(self) -> DatasetIterator:
        return self

    def __next__(self) -> Any:
        if os.getpid() != self._process:
            # The threads that read ahead stayed in the parent: waiting for them would be forever.
            raise RuntimeError("an iteration cannot cross a fork: start a new one in the child")
        while True:
            for element in self._elements:
                self._given += 1
                self.meter.elements += 1
                return element
            self._next_block()

    def _next_block(self) -> None:
        if self._ended:
            raise StopIteration
        if self._flow is None:
            self._flow = self._pipeline.open(self._cursor, self.meter)
        skip = self._given if self._block is None else 0
        done, self._block = self._block, None  # or its memory could not be used again while the next one is read
        stop = done.stop if done is not None else None
        del done
        try:
            block = next(self._flow)
        except StopIteration:
            self._ended = True
            if stop is not None:
                self._cursor, self._given = stop, 0
            self._report()
            raise
        if skip > len(block):
            raise StateError("the state stands behind the end of its block: the data gives other elements now")
        self._block, self._cursor, self._given = block, block.start, skip
        self._elements = islice(each(block.elements), skip, None)

    def _report(self) -> None:
        if text := self.meter.passed_over():
            warnings.warn(text, stacklevel=4)

    def state_dict(self, position: Position | None = None) -> dict[str, Any]:
        """Return where the iterator stands, in JSON: what comes next is the same after ``load_state_dict``.

        Of a ``position`` that was noted before, where one is named.
        """
        return save_state(self._pipeline, *(self.position() if position is None else position))

    def position(self) -> Position:
        """Note where the iterator stands, without the cost of a state, which names the files by their content."""
        block, cursor, given = self._block, self._cursor, self._given
        if block is not None and given == len(block) and block.stop is not None:
            cursor, given = block.stop, 0
        return self._epoch, cursor, given

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where another iterator stood; a state of other data or another pipeline is refused with the reason."""
        epoch, cursor, given = load_state(self._pipeline, state)
        self.close()
        self._restart(epoch, cursor, given)
        self._epoch_started(epoch)

    def close(self) -> None:
        """End the pass and its threads."""
        self._elements, self._ended = iter(()), True
        if self._flow is not None and os.getpid() == self._process:
            self._flow.close()
            self._flow = None

    def __enter__(self) -> DatasetIterator:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if "_flow" in vars(self) and os is not None:  # at the end of the interpreter, modules go first
            self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("an iterator does not pickle: pickle its dataset and its state_dict()")
