"""Steps that call functions for each element, and that put several data sets together."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.tf.convert import as_array
from penstock.tf.data.computed import spec_behind
from penstock.tf.data.elements import arguments_of, as_answer, call_function
from penstock.tf.data.lasting import lasting
from penstock.tf.data.node import INFINITE, UNKNOWN, Moving, Node, ragged_rows_in
from penstock.tf.data.origins import ELEMENTS, Origin
from penstock.tf.errors import InternalError
from penstock.tf.specs import without_first
from penstock.tf.structure import filled, leaves, map_structure
from penstock.tf.tensor import Tensor

if TYPE_CHECKING:
    from penstock.tf.data.dataset import Dataset


class Mapped(Node):
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
        """Answer what a trace of the function tells, where it can be traced."""
        return spec_behind(self._function, self._before.spec())

    def _call(self, element: Any) -> Any:
        return as_answer(call_function(self._function, *arguments_of(element)))


class Filtered(Moving):
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


class Zipped(Node):
    """The elements of several steps side by side, as long as all last."""

    origin = ELEMENTS

    def __init__(self, nodes: Any) -> None:
        self._nodes = nodes
        parts = [node.cardinality for node in leaves(nodes)]
        finite = [part for part in parts if part != INFINITE]
        self.cardinality = UNKNOWN if UNKNOWN in finite else min(finite, default=INFINITE)
        self.varying_first = any(node.varying_first for node in leaves(nodes))
        if any(node.ragged_rows for node in leaves(nodes)):
            self.ragged_rows = ragged_rows_in(self.spec())

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        passes = [node.rows() for node in leaves(self._nodes)]

        def side_by_side() -> Iterator[Any]:
            while True:
                values: list[Any] = []
                failure: Exception | None = None
                for place, rows in enumerate(passes):
                    try:
                        values.append(next(rows))
                    except StopIteration:
                        for other in passes[place + 1 :]:  # as in TensorFlow: caches in them are complete by this
                            with suppress(Exception):
                                next(other, None)
                        return
                    except Exception as error:  # the others move on, too, to stay beside it
                        failure = failure or error
                if failure is not None:
                    raise failure
                yield filled(self._nodes, values)

        return lasting(side_by_side)

    def sample(self) -> Any:
        """Answer an element of each."""
        return map_structure(lambda node: node.sample(), self._nodes)

    def spec(self) -> Any:
        """Answer what is known of all of them, if it is."""
        known = [node.spec() for node in leaves(self._nodes)]
        return None if None in known else filled(self._nodes, known)


class Interleaved(Node):
    """The rows of data sets that a function makes of elements: of ``cycle`` ones in turn, ``block`` at a time."""

    def __init__(
        self,
        before: Node,
        make: Callable[[Any], Node],
        cycle: int,
        block: int,
        *,
        origin: Origin = ELEMENTS,
        spec: Any = None,
    ) -> None:
        self._before = before
        self._make = make
        self._cycle = cycle
        self._block = block
        self._spec = spec
        self.origin = origin

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        inputs = self._before.rows()
        slots: list[Iterator[Any] | None] = [None] * self._cycle
        more, open_slots, at, taken = True, 0, 0, 0

        def in_turn() -> Iterator[Any]:
            nonlocal more, open_slots, at, taken
            while more or open_slots:
                rows = slots[at]
                if rows is None and more:
                    try:
                        rows = slots[at] = self._make(next(inputs)).rows()
                        open_slots += 1
                    except StopIteration:
                        more = False
                if rows is not None:
                    for row in islice(rows, self._block - taken):
                        taken += 1
                        yield row
                    if taken < self._block:  # its slot is empty now, and filled when its turn comes again
                        slots[at] = None
                        open_slots -= 1
                at, taken = (at + 1) % self._cycle, 0

        return lasting(in_turn)

    def sample_of_steps(self) -> Node | None:
        """Answer the first data set."""
        try:
            return self._make(self._before.sample())
        except StopIteration:
            return None

    def sample(self) -> Any:
        """Answer a row of the first data set; or, where that is empty, of all of them."""
        try:
            return self._make(self._before.sample()).sample()
        except StopIteration:
            return next(self.rows())

    def spec(self) -> Any:
        """Answer what was said of the elements of all."""
        return self._spec


class Windows(Node):
    """Windows of elements: data sets of ``size`` elements each."""

    origin = ELEMENTS

    def __init__(
        self,
        before: Node,
        make: Callable[[list[Any], Any], Dataset],
        size: int,
        shift: int,
        stride: int,
        *,
        drop_remainder: bool,
    ) -> None:
        self._before = before
        self._make = make
        self._size, self._shift, self._stride = size, shift, stride
        self._drop = drop_remainder

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        elements = _outcomes(self._before.rows())
        span = (self._size - 1) * self._stride + 1
        known = self._before.spec()
        specs = repeat(None) if known is None else list(leaves(known))
        held: deque[Any] = deque()

        def windows() -> Iterator[Any]:
            held.extend(islice(elements, span - len(held)))
            while held:
                window = list(islice(held, 0, span, self._stride))
                if len(window) < self._size and self._drop:
                    return
                failure = next((one.error for one in window if isinstance(one, _Failure)), None)
                if failure is None:
                    columns = map(list, zip(*(leaves(element) for element in window), strict=True))
                    yield filled(window[0], map(self._make, columns, specs))
                for _ in range(min(self._shift, len(held))):
                    held.popleft()
                passed_over = self._shift - span
                if passed_over > 0 and not held:
                    next(islice(elements, passed_over, passed_over), None)
                if failure is not None:
                    raise failure
                held.extend(islice(elements, span - len(held)))

        return lasting(windows)


class _Failure(NamedTuple):
    """Stands in the place of an element that cannot be had: windows that it is in fail, and no others."""

    error: Exception


def _outcomes(rows: Iterator[Any]) -> Iterator[Any]:
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except Exception as error:
            row = _Failure(error)
        yield row


class Unbatched(Node):
    """The slices of each element along its first dimension."""

    origin = ELEMENTS

    def __init__(self, before: Node) -> None:
        self._before = before
        self.ragged_rows = ragged_rows_in(self.spec())

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        batches = self._before.rows()

        def slices() -> Iterator[Any]:
            for element in batches:
                sizes = {len(leaf) for leaf in leaves(element)}
                if len(sizes) != 1:
                    raise ValueError(f"the first dimensions of a batch differ: {sorted(sizes)}")
                for row in range(sizes.pop()):
                    yield filled(element, (_slice(leaf, row) for leaf in leaves(element)))

        return lasting(slices)

    def spec(self) -> Any:
        """Answer the specs of the batches without their first dimension."""
        known = self._before.spec()
        return None if known is None else map_structure(without_first, known)


def _slice(leaf: Any, row: int) -> Any:
    return Tensor(leaf._array[row, ...]) if isinstance(leaf, Tensor) else leaf[row]
