"""Steps that call functions for each element, and that put several datasets together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any

from penstock.tf.data.compute import spec_behind
from penstock.tf.data.error_recovery import lasting
from penstock.tf.data.node import ELEMENTS, Node, PassThroughNode, arguments_of, as_answer, call_function
from penstock.tf.errors import InternalError
from penstock.tf.tensors.convert import as_array
from penstock.tf.tensors.tensor import Tensor


class MapNode(Node):
    """What a function answers, called for each element."""

    origin = ELEMENTS

    def __init__(self, before: Node, function: Callable[..., Any]) -> None:
        self._before = before
        self._function = function
        self.cardinality = before.cardinality
        self.varying_first = before.varying_first
        self.coarse = before.coarse

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        return map(self._call, self._before.rows())

    def sample(self) -> Any:
        """Call the function once."""
        return self._call(self._before.sample())

    def spec(self) -> Any:
        """Return what a trace of the function tells, where it can be traced."""
        return spec_behind(self._function, self._before.spec())

    def _call(self, element: Any) -> Any:
        return as_answer(call_function(self._function, *arguments_of(element)))


class FilterNode(PassThroughNode):
    """The elements for which a function answers True."""

    def __init__(self, before: Node, predicate: Callable[..., Any]) -> None:
        super().__init__(before)
        self._predicate = predicate

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        return filter(lambda element: truth_of(self._predicate, element), self.before.rows())


def truth_of(predicate: Callable[..., Any], element: Any) -> bool:
    """Ask a predicate, which has to answer one bool."""
    answer = as_array(call_function(predicate, *arguments_of(element), ended=InternalError))
    if answer.dtype != bool or answer.ndim:
        raise ValueError(
            f"`predicate` must return a scalar boolean, found a tensor of {answer.dtype} and shape {answer.shape}"
        )
    return bool(answer)


class TakeWhileNode(PassThroughNode):
    """The elements up to the first for which a function answers False."""

    def __init__(self, before: Node, predicate: Callable[..., Any]) -> None:
        super().__init__(before)
        self._predicate = predicate

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        return takewhile(lambda element: truth_of(self._predicate, element), self.before.rows())


class ScanNode(Node):
    """What a function answers for each element and a state, beside the state for the next."""

    origin = ELEMENTS

    def __init__(self, before: Node, state: Any, function: Callable[..., Any]) -> None:
        self._before = before
        self._state = state
        self._function = function
        self.cardinality = before.cardinality

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        state, elements = self._state, self._before.rows()

        def answers() -> Iterator[Any]:
            nonlocal state
            for element in elements:
                answer = call_function(self._function, state, element)
                if not isinstance(answer, list | tuple) or len(answer) != 2:
                    raise TypeError(
                        "The scan function must return a pair comprising the new state and the output value."
                    )
                state = as_answer(answer[0])
                yield as_answer(answer[1])

        return lasting(answers)


class UniqueNode(PassThroughNode):
    """The elements that have not come before: scalars, or tensors, of integers or strings."""

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        seen: set[Any] = set()

        def is_new(element: Any) -> bool:
            if not isinstance(element, Tensor) or element.dtype.name not in ("int32", "int64", "string"):
                raise TypeError("unique() takes datasets of one component, of tf.int32, tf.int64 or tf.string")
            array = as_array(element)
            value = (array.shape, tuple(array.ravel().tolist()))
            new = value not in seen
            seen.add(value)
            return new

        return filter(is_new, self.before.rows())
