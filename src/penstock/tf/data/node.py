"""The steps of a data set: each gives rows, again and again from the start, and knows how many there are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from penstock.tf.data.origins import Origin
from penstock.tf.specs import RaggedTensorSpec
from penstock.tf.structure import leaves

AUTOTUNE = -1
INFINITE = -1
UNKNOWN = -2


class Node(ABC):
    """One step, over those before it."""

    origin: Origin
    """What makes elements of the rows."""

    cardinality: int = UNKNOWN
    """How many rows there are; or that there is no end, or that it is not known."""

    varying_first = False
    """Whether the first dimension of elements differs: behind ``batch``, whose last batch may be smaller."""

    ragged_rows: frozenset[int] = frozenset()
    """Which components are rows of RaggedTensors: they are plain tensors, and become ragged again in a batch."""

    coarse = False
    """Whether elements are batches, so that each of them is worth a thread's while."""

    @abstractmethod
    def rows(self) -> Iterator[Any]:
        """Start a pass. It goes on behind an error, with the next row, where there is one."""

    def sample(self) -> Any:
        """Answer some row, to see what rows are like; StopIteration where there is none. No pass is begun for it."""
        return next(self.rows())

    def spec(self) -> Any:
        """Answer what is known of all elements without looking at one, or None."""
        return None

    def sample_of_steps(self) -> Node | None:
        """Answer one of the steps that give the rows, where elements decide on them, to see what they are like."""
        return None


def ragged_rows_in(spec: Any) -> frozenset[int]:
    """Answer which components of elements are rows of RaggedTensors, where their specs are known."""
    numbered = enumerate(() if spec is None else leaves(spec))
    return frozenset(n for n, leaf in numbered if isinstance(leaf, RaggedTensorSpec) and not leaf.ragged_rank)


class Moving(Node):
    """A step that takes rows as they are, in another order or number."""

    def __init__(self, before: Node) -> None:
        self.before = before
        self.origin = before.origin
        self.varying_first = before.varying_first
        self.ragged_rows = before.ragged_rows
        self.coarse = before.coarse

    def sample(self) -> Any:
        """Answer a row of the step before."""
        return self.before.sample()

    def spec(self) -> Any:
        """Answer what the step before knows."""
        return self.before.spec()
