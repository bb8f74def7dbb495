"""Methods of data sets that make one element of many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock.tf.data import joined
from penstock.tf.data.batched_rows import STACKED, Batches, Join, stacking
from penstock.tf.data.computed import Computation
from penstock.tf.data.grouped import Buckets, Grouped, shapes_of, windows_of
from penstock.tf.data.padding import padded
from penstock.tf.data.planned import Planned
from penstock.tf.data.ragged_rows import ragged
from penstock.tf.data.sources import Listed
from penstock.tf.dtypes import int64
from penstock.tf.errors import InvalidArgumentError
from penstock.tf.random_state import with_random_state
from penstock.tf.specs import UNKNOWN
from penstock.tf.structure import leaves

if TYPE_CHECKING:
    from penstock.tf.data.dataset import Dataset


class Batching(Planned):
    """Elements together."""

    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Stack elements."""
        how = stacking(frozenset() if self._traces else self._node.ragged_rows)
        return self._batches(batch_size, how, f"batch({int(batch_size)})", drop_remainder=drop_remainder)

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Stack elements of different sizes, padded to one."""
        called = f"padded_batch({int(batch_size)})"
        return self._batches(batch_size, padded(padded_shapes, padding_values), called, drop_remainder=drop_remainder)

    def ragged_batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        row_splits_dtype: Any = int64,
        name: str | None = None,
    ) -> Dataset:
        """Stack elements; what has sizes that are not known beforehand becomes ragged."""
        how = ragged(self._elements().spec(), row_splits_dtype)
        return self._batches(batch_size, how, f"ragged_batch({int(batch_size)})", drop_remainder=drop_remainder)

    def unbatch(self, name: str | None = None) -> Dataset:
        """Split batches into their elements."""
        return self._computed(joined.Unbatched(self._elements()), "unbatch: elements")

    def rebatch(self, batch_size: Any, drop_remainder: bool = False, name: str | None = None) -> Dataset:
        """Make batches of another size."""
        return self.unbatch().batch(batch_size, drop_remainder=drop_remainder)

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: Any = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Collect elements of one key, and put what a function makes of each window of them one behind the other."""
        if (window_size is None) == (window_size_func is None):
            raise ValueError("Must pass either `window_size` or `window_size_func`.")
        return self._grouped(key_func, reduce_func, window_size_func or (lambda key: window_size), None)

    def _grouped(
        self,
        key_of: Callable[..., Any],
        reduce: Callable[..., Any],
        size_of: Callable[..., Any],
        join: Join | None,
    ) -> Dataset:
        """Group by windows; ``join`` tells the specs of what becomes of them, where it is what makes batches of all."""
        before = self._elements()
        known = before.spec()
        spec = None if join is None or known is None else join.spec(known, None)
        make = windows_of(lambda elements: self._listed(elements, known), with_random_state(reduce))
        node = Grouped(before, with_random_state(key_of), make, size_of, None if UNKNOWN in leaves(spec) else spec)
        return self._computed(node, "group_by_window: elements", structure=None)

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Make padded batches of elements of similar lengths."""
        buckets = Buckets(bucket_boundaries, bucket_batch_sizes, to_boundary=pad_to_bucket_boundary)
        shapes = padded_shapes
        if pad_to_bucket_boundary and shapes is None:
            shapes = shapes_of(self.element_spec)

        def batch(bucket: Any, window: Dataset) -> Dataset:
            size = buckets.batch_size(bucket)
            if no_padding:
                return window.batch(size, drop_remainder=drop_remainder)
            sizes = buckets.padded_shapes(bucket, shapes)
            return window.padded_batch(size, sizes, padding_values, drop_remainder=drop_remainder)

        def bucket_of(*element: Any) -> Any:
            return buckets.of_length(element_length_func(*element))

        join = STACKED if no_padding else padded(shapes, padding_values)
        return self._grouped(bucket_of, batch, buckets.batch_size, join)

    def window(
        self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """Make data sets of elements that follow each other."""
        length, step = int(size), int(stride)
        move = length if shift is None else int(shift)
        if min(length, step, move) < 1:
            raise InvalidArgumentError("size, shift and stride of a window must be greater than zero")
        node = joined.Windows(self._elements(), self._listed, length, move, step, drop_remainder=drop_remainder)
        return self._computed(node, "window: elements", structure=None)

    def _batches(self, batch_size: Any, how: Join, called: str, *, drop_remainder: bool) -> Dataset:
        size = int(batch_size)
        if size < 1:
            raise InvalidArgumentError("Batch size must be greater than zero.")
        computation = Computation(self._node.origin, self._traces)
        node = Batches(self._node, computation, size, how, drop_remainder=bool(drop_remainder))
        how_made = "each computed in one call" if self._waiting() else "elements stacked"
        return self._computed(node, f"{called}: {how_made}")

    def _listed(self, elements: list[Any], spec: Any) -> Dataset:
        return self._made(Listed(elements, None if spec is UNKNOWN else spec), "window: elements", None)
