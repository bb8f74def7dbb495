"""Data sets of other frameworks, told by their types without importing anything: streams of rows and of batches.

A dict keeps its names; a tuple's items are called ``0``, ``1`` and so on, a lone value ``value``; what lies in one
another is joined: ``features/x``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from penstock.codec.encode_values import as_array
from penstock.columns import Batch, BytesColumn, Ragged, collate
from penstock.schema import Schema

# Rows that are converted together.
_ROWS = 1024


def open_framework_source(data: Any) -> Iterator[Any] | None:
    """Answer rows or batches of a framework's data set; None where the object is of no framework."""
    for cls in type(data).__mro__:
        match cls.__module__.partition(".")[0], cls.__name__:
            case "tensorflow", "DatasetV2":
                return _from_tensorflow(data, sys.modules["tensorflow"])
            case "torch", "DataLoader":
                return _from_loader(data)
            case "torch", "IterableDataset":
                return map(row_of, data)
            case "torch", "Dataset":
                return (row_of(data[position]) for position in range(len(data)))
            case "datasets", "Dataset":
                return _from_hugging_face(data)
            case "datasets", "IterableDataset":
                return map(row_of, data)
            case "penstock", "Dataset" if cls.__module__.startswith("penstock.tf."):
                return _from_tensorflow(data, sys.modules["penstock.tf"])
    return _from_penstock(data) if is_dataset(data) else None


def is_dataset(data: Any) -> bool:
    """Whether an object is a dataset of Penstock."""
    return hasattr(data, "_as_stored") and hasattr(data, "_traced")


def mapped_rows(data: Any, function: Callable[[dict[str, Any]], Any]) -> Any:
    """Return a dataset of Penstock with a function called for each row, of batches too."""
    return (data.unbatch() if _is_batched(data) else data).map(function)


def traced(data: Any) -> tuple[Any, Schema | None]:
    """Return an iterator over a dataset of Penstock with what is stored of it, and the schema of what it reads."""
    if data._as_stored() is not None and not _is_batched(data):
        data = data.batch(_ROWS)
    elements, schema = data._traced()
    return iter(elements), schema


def _is_batched(data: Any) -> bool:
    return any(isinstance(first, Batch) for first in data.take(1))


def _from_penstock(data: Any) -> Iterator[Any]:
    # Datasets with functions are traced: Python's values in columns would have types that nobody chose.
    return iter(data if _is_batched(data) else data.batch(_ROWS))


def _from_tensorflow(data: Any, tf: Any) -> Iterator[Any]:
    """Return batches of a dataset of TensorFlow's, or of ``penstock.tf``; rows where shapes are not known before."""

    def densely(*element: Any) -> dict[str, Any]:
        named = _named(element if len(element) > 1 else element[0], _is_tuple)
        return {name: tf.sparse.to_dense(value) if name in sparse else value for name, value in named}

    specs = _named(data.element_spec, _is_tuple)
    sparse = {name for name, spec in specs if isinstance(spec, tf.SparseTensorSpec)}
    dense = data.map(densely)
    try:
        # What varies in shape becomes ragged by its spec, not by what the first rows happen to be.
        batches = dense.ragged_batch(_ROWS)
    except tf.errors.UnimplementedError:
        for element in dense:
            yield {name: _tensorflow_row(value) for name, value in element.items()}
        return
    for batch in batches:
        yield Batch({name: _tensorflow_column(value) for name, value in batch.items()})


def _tensorflow_row(value: Any) -> Any:
    return value.to_list() if hasattr(value, "nested_row_splits") else value.numpy()


def _tensorflow_column(value: Any) -> Any:
    if hasattr(value, "nested_row_splits"):
        column = _tensorflow_column(value.flat_values)
        for splits in reversed(value.nested_row_splits):
            column = Ragged(column, splits.numpy().astype(np.int64))
        return column
    array = value.numpy()
    if array.dtype != object:
        return array
    return _strings(array)


def _strings(array: Any) -> BytesColumn:
    """Answer an array of bytes as a column; one of rows of several has a shape."""
    flat = array.reshape(-1).tolist()
    column = collate(flat) if flat else BytesColumn(np.zeros((0, 4), np.int32), ())
    assert isinstance(column, BytesColumn)
    return BytesColumn(column.views, column.buffers, shape=array.shape[1:], rows=len(array))


def _from_loader(loader: Any) -> Iterator[Any]:
    # Without a batch size, a loader hands on what its data set gives: rows.
    if loader.batch_sampler is None:
        yield from (
            row_of(tuple(item) if isinstance(item, list) else item) for item in loader
        )  # it makes lists of tuples
        return
    for batch in loader:
        yield Batch({name: _loaded_column(value) for name, value in _named(batch, _is_list_of_columns)})


def _loaded_column(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return collate(value)
    if getattr(value, "is_nested", False):
        offsets = as_array(value.offsets()).astype(np.int64)
        return Ragged(as_array(value.values()), offsets)
    return as_array(value)


def _from_hugging_face(data: Any) -> Iterator[Any]:
    # Arrow has the types of all columns but for what is decoded when it is asked for, such as sound.
    if any(hasattr(feature, "decode_example") for feature in data.features.values()):
        return iter(data.with_format("numpy"))
    return iter(data.with_format("arrow").iter(_ROWS))


def row_of(element: Any) -> dict[str, Any]:
    """Return an element as a row: what lies in one another is joined."""
    return dict(_named(element, _is_tuple))


def _named(element: Any, is_structure: Callable[[Any], bool], name: str = "") -> Iterator[tuple[str, Any]]:
    """Answer the leaves of an element, each with its name."""
    if isinstance(element, Mapping):
        items = [(str(key), value) for key, value in element.items()]
    elif is_structure(element):
        items = [(str(key), value) for key, value in enumerate(element)]
    else:
        yield name or "value", element
        return
    for key, value in items:
        yield from _named(value, is_structure, f"{name}/{key}" if name else key)


def _is_tuple(element: Any) -> bool:
    return isinstance(element, tuple)


def _is_list_of_columns(element: Any) -> bool:
    # A loader makes lists of tuples, and leaves strings in a list, which is a column.
    return isinstance(element, list | tuple) and not all(isinstance(value, str | bytes) for value in element)
