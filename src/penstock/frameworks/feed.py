"""Feeds: iterate over a dataset, with elements converted and prefetched for a framework."""

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
# A placed element and the position of the dataset after it; None at the end.
_Step: TypeAlias = tuple[Any, Position] | None
# How far back state_dict(after=) can go, for a loop that takes elements before it uses them.
_MAX_POSITIONS = 1024


class Feed:
    """Iterate over a dataset, with its elements converted for a framework.

    Each ``iter(feed)`` is a generator over one epoch. A state counts the elements that were yielded, not those that
    were prefetched. It has the format of the dataset's own iterator, so it fits every feed of the same dataset.

    Args:
        dataset: The dataset to iterate over.
        place: Converts an element and places it on its device, on a background thread.
        arrive: Finishes a placed element on the consumer's thread, when it is yielded.
        ahead: How many elements to prefetch.
    """

    def __init__(
        self, dataset: Dataset, place: PlaceElement, *, arrive: PlaceElement = lambda placed: placed, ahead: int
    ) -> None:
        if not isinstance(dataset, Dataset):
            raise TypeError(f"a feed needs a ps.Dataset, not {type(dataset).__name__}")
        if ahead < 0:
            raise ValueError(f"ahead must be 0 or more, not {ahead}")
        self._dataset = dataset
        self._place, self._arrive, self._ahead = place, arrive, ahead
        self._resume: dict[str, Any] | None = None
        self._yielded = 0
        self._elements: DatasetIterator | None = None
        self._positions: deque[Position] = deque(maxlen=_MAX_POSITIONS)

    def __len__(self) -> int:
        return len(self._dataset)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._dataset!r})"

    def __iter__(self) -> Generator[Any, None, None]:
        return self.iterate(self._place)

    def iterate(self, place: PlaceElement) -> Generator[Any, None, None]:
        """Iterate over one epoch, with another ``place`` function."""
        with closing(iter(self._dataset)) as elements:
            if self._resume is not None:
                elements.load_state_dict(self._resume)
                self._resume = None
            self._elements, self._yielded = elements, 0
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
                        self._yielded += 1
                        yield self._arrive(placed)
                        del step, placed  # so that their memory can be reused while waiting for the next one
                finally:
                    for waiting in steps:
                        waiting.cancel()

    def state_dict(self, *, after: int | None = None) -> dict[str, Any]:
        """Return the position of the iteration as JSON, or its position ``after`` that many elements.

        Pass ``after`` where a loop takes elements before it uses them, as ``fit`` of Keras does.
        """
        if self._resume is not None:
            return self._resume
        if self._elements is None:
            # Not started: return where the first iteration will start.
            with closing(iter(self._dataset)) as elements:
                self._resume = elements.state_dict()
            return self._resume
        back = 0 if after is None else self._yielded - after
        if not 0 <= back < len(self._positions):
            raise StateError(
                f"there is no position after {after} elements: {self._yielded} were yielded, and the last "
                f"{len(self._positions)} positions are stored"
            )
        return self._elements.state_dict(self._positions[-1 - back])

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Start the next iteration at a saved state."""
        self._resume = state


def convert_leaves(element: Any, leaf: Callable[[Any], Any]) -> Any:
    """Convert each value of a batch, dict or tuple; a batch becomes a dict."""
    if isinstance(element, Batch | Mapping):
        converted = {}
        for name, value in element.items():
            with column_note(name):
                converted[name] = convert_leaves(value, leaf)
        return converted
    if isinstance(element, tuple):
        return tuple(convert_leaves(value, leaf) for value in element)
    return leaf(element)


class _AbsentValuesError(TypeError):
    """Absent values of a column whose name is not known yet."""


@contextmanager
def column_note(name: str) -> Iterator[None]:
    """Add the name of a column to errors."""
    try:
        yield
    except _AbsentValuesError:
        raise TypeError(
            f"column {name!r} has absent values, and tensors have no gaps: fill them in a map() after batch(), for "
            f"example batch | {{{name!r}: batch[{name!r}].fill(0), {name + '_valid'!r}: batch[{name!r}].valid}}"
        ) from None
    except (TypeError, ValueError, OverflowError) as error:
        error.add_note(f"column {name!r}")
        raise


def is_numeric(value: Any) -> bool:
    """Return whether a value is a NumPy array or scalar of numbers."""
    return isinstance(value, np.ndarray | np.generic) and value.dtype.kind not in "OSUT"


def ragged_parts(column: Ragged) -> tuple[NDArray[Any] | BytesColumn, list[NDArray[np.int64]]]:
    """Return the innermost values of a ragged column, and the offsets of each level, outermost first."""
    values, offsets = column.values, [column.offsets]
    begin, end = int(column.offsets[0]), int(column.offsets[-1])
    if begin or end != len(values):
        return ragged_parts(column.copy())
    if isinstance(values, Ragged):
        values, inner = ragged_parts(values)
        return values, offsets + inner
    if isinstance(values, Nullable):
        raise_absent()
    assert isinstance(values, np.ndarray | BytesColumn)
    return values, offsets


def raise_absent() -> NoReturn:
    """Raise TypeError: an absent value is neither zero nor empty, and tensors have no gaps."""
    raise _AbsentValuesError(
        "a column with absent values cannot become a tensor: fill them in a map() after batch(), for example "
        'batch | {"x": batch["x"].fill(0), "x_valid": batch["x"].valid}'
    )


def shard_for_process(dataset: Dataset, rank: int, world: int) -> Dataset:
    """Shard a dataset across the processes of a training run, unless it is sharded already."""
    return dataset if world == 1 or dataset._pipeline.is_sharded else dataset.shard(rank, world)
