"""Elements of a dataset, made ready ahead of the consumer by what a framework needs done to them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.columns import Batch, BytesColumn, Nullable, Ragged
from penstock.dataset.dataset import Dataset
from penstock.dataset.iterator import DatasetIterator, Position
from penstock.errors import StateError

PlaceElement: TypeAlias = Callable[[Any], Any]
# An element as it was placed, and where the dataset stands behind it; None: there is no more.
_Step: TypeAlias = tuple[Any, Position] | None
# A consumer that takes elements ahead of its own work asks where it stood this many elements before, at most.
_POSITIONS_KEPT = 1024


class Feed:
    """Give out a dataset's elements, pass after pass, as a framework has them.

    Each ``iter(feed)`` is a pass: a generator. A state is of the elements that were given out, whatever lies ready
    behind them, and is one of the dataset's own iterator: it fits every feed of the same dataset.

    Args:
        dataset: What to give out.
        place: What to do to an element, on a thread ahead of the consumer.
        arrive: What to do to what was placed, on the consumer's own thread, when it asks for it.
        ahead: How many elements lie ready.
    """

    def __init__(
        self, dataset: Dataset, place: PlaceElement, *, arrive: PlaceElement = lambda placed: placed, ahead: int
    ) -> None:
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

    def passing(self, place: PlaceElement) -> Generator[Any, None, None]:
        """Go through the dataset once, with something else done to the elements."""
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
        """Return where the pass stands, in JSON; ``after`` asks for where it stood after so many elements.

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


def convert_leaves(element: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return a batch, dict or tuple with each of its values converted; a batch becomes a dict."""
    if isinstance(element, Batch | Mapping):
        converted = {}
        for name, value in element.items():
            with naming(name):
                converted[name] = convert_leaves(value, leaf)
        return converted
    if isinstance(element, tuple):
        return tuple(convert_leaves(value, leaf) for value in element)
    return leaf(element)


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Let errors say which column they are about."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        error.add_note(f"column {name!r}")
        raise


def is_numeric(value: Any) -> bool:
    """Whether a value is an array, or a scalar of NumPy, of numbers."""
    return isinstance(value, np.ndarray | np.generic) and value.dtype.kind not in "OSUT"


def ragged_parts(column: Ragged) -> tuple[NDArray[Any] | BytesColumn, list[NDArray[np.int64]]]:
    """Return the innermost values of a ragged column, and the offsets of each level from the outermost on."""
    values, offsets = column.values, [column.offsets]
    begin, end = int(column.offsets[0]), int(column.offsets[-1])
    if begin or end != len(values):
        return ragged_parts(column.copy())
    if isinstance(values, Ragged):
        values, inner = ragged_parts(values)
        return values, offsets + inner
    if isinstance(values, Nullable):
        refuse_absent()
    assert isinstance(values, np.ndarray | BytesColumn)
    return values, offsets


def refuse_absent() -> NoReturn:
    """Raise: an absent value is neither zero nor empty, and no framework has a tensor with gaps."""
    raise TypeError(
        "a column with absent rows makes no tensor: say what they become, such as "
        'batch | {"x": batch["x"].fill(0), "x_valid": batch["x"].valid} in a map() behind batch()'
    )


def share_of(dataset: Dataset, rank: int, world: int) -> Dataset:
    """Shard a dataset for the processes of a training run, unless it is sharded already."""
    return dataset if world == 1 or dataset._pipeline.is_sharded else dataset.shard(rank, world)


def gives_batches(dataset: Dataset) -> bool:
    """Whether the elements of a dataset have rows, so that their first dimension counts them."""
    return dataset._pipeline.yields_batches
