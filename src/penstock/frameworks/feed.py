"""Elements of a data set, made ready ahead of the consumer by what a framework needs done to them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any, TypeAlias

from penstock.dataset.dataset import Dataset
from penstock.dataset.iterator import DatasetIterator, Position
from penstock.errors import StateError

Place: TypeAlias = Callable[[Any], Any]

# An element as it was placed, and where the data set stands behind it; None: there is no more.
_Step: TypeAlias = tuple[Any, Position] | None

# A consumer that takes elements ahead of its own work asks where it stood this many elements before, at most.
_POSITIONS_KEPT = 1024


class Feed:
    """Give out a data set's elements, pass after pass, as a framework has them.

    Each ``iter(feed)`` is a pass: a generator. A state is of the elements that were given out, whatever lies ready
    behind them, and is one of the data set's own iterator: it fits every feed of the same data set.

    Args:
        dataset: What to give out.
        place: What to do to an element, on a thread ahead of the consumer.
        arrive: What to do to what was placed, on the consumer's own thread, when it asks for it.
        ahead: How many elements lie ready.
    """

    def __init__(self, dataset: Dataset, place: Place, *, arrive: Place = lambda placed: placed, ahead: int) -> None:
        if not isinstance(dataset, Dataset):
            raise TypeError(f"a feed gives out a ps.Dataset, not {type(dataset).__name__}")
        if ahead < 0:
            raise ValueError(f"ahead is 0 or more, not {ahead}")
        self._dataset = dataset
        self._place, self._arrive, self._ahead = place, arrive, ahead
        self._resume: dict[str, Any] | None = None
        self._given = 0
        self._elements: DatasetIterator | None = None
        self._positions: deque[Position] = deque(maxlen=_POSITIONS_KEPT)

    def __len__(self) -> int:
        return len(self._dataset)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._dataset!r})"

    def __iter__(self) -> Generator[Any, None, None]:
        return self.passing(self._place)

    def passing(self, place: Place) -> Generator[Any, None, None]:
        """Go through the data set once, with something else done to the elements."""
        with closing(iter(self._dataset)) as elements:
            if self._resume is not None:
                elements.load_state_dict(self._resume)
                self._resume = None
            self._elements, self._given = elements, 0
            self._positions.clear()
            self._positions.append(elements.position())

            def next_step() -> _Step:
                for element in elements:
                    return place(element), elements.position()
                return None

            with ThreadPoolExecutor(1, "penstock-feed") as thread:
                steps: deque[Future[_Step]] = deque()
                try:
                    while True:
                        while len(steps) <= self._ahead:
                            steps.append(thread.submit(next_step))
                        step = steps.popleft().result()
                        if step is None:
                            return
                        placed, position = step
                        self._positions.append(position)
                        self._given += 1
                        yield self._arrive(placed)
                        del step, placed  # or their memory could not be used again while the next one is awaited
                finally:
                    for waiting in steps:
                        waiting.cancel()

    def state_dict(self, *, after: int | None = None) -> dict[str, Any]:
        """Answer where the pass stands, in JSON; ``after`` asks for where it stood after so many elements.

        A loop that takes elements ahead of its own work, as ``fit`` of Keras does, has to say how many it has used.
        """
        if self._resume is not None:
            return self._resume
        if self._elements is None:
            # Nothing has begun: where the first pass will.
            with closing(iter(self._dataset)) as elements:
                self._resume = elements.state_dict()
            return self._resume
        behind = 0 if after is None else self._given - after
        if not 0 <= behind < len(self._positions):
            raise StateError(
                f"the last {len(self._positions)} positions of {self._given} elements are kept, not that after {after}"
            )
        return self._elements.state_dict(self._positions[-1 - behind])

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Let the next pass go on where another one stood."""
        self._resume = state
