"""Dense columns, and the values of ragged ones, in torch and JAX: the same memory."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from penstock.columns import Ragged

SHARED = ["int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32"]


def aligned(values: np.ndarray) -> np.ndarray:
    """Copy to an address that is a multiple of 64, as the decoder allocates: JAX copies what is not."""
    memory = np.empty(values.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    array = memory[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    array[...] = values
    return array


@pytest.mark.parametrize("dtype", [*SHARED, "int64", "uint64", "float64", "bool"])
def test_torch_uses_the_same_memory(dtype: str) -> None:
    column = np.arange(24).astype(dtype).reshape(4, 2, 3)
    for tensor in (torch.from_dlpack(column), torch.from_numpy(column)):
        assert tensor.data_ptr() == column.ctypes.data
        assert tensor.tolist() == column.tolist()


@pytest.mark.parametrize("dtype", SHARED)
def test_jax_uses_the_same_memory(dtype: str) -> None:
    column = aligned(np.arange(24).astype(dtype).reshape(4, 2, 3))
    array = jax.dlpack.from_dlpack(column)
    assert array.unsafe_buffer_pointer() == column.ctypes.data
    assert array.dtype == column.dtype
    assert array.tolist() == column.tolist()


def test_ragged_values_are_the_same_memory() -> None:
    column = Ragged(aligned(np.arange(6, dtype=np.float32)), [0, 2, 2, 6])
    assert torch.from_numpy(column.values).data_ptr() == column.values.ctypes.data
    assert jnp.from_dlpack(column.values).unsafe_buffer_pointer() == column.values.ctypes.data
    rows = torch.nested.nested_tensor_from_jagged(
        torch.from_dlpack(column.values), torch.from_numpy(column.offsets.copy())
    )
    assert [row.tolist() for row in rows.unbind()] == column.to_list()


def test_a_tensor_outlives_the_column() -> None:
    tensor = torch.from_dlpack(Ragged(np.arange(1000), [0, 1000])[0])
    array = jax.dlpack.from_dlpack(aligned(np.arange(1000, dtype=np.int32)))
    assert tensor.sum().item() == 499500
    assert int(array.sum()) == 499500
