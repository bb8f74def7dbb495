"""The steps of a dataset: each gives rows, again and again from the start, and knows how many there are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from penstock.tf.errors import InvalidArgumentError, OpError, OutOfRangeError
from penstock.tf.ops.functions import in_dataset
from penstock.tf.registry import invoke
from penstock.tf.tensors.batch_values import RecordRows, RowValues, Stacked, stack_rows
from penstock.tf.tensors.convert import as_tensor, object_array
from penstock.tf.tensors.ragged_tensor import RaggedTensor
from penstock.tf.tensors.sparse_tensor import SparseTensor
from penstock.tf.tensors.specs import RaggedTensorSpec
from penstock.tf.tensors.structure import filled, leaves, map_structure
from penstock.tf.tensors.tensor import Tensor
from penstock.tf.tracing.recording import Symbol

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
        """Return some row, to see what rows are like; StopIteration where there is none. No pass is begun for it."""
        return next(self.rows())

    def spec(self) -> Any:
        """Return what is known of all elements without looking at one, or None."""
        return None

    def sample_of_steps(self) -> Node | None:
        """Return one of the steps that give the rows, where elements decide on them, to see what they are like."""
        return None


def ragged_rows_in(spec: Any) -> frozenset[int]:
    """Return which components of elements are rows of RaggedTensors, where their specs are known."""
    numbered = enumerate(() if spec is None else leaves(spec))
    return frozenset(n for n, leaf in numbered if isinstance(leaf, RaggedTensorSpec) and not leaf.ragged_rank)


class PassThroughNode(Node):
    """A step that takes rows as they are, in another order or number."""

    def __init__(self, before: Node) -> None:
        self.before = before
        self.origin = before.origin
        self.varying_first = before.varying_first
        self.ragged_rows = before.ragged_rows
        self.coarse = before.coarse

    def sample(self) -> Any:
        """Return a row of the step before."""
        return self.before.sample()

    def spec(self) -> Any:
        """Return what the step before knows."""
        return self.before.spec()


class Origin(Protocol):
    """Makes elements of rows."""

    in_order: bool
    """Whether to make a row has effects, so that none is to be made before it is wanted."""

    def element(self, row: Any) -> Any:
        """Make the element of a row: a structure of tensors."""

    def batch(self, rows: list[Any]) -> Any:
        """Make the elements of many rows: a structure with the values of all rows at each leaf."""


class OfRecords:
    """Rows are the bytes of records."""

    in_order = False

    def element(self, row: bytes) -> Tensor:
        """Return the record as a string."""
        return Tensor(object_array([row], ()))

    def batch(self, rows: list[bytes]) -> RecordRows:
        """Return the records as they are."""
        return RecordRows(rows)


class OfNumbers:
    """Rows are integers, and elements the same as scalars."""

    in_order = False

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype

    def element(self, row: int) -> Tensor:
        """Return a scalar."""
        return Tensor(np.array(row, self._dtype))

    def batch(self, rows: list[int]) -> Stacked:
        """Return all scalars."""
        return Stacked(np.array(rows, self._dtype))


class OfSlices:
    """Rows are numbers: places along the first dimension of tensors."""

    in_order = False

    def __init__(self, tensors: Any) -> None:
        self._tensors = tensors

    def element(self, row: int) -> Any:
        """Return one slice of each tensor."""
        return map_structure(lambda tensor: tensor[row], self._tensors)

    def batch(self, rows: list[int]) -> Any:
        """Return many slices of each tensor."""
        return map_structure(lambda tensor: _slices(tensor, rows), self._tensors)


def _slices(tensor: Tensor | RaggedTensor, rows: list[int]) -> Stacked | RowValues:
    return Stacked(tensor._array[rows]) if isinstance(tensor, Tensor) else RowValues([tensor[row] for row in rows])


class OfElements:
    """Rows are elements."""

    in_order = False

    def element(self, row: Any) -> Any:
        """Return the row."""
        return row

    def batch(self, rows: list[Any]) -> Any:
        """Collect the values of each leaf."""
        columns = [stack_rows(list(values)) for values in zip(*(leaves(row) for row in rows), strict=True)]
        return filled(rows[0], columns)


RECORDS = OfRecords()
ELEMENTS = OfElements()


def as_element(value: Any) -> Any:
    """Return a structure of tensors: dicts and tuples are structures, lists become tensors, as in TensorFlow."""
    if type(value) is Tensor:
        return value
    if isinstance(value, Mapping):
        return {key: as_element(item) for key, item in value.items()}
    if isinstance(value, tuple):
        items = [as_element(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list) and any(isinstance(leaf, Symbol) for leaf in leaves(value)):
        return invoke("stack", [as_element(item) for item in value])
    if isinstance(value, Symbol | RaggedTensor | SparseTensor) or hasattr(value, "element_spec"):
        return value
    if value is None:
        raise TypeError("an element is made of tensors, and a function answered None")
    return as_tensor(value)


def as_answer(value: Any) -> Any:
    """Return what a function of elements answered as an element; a list of several values is a tuple of them."""
    return as_element(tuple(value) if isinstance(value, list) else value)


def arguments_of(element: Any) -> tuple[Any, ...]:
    """Return the arguments of a function of an element: tuples are spread."""
    return element if type(element) is tuple else (element,)


def call_function(function: Callable[..., Any], *arguments: Any, ended: type[OpError] = InvalidArgumentError) -> Any:
    """Call a function that a user gave.

    A StopIteration of its own would end the iteration as if there were no more elements. It is raised as ``ended``,
    and so is an OutOfRangeError: TensorFlow names it by the step that the function belongs to.
    """
    token = in_dataset.set(True)
    try:
        return function(*arguments)
    except (StopIteration, OutOfRangeError) as error:
        raise ended(f"a function of the dataset raised {type(error).__name__}: {error}") from error
    finally:
        in_dataset.reset(token)
