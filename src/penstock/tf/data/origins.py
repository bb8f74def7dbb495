"""What the rows of a data set are before anything is computed: records, numbers of slices, or elements already.

Operators that only move elements (shuffle, take, repeat ...) move rows. What functions make of them is computed where
elements are wanted: for a whole batch in one call, or for one row.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from penstock.tf.batch_values import RecordRows, Rows, Stacked, stack_rows
from penstock.tf.convert import object_array
from penstock.tf.ragged_tensor import RaggedTensor
from penstock.tf.structure import filled, leaves, map_structure
from penstock.tf.tensor import Tensor


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
        """Answer the record as a string."""
        return Tensor(object_array([row], ()))

    def batch(self, rows: list[bytes]) -> RecordRows:
        """Answer the records as they are."""
        return RecordRows(rows)


class OfNumbers:
    """Rows are integers, and elements the same as scalars."""

    in_order = False

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype

    def element(self, row: int) -> Tensor:
        """Answer a scalar."""
        return Tensor(np.array(row, self._dtype))

    def batch(self, rows: list[int]) -> Stacked:
        """Answer all scalars."""
        return Stacked(np.array(rows, self._dtype))


class OfSlices:
    """Rows are numbers: places along the first dimension of tensors."""

    in_order = False

    def __init__(self, tensors: Any) -> None:
        self._tensors = tensors

    def element(self, row: int) -> Any:
        """Answer one slice of each tensor."""
        return map_structure(lambda tensor: tensor[row], self._tensors)

    def batch(self, rows: list[int]) -> Any:
        """Answer many slices of each tensor."""
        return map_structure(lambda tensor: _slices(tensor, rows), self._tensors)


def _slices(tensor: Tensor | RaggedTensor, rows: list[int]) -> Stacked | Rows:
    return Stacked(tensor._array[rows]) if isinstance(tensor, Tensor) else Rows([tensor[row] for row in rows])


class OfElements:
    """Rows are elements."""

    in_order = False

    def element(self, row: Any) -> Any:
        """Answer the row."""
        return row

    def batch(self, rows: list[Any]) -> Any:
        """Collect the values of each leaf."""
        columns = [stack_rows(list(values)) for values in zip(*(leaves(row) for row in rows), strict=True)]
        return filled(rows[0], columns)


RECORDS = OfRecords()
ELEMENTS = OfElements()
