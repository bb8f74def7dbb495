"""Seeds and generator state of random operations, with TensorFlow's rules.

In TensorFlow a random operation owns a generator that advances from call to call. Eager calls of an operation with the
same seed share one until ``tf.random.set_seed``. In a function of a dataset every operation has its own: each iterator
restarts it, ``repeat`` continues it.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.tf.ops.philox import blocks

Seeds: TypeAlias = tuple[int, int]
# TensorFlow's seed of graphs for which none was set.
_DEFAULT_SEED = 87654321
_LARGEST = 2**31 - 1
_global_seed: int | None = None
_following_seeds = random.Random()


class Stream:
    """The random words of one operation. Without seeds they differ from run to run."""

    def __init__(self, seeds: Seeds | None) -> None:
        self._seeds = seeds
        self._counter = 0
        self._lock = threading.Lock()

    def blocks(self, count: int, reserved: int) -> NDArray[np.uint64]:
        """Draw blocks of four 32-bit words; the next call begins ``reserved`` blocks later."""
        if self._seeds is None:
            return _unseeded.integers(1 << 32, size=(count, 4), dtype=np.uint64)
        with self._lock:
            start = self._counter
            self._counter += reserved
        return blocks(*self._seeds, start, count)


_Streams: TypeAlias = dict[Any, Stream]
_unseeded = np.random.default_rng()
_eager: _Streams = {}


def set_seed(seed: int | None) -> None:
    """Set the global seed and restart all generators; None removes the seed."""
    global _global_seed
    _global_seed = seed
    _following_seeds.seed(seed)
    _eager.clear()


def operation_seeds(seed: int | None) -> Seeds | None:
    """Return the two seeds of an operation that is called now; None if it is not seeded."""
    return _seeds_of(_global_seed, seed, lambda: _following_seeds.randint(0, _LARGEST))


def stream_of(kernel: str, seed: int | None) -> Stream:
    """Return the generator of an operation, in the state after its calls so far."""
    call = _call.get()
    if call is not None:
        return call.stream_of(kernel, seed)
    seeds = operation_seeds(seed)
    if seed is None:
        return Stream(seeds)
    return _eager.setdefault((kernel, seeds), Stream(seeds))


class FunctionState:
    """The state of the random operations of one function of a dataset, per iteration."""

    def __init__(self) -> None:
        # Both are read when the function is passed to the dataset. A function that another function creates for each
        # of its elements continues the state of the previous one.
        self.global_seed = _global_seed
        maker = _call.get()
        self.key: Any = self if maker is None else maker.key_of_inner()
        self._streams: _Streams = {}

    def call(self) -> _Call:
        """Return a context that provides random operations with their state while the function runs for one element."""
        iteration = _iteration.get()
        return _Call(self, self._streams if iteration is None else iteration.setdefault(self.key, {}))


class _Call:
    """One call of a function; numbers its operations in order, to distinguish them."""

    def __init__(self, function: FunctionState, streams: _Streams) -> None:
        self._function = function
        self._streams = streams
        self._counts: dict[Any, int] = {}

    def __enter__(self) -> None:
        self._token = _call.set(self)

    def __exit__(self, *raised: object) -> None:
        _call.reset(self._token)

    def stream_of(self, kernel: str, seed: int | None) -> Stream:
        seeds = _seeds_of(self._function.global_seed, seed, lambda: self._next("without a seed"))
        key = kernel, seeds, self._next((kernel, seeds))
        found = self._streams.get(key)
        if found is None:
            found = self._streams[key] = Stream(seeds)
        return found

    def key_of_inner(self) -> Any:
        return self._function.key, self._next("functions")

    def _next(self, what: Any) -> int:
        count = self._counts.get(what, 0)
        self._counts[what] = count + 1
        return count


Iteration: TypeAlias = dict[Any, _Streams]
"""The state of all random operations in one iteration, by the keys of their functions."""
_iteration: ContextVar[Iteration | None] = ContextVar("iteration", default=None)
_call: ContextVar[_Call | None] = ContextVar("call", default=None)


def next_in(iteration: Iteration, elements: Iterator[Any]) -> Any:
    """Return the next element; functions that run for it use the state of this iteration."""
    token = _iteration.set(iteration)
    try:
        return next(elements)
    finally:
        _iteration.reset(token)


def with_random_state(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose random operations advance from element to element."""
    state = FunctionState()

    def call(*args: Any, **kwargs: Any) -> Any:
        with state.call():
            return function(*args, **kwargs)

    call.__name__ = getattr(function, "__name__", "function")
    return call


def _seeds_of(overall: int | None, seed: int | None, following: Callable[[], int]) -> Seeds | None:
    if overall is None and seed is None:
        return None
    own = following() if seed is None else int(seed)
    pair = _DEFAULT_SEED if overall is None else overall % _LARGEST, own % _LARGEST
    return (0, _LARGEST) if pair == (0, 0) else pair
