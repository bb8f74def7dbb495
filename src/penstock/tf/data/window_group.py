"""``window``, ``unbatch``, ``group_by_window`` and ``bucket_by_sequence_length``."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, repeat
from typing import Any

from penstock.tf.data.batch import sizes_of
from penstock.tf.data.error_recovery import Failure, resume_after_errors, rows_or_failures
from penstock.tf.data.node import (
    ELEMENTS,
    INFINITE,
    UNKNOWN,
    Dependencies,
    Node,
    arguments_of,
    call_user_function,
    item_rows,
    ragged_components_in,
)
from penstock.tf.errors import FailedPreconditionError, InternalError, InvalidArgumentError
from penstock.tf.tensors.convert import as_array
from penstock.tf.tensors.specs import TensorSpec, without_first
from penstock.tf.tensors.structure import filled, leaves, map_structure
from penstock.tf.tensors.tensor import Tensor


class WindowNode(Node):
    """Windows of ``size`` elements; ``make_dataset`` turns the values of a component, with their spec, into a dataset.

    An element that fails fails the windows that contain it, and no others.
    """

    row_format = ELEMENTS

    def __init__(
        self,
        upstream: Node,
        make_dataset: Callable[[list[Any], Any], Any],
        size: int,
        shift: int,
        stride: int,
        *,
        drop_remainder: bool,
    ) -> None:
        self._upstream = upstream
        self._make_dataset = make_dataset
        self._size, self._shift, self._stride = size, shift, stride
        self._drop_remainder = drop_remainder

    def rows(self) -> Iterator[Any]:
        elements = rows_or_failures(self._upstream.rows())
        span = (self._size - 1) * self._stride + 1
        known = self._upstream.spec()
        specs = repeat(None) if known is None else list(leaves(known))
        buffer: deque[Any] = deque()

        def windows() -> Iterator[Any]:
            buffer.extend(islice(elements, span - len(buffer)))
            while buffer:
                window = list(islice(buffer, 0, span, self._stride))
                if len(window) < self._size and self._drop_remainder:
                    return
                failure = next((one.error for one in window if isinstance(one, Failure)), None)
                if failure is None:
                    columns = map(list, zip(*(leaves(element) for element in window), strict=True))
                    yield filled(window[0], map(self._make_dataset, columns, specs))
                for _ in range(min(self._shift, len(buffer))):
                    buffer.popleft()
                gap = self._shift - span
                if gap > 0 and not buffer:
                    next(islice(elements, gap, gap), None)
                if failure is not None:
                    raise failure
                buffer.extend(islice(elements, span - len(buffer)))

        return resume_after_errors(windows)

    def dependencies(self) -> Dependencies:
        sizes = (self._size, self._shift, self._stride, self._drop_remainder)
        return Dependencies("window", (self._upstream, *sizes))


class UnbatchNode(Node):
    """The slices of each element along its first dimension."""

    row_format = ELEMENTS

    def __init__(self, upstream: Node) -> None:
        self._upstream = upstream
        known = upstream.spec()
        self.ragged_components = ragged_components_in(self.spec())
        sizes = {spec.shape[0] for spec in leaves(known or ()) if getattr(getattr(spec, "shape", None), "rank", None)}
        if upstream.cardinality < 0 or (len(sizes) == 1 and None not in sizes):
            self.cardinality = upstream.cardinality * (sizes.pop() if upstream.cardinality > 0 else 1)

    def rows(self) -> Iterator[Any]:
        batches = self._upstream.rows()

        def slices() -> Iterator[Any]:
            for element in batches:
                parts = [item_rows(leaf) for leaf in leaves(element)]
                sizes = {len(part) for part in parts if part is not None}
                if len(sizes) != 1:
                    raise InvalidArgumentError(
                        f"Input element must have the same batch size in each component, found {sorted(sizes)}"
                    )
                for row in range(sizes.pop()):
                    yield filled(element, (_slice(part, row) for part in parts))

        return resume_after_errors(slices)

    def row_at(self, index: int) -> Any:
        if self.cardinality < 0:
            raise FailedPreconditionError("Random access after unbatch needs batches of one known size")
        size = self.cardinality // self._upstream.cardinality
        batch = self._upstream.row_at(index // size)
        return filled(batch, (_slice(item_rows(leaf), index % size) for leaf in leaves(batch)))

    def dependencies(self) -> Dependencies:
        return Dependencies("unbatch", (self._upstream,))

    def spec(self) -> Any:
        known = self._upstream.spec()
        return None if known is None else map_structure(without_first, known)


def _slice(leaf: Any, row: int) -> Any:
    if isinstance(leaf, Tensor):
        return Tensor(leaf._array[row, ...])
    return None if leaf is None else leaf[row]


class GroupByWindowNode(Node):
    """The elements of the nodes that ``reduce`` makes of windows of elements with the same key, one after another.

    ``depends_on`` is what the user passed to compute keys, sizes and reductions, for fingerprints.
    """

    row_format = ELEMENTS

    def __init__(
        self,
        upstream: Node,
        key_of: Callable[..., Any],
        reduce: Callable[[Tensor, list[Any]], Node],
        size_of: Callable[[Any], Any],
        *,
        depends_on: Any,
        spec: Any = None,
    ) -> None:
        self._upstream = upstream
        self._key_of = key_of
        self._reduce = reduce
        self._size_of = size_of
        self._depends_on = depends_on
        self._spec = spec
        self.cardinality = INFINITE if upstream.cardinality == INFINITE else UNKNOWN

    def rows(self) -> Iterator[Any]:
        elements = self._upstream.rows()
        groups: dict[int, list[Any]] = {}
        sizes: dict[int, int] = {}
        reduced: Iterator[Any] = iter(())

        def windows() -> Iterator[Any]:
            nonlocal reduced
            yield from reduced
            for element in elements:
                key = self._key(element)
                number = int(key)
                if number not in sizes:
                    sizes[number] = self._size(key)
                group = groups.setdefault(number, [])
                group.append(element)
                if len(group) == sizes[number]:
                    reduced = self._reduce(Tensor(key), groups.pop(number)).rows()
                    yield from reduced
            while groups:  # windows that are not full, in the order of keys
                number = min(groups)
                reduced = self._reduce(_key_tensor(number), groups.pop(number)).rows()
                yield from reduced

        return resume_after_errors(windows)

    def dependencies(self) -> Dependencies:
        return Dependencies("group_by_window", (self._upstream, self._depends_on))

    def spec(self) -> Any:
        return self._spec

    def sample_node(self) -> Node | None:
        try:
            element = self._upstream.sample()
        except StopIteration:
            return None
        return self._reduce(Tensor(self._key(element)), [element])

    def _key(self, element: Any) -> Any:
        return as_array(call_user_function(self._key_of, *arguments_of(element), stop_error=InternalError))

    def _size(self, key: Any) -> int:
        size = int(as_array(call_user_function(self._size_of, Tensor(key), stop_error=InternalError)))
        if size < 1:
            raise InvalidArgumentError(f"Window size must be greater than zero, but got {size}.")
        return size


def _key_tensor(number: int) -> Tensor:
    return Tensor(as_array(number, "int64"))


class Buckets:
    """The buckets of ``bucket_by_sequence_length``: one below each boundary, and one above all of them."""

    def __init__(self, boundaries: Sequence[int], batch_sizes: Sequence[int], *, pad_to_boundary: bool) -> None:
        if len(batch_sizes) != len(boundaries) + 1:
            raise ValueError(
                f"`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but `len(bucket_batch_sizes)="
                f"{len(batch_sizes)}` and `len(bucket_boundaries)={len(boundaries)}`."
            )
        self._boundaries = boundaries
        self._batch_sizes = batch_sizes
        self._pad_to_boundary = pad_to_boundary

    def bucket_of(self, length: Any) -> Tensor:
        """Return the number of the bucket for a length."""
        return _key_tensor(bisect_right(self._boundaries, int(as_array(length))))

    def batch_size(self, bucket: Any) -> int:
        """Return the batch size of a bucket."""
        return self._batch_sizes[int(bucket)]

    def padded_shapes(self, bucket: Any, shapes: Any) -> Any:
        """Return the shapes to pad to, in which the boundary replaces unknown sizes where that was requested."""
        if not self._pad_to_boundary:
            return shapes
        if int(bucket) == len(self._boundaries):
            raise InvalidArgumentError(
                "When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries)."
            )
        return _with_known_sizes(shapes, self._boundaries[int(bucket)] - 1)


def _with_known_sizes(shapes: Any, size: int) -> Any:
    if isinstance(shapes, dict):
        return {key: _with_known_sizes(item, size) for key, item in shapes.items()}
    if isinstance(shapes, tuple) and not all(part is None or isinstance(part, int) for part in shapes):
        return tuple(_with_known_sizes(item, size) for item in shapes)
    return [size if known is None else known for known in sizes_of(shapes)]


def dense_shapes(specs: Any) -> Any:
    """Return the shapes of specs of dense tensors."""

    def shape(spec: Any) -> Any:
        if not isinstance(spec, TensorSpec):
            raise TypeError(f"pad_to_bucket_boundary takes dense tensors, found {spec}")
        return spec.shape

    return map_structure(shape, specs)
