"""Steps that take elements of several data sets by choice, and of one as long as something holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from penstock.tf.convert import as_array
from penstock.tf.data.elements import as_answer, call_function
from penstock.tf.data.joined import truth_of
from penstock.tf.data.lasting import lasting
from penstock.tf.data.node import Moving, Node
from penstock.tf.data.origins import ELEMENTS
from penstock.tf.data.shuffled import seeds_of
from penstock.tf.errors import FailedPreconditionError, InvalidArgumentError
from penstock.tf.tensor import Tensor


class Chosen(Node):
    """Elements of several steps, by the numbers that another one gives; ``stop``: until a chosen step has ended."""

    origin = ELEMENTS

    def __init__(self, nodes: Sequence[Node], choices: Node, *, stop: bool) -> None:
        self._nodes = nodes
        self._choices = choices
        self._stop = stop
        self.varying_first = any(node.varying_first for node in nodes)

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        passes: list[Iterator[Any] | None] = [node.rows() for node in self._nodes]
        choices = self._choices.rows()

        def taken() -> Iterator[Any]:
            for choice in choices:
                number = int(choice)
                if not 0 <= number < len(passes):
                    raise InvalidArgumentError(
                        f"Selector index out of range: {number} should be between 0 and {len(passes) - 1}"
                    )
                rows = passes[number]
                if rows is None:
                    continue
                for row in rows:
                    yield row
                    break
                else:
                    passes[number] = None
                    if self._stop or not any(passes):
                        return

        return lasting(taken)

    def sample(self) -> Any:
        """Answer an element of the first step that has one."""
        for node in self._nodes:
            try:
                return node.sample()
            except StopIteration:
                continue
        raise StopIteration

    def spec(self) -> Any:
        """Answer what is known of all of them, where it is the same."""
        first, *others = (node.spec() for node in self._nodes)
        return first if all(other == first for other in others) else None


class Draws(Node):
    """Random numbers without end, drawn some at a time; ``again``: others in each pass."""

    origin = ELEMENTS

    def __init__(self, draw: Callable[[np.random.Generator], Any], seed: int | None, *, again: bool) -> None:
        self._draw = draw
        self._seeds = seeds_of(seed)
        self._again = again
        self._passes = 0

    def rows(self) -> Iterator[int]:
        """Start a pass."""
        self._passes += self._again
        generator = np.random.default_rng([*self._seeds, self._passes])
        while True:
            yield from self._draw(generator).tolist()


class TakenWhile(Moving):
    """The elements up to the first for which a function answers False."""

    def __init__(self, before: Node, predicate: Callable[..., Any]) -> None:
        super().__init__(before)
        self._predicate = predicate

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        return takewhile(lambda element: truth_of(self._predicate, element), self.before.rows())


class Scanned(Node):
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


class Unique(Moving):
    """The elements that have not come before: scalars, or tensors, of integers or strings."""

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        seen: set[Any] = set()

        def is_new(element: Any) -> bool:
            if not isinstance(element, Tensor) or element.dtype.name not in ("int32", "int64", "string"):
                raise TypeError("unique() takes data sets of one component, of tf.int32, tf.int64 or tf.string")
            array = as_array(element)
            value = (array.shape, tuple(array.ravel().tolist()))
            new = value not in seen
            seen.add(value)
            return new

        return filter(is_new, self.before.rows())


class OfCardinality(Moving):
    """Rows as they are, which have to be as many as was said."""

    def __init__(self, before: Node, count: int) -> None:
        super().__init__(before)
        self.cardinality = count

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        rows, given = self.before.rows(), 0

        def counted() -> Iterator[Any]:
            nonlocal given
            for row in rows:
                given += 1
                if given > self.cardinality >= 0:
                    raise FailedPreconditionError(
                        f"Input dataset was expected to contain {self.cardinality} elements but contained at least "
                        f"{given} elements."
                    )
                yield row
            if given != self.cardinality:
                wanted = "an infinite number of" if self.cardinality < 0 else self.cardinality
                raise FailedPreconditionError(
                    f"Input dataset was expected to contain {wanted} elements but contained only {given} elements."
                )

        return lasting(counted)
