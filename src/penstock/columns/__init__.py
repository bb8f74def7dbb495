"""Columns: one feature's values for many examples, in memory that other libraries can use as it lies.

A dense column is a plain ``np.ndarray`` of shape ``[rows, *shape]``. Rows of unequal length are a ``Ragged``, byte
strings and text a ``BytesColumn``, and rows that may be absent a ``Nullable``. A ``Batch`` is columns of equal length
by name.
"""

from __future__ import annotations

from penstock.columns.arrow_import import batches_from_arrow, from_arrow
from penstock.columns.batch import Batch, row_value, unchecked_batch
from penstock.columns.bytes_column import BytesColumn
from penstock.columns.collate import as_nested_lists, collate, is_unequal
from penstock.columns.column import AnyColumn, Column
from penstock.columns.concat import concat
from penstock.columns.nullable import Nullable
from penstock.columns.ragged import Ragged

__all__ = [
    "AnyColumn",
    "Batch",
    "BytesColumn",
    "Column",
    "Nullable",
    "Ragged",
    "as_nested_lists",
    "batches_from_arrow",
    "collate",
    "concat",
    "from_arrow",
    "is_unequal",
    "row_value",
    "unchecked_batch",
]
