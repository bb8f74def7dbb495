"""``tf.random``: random values; with a seed, the same as TensorFlow's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.tf.errors import InvalidArgumentError
from penstock.tf.ops.batch_and_spec_rules import sizes_of_argument, spec_of_first
from penstock.tf.ops.random_state import set_seed as set_seed
from penstock.tf.ops.random_state import stream_of
from penstock.tf.registry import operation
from penstock.tf.tensorflow_fallback import attribute_of_tensorflow
from penstock.tf.tensors.convert import as_array, as_shape, new_shape
from penstock.tf.tensors.dtypes import DType, as_dtype, float32, of_numpy
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tensors.tensor import Tensor

# The bits of the mantissa of each dtype: random bits there are a float between 1 and 2.
_MANTISSAS = {"float16": 10, "bfloat16": 7, "float32": 23}
# TensorFlow reserves this many blocks per value, whatever the value needs.
_BLOCKS_PER_VALUE = 256
_SMALLEST = 1e-7


def _spec_of_draws(operation: Any, shape: Any, *args: Any, dtype: Any = float32, **options: Any) -> Any:
    return TensorSpec(sizes_of_argument(shape), args[2] if len(args) > 2 else dtype)


@operation("random.uniform", spec=_spec_of_draws, effects="random")
def uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw values from ``minval`` up to, but not including, ``maxval``."""
    return Tensor(draw_uniform(as_shape(shape), minval, maxval, as_dtype(dtype), seed))


def draw_uniform(shape: tuple[int, ...], minval: Any, maxval: Any, dtype: DType, seed: int | None) -> NDArray[Any]:
    """Draw values between two bounds; without an upper bound, floats are below 1."""
    if dtype.name not in (*_MANTISSAS, "float64", "int32", "int64"):
        raise ValueError(f"tf.random.uniform draws floats, int32 and int64, not {dtype.name}")
    if maxval is None and dtype.is_integer:
        raise ValueError(f"Must specify maxval for integer dtype {dtype.name}")
    low, high = as_array(minval, dtype), as_array(1 if maxval is None else maxval, dtype)
    if not dtype.is_integer:
        words = _words("RandomUniform", shape, dtype, seed)
        return np.asarray(_as_floats(words, dtype).reshape(shape) * (high - low) + low)
    if low.ndim or high.ndim:
        raise InvalidArgumentError(f"minval and maxval must be 0-D, got shapes {low.shape} and {high.shape}")
    words = _words("RandomUniformInt", shape, dtype, seed)
    if not words.size:
        return np.zeros(shape, dtype.numpy)
    if low >= high:
        raise InvalidArgumentError(f"Need minval < maxval, got {low} >= {high}")
    drawn = words % np.uint64(int(high) - int(low))
    # Unsigned integers wrap around to the correct value.
    return (drawn + np.uint64(int(low) % (1 << 64))).astype(dtype.numpy).reshape(shape)


@operation("random.normal", spec=_spec_of_draws, effects="random")
def normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw values from a normal distribution."""
    sizes, wanted = as_shape(shape), as_dtype(dtype)
    if wanted.name not in (*_MANTISSAS, "float64"):
        raise ValueError(f"tf.random.normal draws floats, not {wanted.name}")
    center, width = as_array(mean, wanted), as_array(stddev, wanted)
    # Two words make two values; narrow dtypes are computed in float32.
    computed = wanted if wanted.name == "float64" else float32
    count = math.prod(sizes)
    drawn = _as_floats(_words("RandomStandardNormal", sizes, wanted, seed, group=2), computed)
    kind = computed.numpy.type
    first, second = np.maximum(drawn[::2], kind(_SMALLEST)), kind(2 * math.pi) * drawn[1::2]
    radius = np.sqrt(kind(-2) * np.log(first))
    pairs = np.stack([np.sin(second) * radius, np.cos(second) * radius], 1).ravel()[:count]
    return Tensor(np.asarray(pairs.astype(wanted.numpy).reshape(sizes) * width + center))


@operation("random.shuffle", spec=spec_of_first, effects="random")
def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """Shuffle along the first dimension."""
    array = as_array(value)
    stream = stream_of(f"RandomShuffle {of_numpy(array.dtype).name}", seed)  # also counts calls that draw nothing
    if array.size <= 1 or len(array) <= 1:
        return Tensor(array)
    count = len(array)
    needed = (count - 1 + 3) // 4
    words = stream.blocks(needed, needed).ravel().tolist()
    order = list(range(count))
    for place, word in zip(range(count - 1), words, strict=False):
        other = place + word % (count - place)
        order[place], order[other] = order[other], order[place]
    return Tensor(array[order])


def _words(
    kernel: str, shape: tuple[int, ...], dtype: DType, seed: int | None, *, group: int = 1
) -> NDArray[np.uint64]:
    """Draw one word per value, of 32 or 64 bits depending on the dtype, rounded up to a multiple of ``group``."""
    count = math.prod(new_shape(shape, np.dtype(np.uint64)))
    stream = stream_of(f"{kernel} {dtype.name}", seed)
    if not count:
        return np.empty(0, np.uint64)
    large = dtype.numpy.itemsize == 8
    needed = (count + 1) // 2 if large else (count + 3) // 4
    words = stream.blocks(needed, count * _BLOCKS_PER_VALUE)
    if large:
        words = words[:, ::2] | words[:, 1::2] << np.uint64(32)
    return words.ravel()[: -(-count // group) * group]


def _as_floats(words: NDArray[np.uint64], dtype: DType) -> NDArray[Any]:
    """Convert random bits to floats from 0 up to, but not including, 1."""
    if dtype.name == "float64":  # the first word is the upper half
        bits = (words & np.uint64(0xFFFFF)) << np.uint64(32) | words >> np.uint64(32) | np.uint64(1023 << 52)
        return bits.view(np.float64) - 1.0
    mantissa = _MANTISSAS[dtype.name]
    scale = np.float32(2.0**-mantissa)
    return ((words & np.uint64((1 << mantissa) - 1)).astype(np.float32) * scale).astype(dtype.numpy)


def __getattr__(name: str) -> Any:
    return attribute_of_tensorflow("random", name)
