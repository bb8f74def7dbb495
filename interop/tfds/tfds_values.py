"""Values of TFDS and of Penstock, compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Return a value of either library as dicts, lists of differing things, and arrays."""
    if hasattr(value, "element_spec") or type(value).__name__ == "PythonDataSource":
        return plain(steps(value))
    if isinstance(value, Mapping):
        return {name: plain(found) for name, found in value.items()}
    if hasattr(value, "to_list") and not isinstance(value, np.ndarray):  # a RaggedTensor
        return plain(value.to_list())
    if hasattr(value, "numpy"):
        return plain(value.numpy())
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [plain(item) for item in value] if value.ndim else plain(value.item())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def steps(value: Any) -> Any:
    """Return the steps of a nested dataset as a dict of the values of all steps."""
    rows = [row if isinstance(row, Mapping) else {"": row} for row in value]
    if not rows:
        return None
    joined = {name: joined_steps([row[name] for row in rows]) for name in rows[0]}
    return joined.get("", joined)


def joined_steps(values: Sequence[Any]) -> Any:
    if isinstance(values[0], Mapping):
        return {name: joined_steps([value[name] for value in values]) for name in values[0]}
    return list(values)


def assert_equal(ours: Any, theirs: Any, path: str = "") -> None:
    """Compare values, by the dtype of arrays too; text of ours is str, theirs is bytes."""
    ours, theirs = plain(ours), plain(theirs)
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), (path, ours, theirs)
        for name in theirs:
            assert_equal(ours[name], theirs[name], f"{path}/{name}")
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), (path, ours, theirs)
        for number, (our, their) in enumerate(zip(ours, theirs, strict=True)):
            assert_equal(our, their, f"{path}[{number}]")
    elif isinstance(theirs, bytes):
        assert (ours.encode() if isinstance(ours, str) else ours) == theirs, path
    elif theirs is None:
        assert ours is None, path
    else:
        their = np.asarray(theirs)
        our = np.asarray(ours) if isinstance(ours, np.ndarray | np.generic) else np.asarray(ours, their.dtype)
        if isinstance(theirs, np.ndarray | np.generic) and not (their.size == our.size == 0):
            assert our.dtype == their.dtype, (path, our.dtype, their.dtype)
        # TFDS has no item to take unknown sizes from in an empty sequence.
        assert our.shape == their.shape or our.size == their.size == 0, (path, our.shape, their.shape)
        assert our.tobytes() == their.tobytes() or np.array_equal(our, their, equal_nan=our.dtype.kind == "f"), path
