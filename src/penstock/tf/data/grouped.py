"""``group_by_window``: elements of one key together; and buckets of similar lengths."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from penstock.tf.convert import as_array
from penstock.tf.data.elements import arguments_of, call_function
from penstock.tf.data.lasting import lasting
from penstock.tf.data.node import Node
from penstock.tf.data.origins import ELEMENTS
from penstock.tf.data.padding import sizes_of
from penstock.tf.errors import InternalError, InvalidArgumentError
from penstock.tf.specs import TensorSpec
from penstock.tf.structure import map_structure
from penstock.tf.tensor import Tensor

if TYPE_CHECKING:
    from penstock.tf.data.dataset import Dataset


class Grouped(Node):
    """What a function makes of windows of elements of one key: a data set for each, one behind the other."""

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
        """Answer what is known of all that the function makes, where that was said."""
        return self._spec

    def sample_of_steps(self) -> Node | None:
        """Answer what the function makes of a window of one element."""
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
        """Answer the number of the bucket for a length."""
        return _key(bisect_right(self._boundaries, int(as_array(length))))

    def batch_size(self, bucket: Any) -> int:
        """Answer how many elements a batch of a bucket has."""
        return self._batch_sizes[int(bucket)]

    def padded_shapes(self, bucket: Any, shapes: Any) -> Any:
        """Answer the shapes to pad to: sizes that are not known are those of the boundary, where that is wanted."""
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
    """Answer the shapes of specs of dense tensors."""

    def shape(spec: Any) -> Any:
        if not isinstance(spec, TensorSpec):
            raise TypeError(f"padding to boundaries takes dense tensors, found {spec}")
        return spec.shape

    return map_structure(shape, specs)


def windows_of(make: Callable[[list[Any]], Dataset], reduce: Callable[..., Any]) -> Callable[[Tensor, list[Any]], Node]:
    """Answer what makes a step of a window: the data set that a function makes of a key and the window's own."""

    def reduced(key: Tensor, elements: list[Any]) -> Node:
        made = call_function(reduce, key, make(elements), ended=InternalError)
        if not hasattr(made, "_elements"):
            raise TypeError(f"`reduce_func` must return a `Dataset` object. Got {type(made)}.")
        node: Node = made._elements()
        return node

    return reduced
