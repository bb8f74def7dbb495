"""Columns: the values of one feature for many examples, in memory that other libraries can share.

A dense column is a ``np.ndarray`` of shape ``[rows, *shape]``. Rows of different lengths are a ``Ragged``, byte strings
and text a ``BytesColumn``, and rows that may be absent a ``Nullable``. A ``Batch`` holds columns of equal length by
name.
"""

from __future__ import annotations

from penstock.columns.arrow_import import batches_from_arrow, from_arrow
from penstock.columns.batch import Batch, nest_row, row_value, unbuilt_batch, unchecked_batch, with_paths
from penstock.columns.bytes_column import BytesColumn
from penstock.columns.collate import as_nested_lists, collate, is_object_column
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
    "is_object_column",
    "nest_row",
    "row_value",
    "unbuilt_batch",
    "unchecked_batch",
    "with_paths",
]
