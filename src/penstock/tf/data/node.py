"""``Node``: one transformation of a dataset, which yields rows, and the row formats that make elements of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from penstock.tf.errors import FailedPreconditionError, InvalidArgumentError, OpError, OutOfRangeError
from penstock.tf.ops.functions import in_dataset
from penstock.tf.ops.random_state import with_random_state
from penstock.tf.registry import invoke
from penstock.tf.tensors.batch_values import RecordRows, RowValues, Stacked, stack_rows
from penstock.tf.tensors.convert import as_tensor, object_array
from penstock.tf.tensors.ragged_tensor import RaggedTensor
from penstock.tf.tensors.shape import TensorShape
from penstock.tf.tensors.sparse_tensor import SparseTensor
from penstock.tf.tensors.specs import DatasetSpec, RaggedTensorSpec, spec_of
from penstock.tf.tensors.structure import filled, is_class_of_parts, leaves, map_structure, parts_of, with_parts
from penstock.tf.tensors.tensor import Tensor
from penstock.tf.tracing.recording import Symbol

AUTOTUNE = -1
INFINITE = -1
UNKNOWN = -2


class Dependencies(NamedTuple):
    """What the elements of a node depend on, for the fingerprint of a cache file."""

    kind: str
    """Names the transformation. Cache files contain a digest of it, so it stays when classes are renamed."""

    values: tuple[Any, ...]
    """Nodes, functions and values, in an order that stays."""


class Node(ABC):
    """One transformation. Its rows can be iterated any number of times."""

    row_format: RowFormat
    """Makes elements of the rows."""

    cardinality: int = UNKNOWN
    """The number of rows, INFINITE or UNKNOWN."""

    first_dim_varies = False
    """Whether the first dimension of elements differs: after ``batch``, whose last batch may be smaller."""

    ragged_components: frozenset[int] = frozenset()
    """The components that are rows of RaggedTensors: plain tensors that become ragged again in a batch."""

    yields_batches = False
    """Whether elements are batches, large enough that a thread is worth its overhead."""

    calls_python = False
    """Whether a function in Python is called for each row, which may wait for something."""

    @abstractmethod
    def rows(self) -> Iterator[Any]:
        """Return a new iterator over the rows. After an error, it continues with the next row, where there is one."""

    @abstractmethod
    def dependencies(self) -> Dependencies | Node:
        """Return what the elements depend on, or another node whose elements are the same."""

    def sample(self) -> Any:
        """Return some row, to see what rows are like, without starting an iteration.

        Raises:
            StopIteration: There is none.
        """
        return next(self.rows())

    def row_at(self, index: int) -> Any:
        """Return one row by its number, which is below the cardinality, for ``tf.data.experimental.at``."""
        kind = type(self).__name__.removesuffix("Node")
        raise FailedPreconditionError(f"Random access is not possible after {kind}: add cache() or batch after it")

    def spec(self) -> Any:
        """Return the specs of elements as far as they are known without looking at one, or None."""
        return None

    def sample_node(self) -> Node | None:
        """Return one of the nodes that a function makes of elements, to see what its elements are like."""
        return None


def ragged_components_in(spec: Any) -> frozenset[int]:
    """Return the components of elements that are rows of RaggedTensors, where their specs are known."""
    numbered = enumerate(() if spec is None else leaves(spec))
    return frozenset(n for n, leaf in numbered if isinstance(leaf, RaggedTensorSpec) and not leaf.ragged_rank)


class PassThroughNode(Node):
    """A node that leaves rows unchanged, and yields them in another order or number."""

    def __init__(self, upstream: Node) -> None:
        self._upstream = upstream
        self.row_format = upstream.row_format
        self.first_dim_varies = upstream.first_dim_varies
        self.ragged_components = upstream.ragged_components
        self.yields_batches = upstream.yields_batches

    def sample(self) -> Any:
        return self._upstream.sample()

    def spec(self) -> Any:
        return self._upstream.spec()


class RowFormat(Protocol):
    """Makes elements of rows."""

    has_effects: bool
    """Whether a row is the result of calls with effects, so that rows must not be requested ahead."""

    def element(self, row: Any) -> Any:
        """Return the element of a row: a structure of tensors."""

    def batch(self, rows: list[Any]) -> Any:
        """Return the elements of many rows: a structure with the values of all rows at each leaf."""


class RecordFormat:
    """Rows are the bytes of records."""

    has_effects = False

    def element(self, row: bytes) -> Tensor:
        """Return the record as a string tensor."""
        return Tensor(object_array([row], ()))

    def batch(self, rows: list[bytes]) -> RecordRows:
        """Return the records unchanged."""
        return RecordRows(rows)


class ScalarFormat:
    """Rows are Python integers, and elements scalars."""

    has_effects = False

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype

    def element(self, row: int) -> Tensor:
        """Return a scalar."""
        return Tensor(np.array(row, self._dtype))

    def batch(self, rows: list[int]) -> Stacked:
        """Return all scalars."""
        return Stacked(np.array(rows, self._dtype))


class SliceFormat:
    """Rows are indices along the first dimension of tensors."""

    has_effects = False

    def __init__(self, tensors: Any) -> None:
        self._tensors = tensors

    def element(self, row: int) -> Any:
        """Return one slice of each tensor."""
        return map_structure(lambda tensor: tensor[row], self._tensors)

    def batch(self, rows: list[int]) -> Any:
        """Return many slices of each tensor."""
        return map_structure(lambda tensor: _slices(tensor, rows), self._tensors)


class ItemRows:
    """A vector of datasets, or the rows of a SparseTensor; ``spec`` is that of the whole."""

    def __init__(self, items: list[Any], spec: Any) -> None:
        self._items, self.spec = items, spec
        self.shape = TensorShape([len(items)])

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, row: int) -> Any:
        return self._items[row]


def item_rows(value: Any) -> Any:
    """Return the rows of a SparseTensor; return any other value unchanged."""
    return ItemRows(value.rows(), spec_of(value)) if isinstance(value, SparseTensor) else value


def _slices(tensor: Tensor | RaggedTensor | ItemRows, rows: list[int]) -> Stacked | RowValues:
    return Stacked(tensor._array[rows]) if isinstance(tensor, Tensor) else RowValues([tensor[row] for row in rows])


class ElementFormat:
    """Rows are elements."""

    has_effects = False

    def element(self, row: Any) -> Any:
        """Return the row."""
        return row

    def batch(self, rows: list[Any]) -> Any:
        """Collect the values of each leaf."""
        columns = [stack_rows(list(values)) for values in zip(*(leaves(row) for row in rows), strict=True)]
        return filled(rows[0], columns)


RECORDS = RecordFormat()
ELEMENTS = ElementFormat()


def as_element(value: Any) -> Any:
    """Return a structure of tensors: dicts and tuples are structures, lists become tensors, as in TensorFlow."""
    if type(value) is Tensor:
        return value
    if isinstance(value, Mapping):
        return {key: as_element(item) for key, item in value.items()}
    if type(value).__name__ == "SparseTensorValue":
        return SparseTensor(*value)
    if isinstance(value, tuple):
        items = [as_element(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list) and any(isinstance(leaf, Symbol) for leaf in leaves(value)):
        return invoke("stack", [as_element(item) for item in value])
    if (
        value is None
        or isinstance(value, Symbol | RaggedTensor | SparseTensor | ItemRows)
        or hasattr(value, "element_spec")
    ):
        return value
    if is_class_of_parts(value):
        return with_parts(value, [as_element(item) for item in parts_of(value)])
    if isinstance(value, list) and value and all(hasattr(item, "element_spec") for item in value):
        return ItemRows(value, DatasetSpec(value[0].element_spec, TensorShape([len(value)])))
    return as_tensor(value)


def result_as_element(result: Any) -> Any:
    """Return the result of a function as an element; a list of several values becomes a tuple, as in TensorFlow."""
    return as_element(tuple(result) if isinstance(result, list) else result)


def arguments_of(element: Any) -> tuple[Any, ...]:
    """Return the arguments for a function of an element: tuples are unpacked."""
    return element if type(element) is tuple else (element,)


def wrap_user_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of elements whose random operations continue from element to element."""
    wrapped: Any = with_random_state(function)
    wrapped.__wrapped__ = function  # what a fingerprint depends on
    return wrapped  # type: ignore[no-any-return]


def call_user_function(
    function: Callable[..., Any], *arguments: Any, stop_error: type[OpError] = InvalidArgumentError
) -> Any:
    """Call a function that a user passed to the dataset.

    Its own StopIteration would end the iteration as if there were no more elements. It is raised as ``stop_error``, and
    so is an OutOfRangeError: in TensorFlow, the type depends on the transformation that the function belongs to.
    """
    token = in_dataset.set(True)
    try:
        return function(*arguments)
    except (StopIteration, OutOfRangeError) as error:
        raise stop_error(f"a function of the dataset raised {type(error).__name__}: {error}") from error
    finally:
        in_dataset.reset(token)
