"""Going through a data set, and what is known of it before."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any, Self

import numpy as np

from penstock.tf.data.computed import Computation, Elements, spec_of_elements
from penstock.tf.data.creation import path_of
from penstock.tf.data.elements import as_answer, as_element, call_function
from penstock.tf.data.node import INFINITE, Node
from penstock.tf.data.options import Options
from penstock.tf.data.origins import ELEMENTS
from penstock.tf.data.saved import write_elements
from penstock.tf.errors import InvalidArgumentError, OutOfRangeError, UnimplementedError
from penstock.tf.operation import operation, recorder
from penstock.tf.random_state import Iteration, next_in, with_random_state
from penstock.tf.sparse_tensor import SparseTensor
from penstock.tf.structure import map_structure
from penstock.tf.tensor import Tensor
from penstock.tf.trace import Trace
from penstock.tf.tracing import Recording


class Passes:
    """A step, the traced functions that are still to be done to its rows, and what a user may ask of them."""

    def __init__(
        self,
        node: Node,
        *,
        structure: Any = None,
        traces: tuple[Trace, ...] = (),
        options: Options | None = None,
        story: tuple[str, ...] = (),
    ) -> None:
        self._node = node
        self._traces = traces
        # With INPUT at each leaf; None where it is not known before there are elements.
        self._structure = structure
        self._options = options or Options()
        self._story = story
        if "keras" in sys.modules:  # whoever fits a model has imported it by now
            importlib.import_module("penstock.tf.data.keras_feed").accept_datasets()

    def __iter__(self) -> ElementIterator:
        return ElementIterator(self._elements().rows(), self)

    def as_numpy_iterator(self) -> Iterator[Any]:
        """Go through elements as arrays, and scalars of NumPy."""
        return map(partial(map_structure, _as_numpy), self)  # which goes on after an error

    def get_single_element(self, name: str | None = None) -> Any:
        """Answer the one element that there is."""
        found = list(islice(self, 2))
        if len(found) != 1:
            raise InvalidArgumentError(f"Dataset {'was empty' if not found else 'had more than one element'}.")
        return found[0]

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None) -> Any:
        """Combine all elements."""
        state, reduce_func = as_element(initial_state), with_random_state(reduce_func)
        for element in self:
            state = as_answer(call_function(reduce_func, state, element, ended=OutOfRangeError))
        return state

    def save(
        self,
        path: Any,
        compression: str | None = None,
        shard_func: Callable[..., Any] | None = None,
        checkpoint_args: Any = None,
    ) -> None:
        """Write the elements to a folder, in TensorFlow's layout; ``load`` reads it, and so does TensorFlow's."""
        if checkpoint_args is not None:
            raise UnimplementedError("Dataset.save with checkpoint_args is not part of penstock.tf: save without it")
        write_elements(path_of(path), self, lambda: self.element_spec, compression, shard_func)

    def cardinality(self, name: str | None = None) -> Tensor:
        """Answer how many elements there are; -1 is without end, -2 unknown."""
        return Tensor(np.array(self._node.cardinality, np.int64))

    def __len__(self) -> int:
        known = self._node.cardinality
        if known < 0:
            raise TypeError("The dataset is infinite." if known == INFINITE else "The dataset length is unknown.")
        return known

    def __bool__(self) -> bool:
        return True

    @property
    def element_spec(self) -> Any:
        """What elements are like; behind functions that cannot be traced, what the first one is like."""
        return spec_of_elements(self._elements())

    def options(self) -> Options:
        """Answer the options."""
        return self._options

    def explain(self) -> str:
        """Tell what is done how: a line for each step."""
        return "\n".join(self._story)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {'; '.join(self._story)}>"

    def _elements(self) -> Node:
        """Answer the step that gives elements."""
        if self._node.origin is ELEMENTS and not self._traces:
            return self._node
        return Elements(self._node, Computation(self._node.origin, self._traces))


class ElementIterator(Iterator[Any]):
    """A pass over a data set. In a function that is traced, each element that the function is called for takes one."""

    def __init__(self, elements: Iterator[Any], dataset: Passes) -> None:
        self._elements = elements
        self._dataset = dataset
        self._random: Iteration = {}

    def __iter__(self) -> Self:
        listening = recorder.get()
        if isinstance(listening, Recording):
            raise listening.refuse("a loop over the iterator of a dataset")
        return self

    def __next__(self) -> Any:
        listening = recorder.get()
        if listening is None:
            return next_in(self._random, self._elements)
        if isinstance(listening, Recording):
            return _next_element(self)
        token = recorder.set(None)  # what the elements are made of is no part of the function
        try:
            return next_in(self._random, self._elements)
        finally:
            recorder.reset(token)

    def get_next(self) -> Any:
        """Return the next element; OutOfRangeError after the last."""
        return _next_element(self)

    @property
    def structure(self) -> Any:
        """The structure of elements; None where it is not known before they are made."""
        return self._dataset._structure

    @property
    def element_spec(self) -> Any:
        """What elements are like."""
        return self._dataset.element_spec


@operation("data.next_element")
def _next_element(iterator: ElementIterator) -> Any:
    try:
        return next(iterator)
    except StopIteration:
        raise OutOfRangeError("End of sequence") from None


def _as_numpy(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.numpy()
    if isinstance(value, SparseTensor):
        raise TypeError("as_numpy_iterator() has no arrays for a SparseTensor: map(tf.sparse.to_dense) makes it dense")
    raise TypeError(f"as_numpy_iterator() has no arrays for {type(value).__name__}")
