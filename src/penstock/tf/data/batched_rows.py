"""``batch``: many elements as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from penstock.tf.batch_values import Rows, Stacked
from penstock.tf.data.computed import Computation
from penstock.tf.data.lasting import lasting
from penstock.tf.data.node import Node
from penstock.tf.data.origins import ELEMENTS
from penstock.tf.errors import InvalidArgumentError
from penstock.tf.ragged_tensor import RaggedTensor
from penstock.tf.sparse_tensor import SparseTensor
from penstock.tf.specs import with_first
from penstock.tf.structure import leaves, map_structure
from penstock.tf.tensor import Tensor


class Join(NamedTuple):
    """How the elements of a batch become one."""

    values: Callable[[Any], Any]
    """Makes one structure of tensors of a structure with the values of all rows at each leaf."""
    spec: Callable[[Any, int | None], Any]
    """Makes the specs of batches of those of elements; and of the number of elements, where it is always the same."""


class Batches(Node):
    """Elements in batches of ``size``, each computed in one call."""

    origin = ELEMENTS
    coarse = True

    def __init__(self, before: Node, computation: Computation, size: int, join: Join, *, drop_remainder: bool) -> None:
        self._before = before
        self._computation = computation
        self._size = size
        self._join = join
        self._drop = drop_remainder
        self.varying_first = not drop_remainder
        known = before.cardinality
        self.cardinality = known if known < 0 else known // size if drop_remainder else -(-known // size)

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        rows = self._before.rows()

        def batches() -> Iterator[Any]:
            while some := list(islice(rows, self._size)):
                if len(some) == self._size or not self._drop:
                    yield self._join.values(self._computation.checked_batch(some))

        return lasting(batches)

    def sample(self) -> Any:
        """Make a batch of one row, or of as many as a batch that is always full has."""
        rows = [self._before.sample()] * (self._size if self._drop else 1)
        return self._join.values(self._computation.checked_batch(rows))

    def spec(self) -> Any:
        """Answer what follows from the specs of elements, where they are known."""
        known = self._computation.spec(self._before.spec())
        return None if known is None else self._join.spec(known, self._size if self._drop else None)


def stacking(ragged_rows: frozenset[int]) -> Join:
    """Answer what stacks the elements of a batch, of which some components are rows of RaggedTensors."""

    def join(found: Any) -> Any:
        numbers = iter(range(sum(1 for _ in leaves(found))))
        return map_structure(lambda leaf: one(leaf, next(numbers)), found)

    def one(leaf: Stacked | Rows, component: int) -> Any:
        return stack_ragged(leaf.each()) if component in ragged_rows else stacked(leaf, component)

    return Join(join, lambda known, first: map_structure(lambda spec: with_first(spec, first), known))


STACKED = stacking(frozenset())
"""Stacks the elements of a batch."""


def stacked(leaf: Stacked | Rows, component: int) -> Any:
    """Stack the values of one component of the elements."""
    if isinstance(leaf, Stacked):
        return Tensor(leaf.array)
    values = leaf.values
    if isinstance(values[0], SparseTensor):
        return stack_sparse(values)
    if isinstance(values[0], RaggedTensor):
        return stack_ragged(values)
    first = values[0]
    for number, value in enumerate(values):
        if not isinstance(value, Tensor) or value.shape != first.shape:
            raise InvalidArgumentError(
                f"Cannot batch tensors with different shapes in component {component}. First element had shape "
                f"{first.shape.as_list()} and element {number} had shape {value.shape.as_list()}."
            )
        if value.dtype != first.dtype:
            raise InvalidArgumentError(
                f"Cannot batch tensors with different dtypes in component {component}: "
                f"{first.dtype.name} and {value.dtype.name}."
            )
    return Tensor(np.stack([value._array for value in values]))


def stack_sparse(values: list[SparseTensor]) -> SparseTensor:
    """Stack sparse tensors; the sizes are the largest of each dimension."""
    places = [
        np.concatenate([np.full((len(value.values), 1), row), value.indices._array], axis=1)
        for row, value in enumerate(values)
    ]
    sizes = np.max([value.dense_shape._array for value in values], axis=0)
    return SparseTensor(
        Tensor(np.concatenate(places).astype(np.int64)),
        Tensor(np.concatenate([value.values._array for value in values])),
        Tensor(np.concatenate([[len(values)], sizes]).astype(np.int64)),
    )


def stack_ragged(values: list[Any]) -> RaggedTensor:
    """Stack tensors, ragged ones or others, that may differ in their first size."""
    dtype = next((value.row_splits.dtype.numpy for value in values if isinstance(value, RaggedTensor)), np.int64)
    lengths = np.array([len(value) for value in values], dtype)
    return RaggedTensor.from_row_lengths(_end_to_end(values), Tensor(lengths))


def _end_to_end(values: list[Any]) -> Any:
    if not isinstance(values[0], RaggedTensor):
        return Tensor(np.concatenate([value._array for value in values]))
    lengths = np.concatenate([value.row_lengths()._array for value in values])
    return RaggedTensor.from_row_lengths(_end_to_end([value.values for value in values]), Tensor(lengths))
