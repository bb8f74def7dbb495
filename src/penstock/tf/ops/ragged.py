"""``tf.ragged``: creating RaggedTensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.tf.ops.indexing import boolean_mask as boolean_mask
from penstock.tf.ops.ragged_rules import on_flat_values
from penstock.tf.tensorflow_fallback import attribute_of_tensorflow
from penstock.tf.tensors.convert import as_tensor
from penstock.tf.tensors.dtypes import as_dtype, int64
from penstock.tf.tensors.ragged_tensor import RaggedTensor
from penstock.tf.tensors.tensor import Tensor


def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = int64,
) -> Any:
    """Create a RaggedTensor from nested lists; all levels but the innermost are ragged."""
    depth = _depth(pylist) if ragged_rank is None else ragged_rank + 1
    lengths: list[list[int]] = []
    flat = list(pylist)
    for _ in range(depth - 1):
        lengths.append([len(row) for row in flat])
        flat = [item for row in flat for item in row]
    built: Any = as_tensor(flat, dtype)
    for rows in reversed(lengths):
        counts = Tensor(np.array(rows, as_dtype(row_splits_dtype).numpy))
        built = RaggedTensor.from_row_lengths(built, counts)
    return built


def _depth(value: Any) -> int:
    if not isinstance(value, list | tuple | np.ndarray):
        return 0
    return 1 + max(map(_depth, value), default=0)


def map_flat_values(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function on the flat values of RaggedTensors with the same rows."""
    return on_flat_values(op, *args, **kwargs)


def __getattr__(name: str) -> Any:
    return attribute_of_tensorflow("ragged", name)
