"""DatasetIterator: iterates one epoch of a pipeline, and saves and loads its position."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeAlias

from penstock.dataset.block import Block, Cursor, Flow, iter_elements
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.progress import Meter
from penstock.dataset.state import load_state, save_state
from penstock.dataset.summary import summary
from penstock.errors import StateError

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T_co = TypeVar("T_co", covariant=True, default=Any)  # a bare ``Dataset`` is one of any elements

    class Row(dict[str, Any]):
        """A row: the dict of an example. It has a name because mypy takes ``iter()`` of what contains Any for Any."""
else:
    from typing import TypeVar

    T_co = TypeVar("T_co", covariant=True)
    Row = dict

Position: TypeAlias = tuple[int, Cursor, int]
"""The epoch, the cursor of a block, and how many of its elements were returned."""


class DatasetIterator(Generic[T_co]):
    """One epoch of a dataset. Threads start with the first element and end with the last, or with ``close()``.

    Example:
        >>> it = iter(ds.shuffle(seed=7))
        >>> example = next(it)
        >>> state = it.state_dict()
        >>> rest = [example["x"] for example in it]
        >>> resumed = iter(ds.shuffle(seed=7))
        >>> resumed.load_state_dict(state)
        >>> [example["x"] for example in resumed] == rest
        True
    """

    def __init__(self, pipeline: Pipeline, epoch: int, epoch_started: Callable[[int], None]) -> None:
        self._pipeline, self._epoch_started = pipeline, epoch_started
        self._process = os.getpid()
        self.meter = Meter()
        """Counts so far: elements, seconds by kind of work, skipped records."""
        self._restart(epoch, {"epoch": epoch}, 0)

    def _restart(self, epoch: int, cursor: Cursor, skip: int) -> None:
        self._epoch, self._cursor, self._given = epoch, cursor, skip
        self._flow: Flow | None = None
        self._block: Block | None = None
        self._elements: Iterator[T_co] = iter(())
        self._ended = False

    @property
    def epoch(self) -> int:
        """The number of the epoch, from 0.

        Example:
            >>> [iter(ds).epoch, iter(ds).epoch, iter(ds.epoch(5)).epoch]
            [0, 1, 5]
        """
        return self._epoch

    def __repr__(self) -> str:
        return f"<epoch {self._epoch}, {self.meter.elements} elements returned, of {summary(self._pipeline)}>"

    def __iter__(self) -> DatasetIterator[T_co]:
        return self

    def __next__(self) -> T_co:
        if os.getpid() != self._process:
            # The threads that read ahead are in the parent process: waiting for them would never end.
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
        done, self._block = self._block, None  # so that its memory is free for the next one
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
            raise StateError("the state lies after the end of its block: the dataset has other elements now")
        self._block, self._cursor, self._given = block, block.start, skip
        elements = iter_elements(block.elements)
        self._elements = islice(elements, skip, None) if skip else elements

    def _report(self) -> None:
        if text := self.meter.skip_report():
            warnings.warn(text, stacklevel=4)

    def state_dict(self, position: Position | None = None) -> dict[str, Any]:
        """Return the state of the iterator, or of an earlier ``position``, as JSON values.

        An iterator that loads it continues with the same elements.

        Example:
            >>> it = iter(ds)
            >>> example = next(it)
            >>> it.state_dict()["format"]
            'penstock.state'
        """
        return save_state(self._pipeline, *(self.position() if position is None else position))

    def position(self) -> Position:
        """Return the current position. It is cheaper than a state, which identifies files by their content.

        Example:
            >>> it = iter(ds.batch(10))
            >>> start = it.position()
            >>> batch = next(it)
            >>> it.state_dict(start) == iter(ds.batch(10)).state_dict()
            True
        """
        block, cursor, given = self._block, self._cursor, self._given
        if block is not None and given == len(block) and block.stop is not None:
            cursor, given = block.stop, 0
        return self._epoch, cursor, given

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where another iterator was.

        Raises:
            StateError: The state belongs to other data or to another pipeline.

        Example:
            >>> it, resumed = iter(ds), iter(ds)
            >>> example = next(it)
            >>> resumed.load_state_dict(it.state_dict())
            >>> next(resumed)["x"].item()
            1.0
        """
        epoch, cursor, given = load_state(self._pipeline, state)
        self.close()
        self._restart(epoch, cursor, given)
        self._epoch_started(epoch)

    def close(self) -> None:
        """End the iteration and its threads; leaving a ``with`` block does the same.

        Example:
            >>> with iter(ds) as it:
            ...     example = next(it)
            >>> list(it)
            []
        """
        self._elements, self._ended = iter(()), True
        if self._flow is not None and os.getpid() == self._process:
            self._flow.close()
            self._flow = None

    def __enter__(self) -> DatasetIterator[T_co]:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if "_flow" in vars(self) and os is not None:  # at the end of the interpreter, modules go first
            self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("an iterator does not pickle: pickle its dataset and its state_dict()")
