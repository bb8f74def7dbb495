"""Elements of a data set, taken apart to the leaves that frameworks have types for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from penstock.columns import Batch, BytesColumn, Nullable, Ragged
from penstock.dataset.dataset import Dataset


def convert_leaves(element: Any, leaf: Callable[[Any], Any]) -> Any:
    """Answer a batch, dict or tuple with each of its values converted; a batch becomes a dict."""
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
    """Answer the innermost values of a ragged column, and the offsets of each level from the outermost on."""
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
    """Deal a data set out to the processes of a training run, unless its owner has done so with ``shard()``."""
    return dataset if world == 1 or _is_dealt_out(dataset._pipeline.describe()) else dataset.shard(rank, world)


def gives_batches(dataset: Dataset) -> bool:
    """Whether the elements of a data set have rows, so that their first dimension counts them."""
    return _group_rows(dataset._pipeline.describe())


def _group_rows(steps: list[Any]) -> bool:
    grouped = False
    for what, *details in steps:
        joined = [child for child in details if isinstance(child, list) and child and isinstance(child[0], list)]
        grouped = (
            what in ("batch", "pack", "bucket") or any(map(_group_rows, joined)) or (grouped and what != "unbatch")
        )
    return grouped


def _is_dealt_out(steps: list[Any]) -> bool:
    # A step that joins data sets has the steps of each within its own.
    return any(
        isinstance(step, list) and (step[:1] in (["shard"], ["stride"]) or _is_dealt_out(step)) for step in steps
    )
