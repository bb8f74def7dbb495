"""``rebatch``, ``rejection_resample`` and ``group_by_reducer``: other batches, classes or groups of elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, cycle, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.tf.data.batch import stack_elements
from penstock.tf.data.error_recovery import resume_after_errors
from penstock.tf.data.map_filter import check_state
from penstock.tf.data.node import (
    ELEMENTS,
    Dependencies,
    Node,
    arguments_of,
    as_element,
    call_user_function,
    result_as_element,
)
from penstock.tf.data.shuffle import seed_pair
from penstock.tf.data.window_group import UnbatchNode
from penstock.tf.errors import InternalError
from penstock.tf.tensors.convert import as_array
from penstock.tf.tensors.structure import leaves, map_structure
from penstock.tf.tensors.tensor import Tensor


class RebatchNode(Node):
    """Batches of other sizes, which are repeated. A size of 0 makes empty batches."""

    row_format = ELEMENTS
    yields_batches = True

    def __init__(self, upstream: Node, sizes: list[int], *, drop_remainder: bool) -> None:
        self._upstream = upstream
        self._elements = UnbatchNode(upstream)
        self._sizes = sizes
        self._drop_remainder = drop_remainder
        self._collate = stack_elements(self._elements.ragged_components)
        self.first_dim_varies = self._batch_size() is None

    def rows(self) -> Iterator[Any]:
        rows, sizes = self._elements.rows(), cycle(self._sizes)
        first = list(islice(rows, 1)) if 0 in self._sizes else []  # for the structure of empty batches
        rows = chain(first, rows)

        def batches() -> Iterator[Any]:
            for size in sizes:
                batch = list(islice(rows, size))
                if not (batch or (first and not size)) or (self._drop_remainder and len(batch) < size):
                    return
                values = self._collate.values(ELEMENTS.batch(batch or first))
                yield values if size else map_structure(lambda leaf: leaf[:0], values)

        return resume_after_errors(batches)

    def dependencies(self) -> Dependencies:
        return Dependencies("rebatch", (self._upstream, self._sizes, self._drop_remainder))

    def spec(self) -> Any:
        known = self._elements.spec()
        return None if known is None else self._collate.spec(known, self._batch_size())

    def _batch_size(self) -> int | None:
        """Return the size of all batches, or None."""
        size = self._sizes[0]
        if any(other != size for other in self._sizes):
            return None
        firsts = [getattr(spec, "shape", [None])[0] for spec in leaves(self._upstream.spec() or ())]
        known = next((first for first in firsts if first is not None), None)
        return size if self._drop_remainder or (known is not None and known % size == 0) else None


class RejectionResampleNode(Node):
    """Pairs of class and element, of which some are skipped, so that classes have a distribution."""

    row_format = ELEMENTS

    def __init__(
        self, upstream: Node, class_of: Callable[..., Any], target: NDArray[Any], initial: Any, seed: int | None
    ) -> None:
        self._upstream = upstream
        self._class_of = class_of
        self._target = target.astype(np.float64)
        self._initial = None if initial is None else as_array(initial).astype(np.float64)
        self._seed, self._seeds = seed, seed_pair(seed)

    def rows(self) -> Iterator[Any]:
        elements = self._upstream.rows()
        generator = np.random.default_rng(self._seeds)
        seen = np.full(len(self._target), 10.0)  # without a known distribution: as if it were even at first

        def chosen() -> Iterator[Any]:
            for element in elements:
                number = as_array(call_user_function(self._class_of, *arguments_of(element), stop_error=InternalError))
                seen[int(number)] += 1
                initial = seen if self._initial is None else self._initial
                odds = np.divide(self._target, initial, out=np.zeros_like(self._target), where=initial > 0)
                if generator.random() * odds.max() < odds[int(number)]:
                    yield Tensor(number), element

        return resume_after_errors(chosen)

    def dependencies(self) -> Dependencies:
        values = (self._upstream, self._class_of, self._target.tolist(), self._initial, self._seed)
        return Dependencies("rejection_resample", values)


class Reducer:
    """How ``group_by_reducer`` reduces a group: functions of its key, a state and an element, the last state."""

    def __init__(
        self, init_func: Callable[..., Any], reduce_func: Callable[..., Any], finalize_func: Callable[..., Any]
    ) -> None:
        self.init_func, self.reduce_func, self.finalize_func = init_func, reduce_func, finalize_func


class GroupByReducerNode(Node):
    """One element for each key, in the order of keys."""

    row_format = ELEMENTS

    def __init__(self, upstream: Node, key_of: Callable[..., Any], reducer: Reducer) -> None:
        self._upstream = upstream
        self._key_of = key_of
        self._reducer = reducer

    def rows(self) -> Iterator[Any]:
        states: dict[int, Any] = {}
        for element in self._upstream.rows():
            key = as_element(call_user_function(self._key_of, *arguments_of(element), stop_error=InternalError))
            if key.dtype != "int64" or key.ndim:
                raise ValueError(f"`key_func` must return a single `tf.int64` scalar, found {key.dtype}, {key.shape}")
            number = int(key)
            if number not in states:
                states[number] = as_element(self._reducer.init_func(key))
            state = result_as_element(self._reducer.reduce_func(states[number], element))
            check_state(states[number], state)
            states[number] = state
        for number in sorted(states):
            yield result_as_element(self._reducer.finalize_func(*arguments_of(states[number])))

    def dependencies(self) -> Dependencies:
        functions = (self._reducer.init_func, self._reducer.reduce_func, self._reducer.finalize_func)
        return Dependencies("group_by_reducer", (self._upstream, self._key_of, functions))
