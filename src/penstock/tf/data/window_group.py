"""Steps that call functions for each element, and that put several datasets together."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any

from penstock.tf.data.batch import sizes_of
from penstock.tf.data.combine import _Failure, _outcomes
from penstock.tf.data.error_recovery import lasting
from penstock.tf.data.node import ELEMENTS, Node, arguments_of, call_function, ragged_rows_in
from penstock.tf.errors import InternalError, InvalidArgumentError
from penstock.tf.tensors.convert import as_array
from penstock.tf.tensors.specs import TensorSpec, without_first
from penstock.tf.tensors.structure import filled, leaves, map_structure
from penstock.tf.tensors.tensor import Tensor

if TYPE_CHECKING:
    from penstock.tf.data.dataset import Dataset


class WindowNode(Node):
    """Windows of elements: datasets of ``size`` elements each."""

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


class UnbatchNode(Node):
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
        """Return the specs of the batches without their first dimension."""
        known = self._before.spec()
        return None if known is None else map_structure(without_first, known)


def _slice(leaf: Any, row: int) -> Any:
    return Tensor(leaf._array[row, ...]) if isinstance(leaf, Tensor) else leaf[row]


class GroupByWindowNode(Node):
    """What a function makes of windows of elements of one key: a dataset for each, one behind the other."""

    origin = ELEMENTS

    def __init__(
        self,
        before: Node,
        key_of: Callable[..., Any],
        reduce: Callable[[Tensor, list[Any]], Node],
        size_of: Callable[[Any], Any],
        spec: Any = None,
    ) -> None:
        self._before = before
        self._spec = spec
        self._key_of = key_of
        self._reduce = reduce
        self._size_of = size_of

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        elements = self._before.rows()
        groups: dict[int, list[Any]] = {}
        sizes: dict[int, int] = {}
        ready: Iterator[Any] = iter(())

        def windows() -> Iterator[Any]:
            nonlocal ready
            yield from ready
            for element in elements:
                key = self._key(element)
                number = int(key)
                if number not in sizes:
                    sizes[number] = self._size(key)
                group = groups.setdefault(number, [])
                group.append(element)
                if len(group) == sizes[number]:
                    ready = self._reduce(Tensor(key), groups.pop(number)).rows()
                    yield from ready
            while groups:  # what is left, by key
                number = min(groups)
                ready = self._reduce(_key(number), groups.pop(number)).rows()
                yield from ready

        return lasting(windows)

    def spec(self) -> Any:
        """Return what is known of all that the function makes, where that was said."""
        return self._spec

    def sample_of_steps(self) -> Node | None:
        """Return what the function makes of a window of one element."""
        try:
            element = self._before.sample()
        except StopIteration:
            return None
        return self._reduce(Tensor(self._key(element)), [element])

    def _key(self, element: Any) -> Any:
        return as_array(call_function(self._key_of, *arguments_of(element), ended=InternalError))

    def _size(self, key: Any) -> int:
        size = int(as_array(call_function(self._size_of, Tensor(key), ended=InternalError)))
        if size < 1:
            raise InvalidArgumentError(f"Window size must be greater than zero, but got {size}.")
        return size


def _key(number: int) -> Tensor:
    return Tensor(as_array(number, "int64"))


class Buckets:
    """Lengths up to each of the boundaries, and above all of them."""

    def __init__(self, boundaries: Sequence[int], batch_sizes: Sequence[int], *, to_boundary: bool) -> None:
        if len(batch_sizes) != len(boundaries) + 1:
            raise ValueError(
                f"`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but `len(bucket_batch_sizes)="
                f"{len(batch_sizes)}` and `len(bucket_boundaries)={len(boundaries)}`."
            )
        self._boundaries = boundaries
        self._batch_sizes = batch_sizes
        self._to_boundary = to_boundary

    def of_length(self, length: Any) -> Tensor:
        """Return the number of the bucket for a length."""
        return _key(bisect_right(self._boundaries, int(as_array(length))))

    def batch_size(self, bucket: Any) -> int:
        """Return how many elements a batch of a bucket has."""
        return self._batch_sizes[int(bucket)]

    def padded_shapes(self, bucket: Any, shapes: Any) -> Any:
        """Return the shapes to pad to: sizes that are not known are those of the boundary, where that is wanted."""
        if not self._to_boundary:
            return shapes
        if int(bucket) == len(self._boundaries):
            raise InvalidArgumentError(
                "When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries)."
            )
        size = self._boundaries[int(bucket)] - 1
        return _filled(shapes, size)


def _filled(shapes: Any, size: int) -> Any:
    if isinstance(shapes, dict):
        return {key: _filled(item, size) for key, item in shapes.items()}
    if isinstance(shapes, tuple) and not all(part is None or isinstance(part, int) for part in shapes):
        return tuple(_filled(item, size) for item in shapes)
    return [size if known is None else known for known in sizes_of(shapes)]


def shapes_of(specs: Any) -> Any:
    """Return the shapes of specs of dense tensors."""

    def shape(spec: Any) -> Any:
        if not isinstance(spec, TensorSpec):
            raise TypeError(f"padding to boundaries takes dense tensors, found {spec}")
        return spec.shape

    return map_structure(shape, specs)


def windows_of(make: Callable[[list[Any]], Dataset], reduce: Callable[..., Any]) -> Callable[[Tensor, list[Any]], Node]:
    """Return what makes a step of a window: the dataset that a function makes of a key and the window's own."""

    def reduced(key: Tensor, elements: list[Any]) -> Node:
        made = call_function(reduce, key, make(elements), ended=InternalError)
        if not hasattr(made, "_elements"):
            raise TypeError(f"`reduce_func` must return a `Dataset` object. Got {type(made)}.")
        node: Node = made._elements()
        return node

    return reduced
