"""``tf.random``: random values with TensorFlow's distributions; they are not TensorFlow's values."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from penstock.tf.convert import as_array, as_shape
from penstock.tf.dtypes import as_dtype, float32
from penstock.tf.fallback import attribute_of_tensorflow
from penstock.tf.operation import operation
from penstock.tf.tensor import Tensor

_shared = np.random.default_rng()
_global_seed: int | None = None
_operation_seeds = random.Random()


def set_seed(seed: int | None) -> None:
    """Start all random values anew; None: as if no seed had been set."""
    global _shared, _global_seed
    _global_seed = seed
    _shared = np.random.default_rng(seed)
    _operation_seeds.seed(seed)


def global_seed() -> int | None:
    """Answer what was given to :func:`set_seed`."""
    return _global_seed


def next_operation_seed() -> int:
    """Answer the seed that TensorFlow gives the next operation without one, behind :func:`set_seed`."""
    return _operation_seeds.randint(0, 2**31 - 1)


def generator(seed: int | None) -> np.random.Generator:
    """Answer the generator of a call: the one that all share, or one of its own, which a seed starts anew."""
    return _shared if seed is None else np.random.default_rng((_global_seed or 0, seed))


@operation("random.uniform")
def uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw values between ``minval`` and, without it, ``maxval``."""
    wanted = as_dtype(dtype)
    low = as_array(minval)
    if wanted.is_integer:
        if maxval is None:
            raise ValueError("maxval must be given for integers")
        return Tensor(np.asarray(generator(seed).integers(low, as_array(maxval), as_shape(shape), wanted.numpy)))
    width = as_array(1 if maxval is None else maxval) - low
    drawn = generator(seed).random(as_shape(shape), np.float32 if wanted == float32 else np.float64)
    return Tensor(np.asarray(drawn * width + low).astype(wanted.numpy))


@operation("random.normal")
def normal(
    shape: Any,
    mean: float = 0.0,
    stddev: float = 1.0,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw values of a normal distribution."""
    drawn = generator(seed).normal(float(mean), float(stddev), as_shape(shape))
    return Tensor(np.asarray(drawn).astype(as_dtype(dtype).numpy))


@operation("random.shuffle")
def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """Shuffle along the first dimension."""
    return Tensor(generator(seed).permutation(as_array(value), axis=0))


def __getattr__(name: str) -> Any:
    return attribute_of_tensorflow("random", name)
