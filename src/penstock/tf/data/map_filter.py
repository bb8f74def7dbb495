"""``map`` of untraced functions, ``filter``, ``take_while``, ``scan`` and ``unique``: one call for each element."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any

from penstock.tf.data.error_recovery import resume_after_errors
from penstock.tf.data.node import (
    ELEMENTS,
    Dependencies,
    Node,
    PassThroughNode,
    arguments_of,
    call_user_function,
    result_as_element,
)
from penstock.tf.data.traced_functions import map_dependencies, result_spec
from penstock.tf.errors import InternalError
from penstock.tf.tensors.convert import as_array
from penstock.tf.tensors.specs import UNKNOWN_SPEC, spec_of
from penstock.tf.tensors.structure import leaves, map_structure
from penstock.tf.tensors.tensor import Tensor


class MapNode(Node):
    """The results of a function that is called for each element."""

    row_format = ELEMENTS
    calls_python = True

    def __init__(self, upstream: Node, function: Callable[..., Any]) -> None:
        self._upstream = upstream
        self._function = function
        self.cardinality = upstream.cardinality
        self.first_dim_varies = upstream.first_dim_varies
        self.yields_batches = upstream.yields_batches

    def rows(self) -> Iterator[Any]:
        return map(self._call, self._upstream.rows())

    def row_at(self, index: int) -> Any:
        return self._call(self._upstream.row_at(index))

    def dependencies(self) -> Dependencies:
        return map_dependencies(self._upstream, self._function)

    def sample(self) -> Any:
        return self._call(self._upstream.sample())

    def spec(self) -> Any:
        return result_spec(self._function, self._upstream.spec())

    def _call(self, element: Any) -> Any:
        return result_as_element(call_user_function(self._function, *arguments_of(element)))


class FilterNode(PassThroughNode):
    """The elements for which a function returns True."""

    def __init__(self, upstream: Node, predicate: Callable[..., Any]) -> None:
        super().__init__(upstream)
        self._predicate = predicate

    def rows(self) -> Iterator[Any]:
        return filter(lambda element: _is_true(self._predicate, element), self._upstream.rows())

    def dependencies(self) -> Dependencies:
        return Dependencies("filter", (self._upstream, self._predicate))


def _is_true(predicate: Callable[..., Any], element: Any) -> bool:
    result = as_array(call_user_function(predicate, *arguments_of(element), stop_error=InternalError))
    if result.dtype != bool or result.ndim:
        raise ValueError(
            f"`predicate` must return a scalar boolean, found a tensor of {result.dtype} and shape {result.shape}"
        )
    return bool(result)


class TakeWhileNode(PassThroughNode):
    """The elements before the first for which a function returns False."""

    def __init__(self, upstream: Node, predicate: Callable[..., Any]) -> None:
        super().__init__(upstream)
        self._predicate = predicate

    def rows(self) -> Iterator[Any]:
        return takewhile(lambda element: _is_true(self._predicate, element), self._upstream.rows())

    def dependencies(self) -> Dependencies:
        return Dependencies("take_while", (self._upstream, self._predicate))


class ScanNode(Node):
    """The outputs of a function of a state and an element, which also returns the next state."""

    row_format = ELEMENTS

    def __init__(self, upstream: Node, initial_state: Any, function: Callable[..., Any]) -> None:
        self._upstream = upstream
        self._initial_state = initial_state
        self._function = function
        self.cardinality = upstream.cardinality
        state = map_structure(spec_of, initial_state)
        known = result_spec(function, None if (element := upstream.spec()) is None else (state, element))
        if known is not None:
            if not isinstance(known, tuple) or len(known) != 2:
                raise TypeError("The `scan_func` should return a pair consisting of new state and the output value.")
            check_state(state, known[0])

    def rows(self) -> Iterator[Any]:
        state, elements = self._initial_state, self._upstream.rows()

        def outputs() -> Iterator[Any]:
            nonlocal state
            for element in elements:
                result = call_user_function(self._function, state, element)
                if not isinstance(result, list | tuple) or len(result) != 2:
                    raise TypeError(
                        "The scan function must return a pair comprising the new state and the output value."
                    )
                state = result_as_element(result[0])
                yield result_as_element(result[1])

        return resume_after_errors(outputs)

    def dependencies(self) -> Dependencies:
        return Dependencies("scan", (self._upstream, self._initial_state, self._function))


def check_state(before: Any, after: Any) -> None:
    """Raise TypeError where a state, or its spec, has another structure, class or dtype than the one before."""
    if map_structure(lambda _: None, before) != map_structure(lambda _: None, after):
        raise TypeError(f"The structure of the new state must match the initial state: {before} and {after}")
    for old, new in zip(leaves(before), leaves(after), strict=True):
        if new is not UNKNOWN_SPEC and type(old) is not type(new):
            raise TypeError(f"The element classes for the new state must match the initial state: {old} and {new}")
        if new is not UNKNOWN_SPEC and getattr(old, "dtype", None) != getattr(new, "dtype", None):
            raise TypeError(f"The element types for the new state must match the initial state: {old} and {new}")


class UniqueNode(PassThroughNode):
    """The first of each distinct element: tensors of integers or strings."""

    def rows(self) -> Iterator[Any]:
        seen: set[Any] = set()

        def is_new(element: Any) -> bool:
            if not isinstance(element, Tensor) or element.dtype.name not in ("int32", "int64", "string"):
                raise TypeError("unique() takes datasets of one component, of tf.int32, tf.int64 or tf.string")
            array = as_array(element)
            value = (array.shape, tuple(array.ravel().tolist()))
            new = value not in seen
            seen.add(value)
            return new

        return filter(is_new, self._upstream.rows())

    def dependencies(self) -> Dependencies:
        return Dependencies("unique", (self._upstream,))
