"""``tf.data.Dataset``: elements in an order, made by steps; every method answers a new data set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from penstock.tf.convert import as_array
from penstock.tf.data import creation, joined, moving, saved
from penstock.tf.data.batched_rows import STACKED, Batches, Join
from penstock.tf.data.computed import Computation, how_traced, inputs_like, trace_of
from penstock.tf.data.elements import arguments_of, as_element
from penstock.tf.data.lasting import WithoutErrors
from penstock.tf.data.node import INFINITE, UNKNOWN, Node
from penstock.tf.data.options import Options
from penstock.tf.data.origins import ELEMENTS, RECORDS
from penstock.tf.data.padding import padded
from penstock.tf.data.passes import Passes
from penstock.tf.data.prefetched import Prefetched
from penstock.tf.data.ragged_rows import ragged
from penstock.tf.data.replay import Beginning, Replayed
from penstock.tf.data.shuffled import Shuffled
from penstock.tf.data.sources import Generated, Listed
from penstock.tf.dtypes import int64
from penstock.tf.errors import InvalidArgumentError
from penstock.tf.structure import leaves, map_structure
from penstock.tf.trace import Trace
from penstock.tf.tracing import INPUT, Untraceable

AUTOTUNE = -1


class Dataset(Passes):
    """Elements, which are tensors or structures of them, in an order.

    Functions that can be traced are kept back until elements are wanted, so that rows are shuffled before they are
    parsed and each batch is computed in one call. :meth:`explain` tells what is done how.
    """

    # Where elements come from.

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """Make elements of slices along the first dimension."""
        node = creation.slices(tensors)
        return Dataset(
            node, structure=inputs_like(node.spec()), story=("from_tensor_slices: rows of arrays in memory",)
        )

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """Make one element."""
        element = as_element(tensors)
        return Dataset(Listed([element]), structure=inputs_like(element), story=("from_tensors: one element",))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: tuple[Any, ...] | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Make elements of what a generator yields; each pass calls it anew."""
        if not callable(generator):
            raise TypeError("`generator` must be a Python callable.")
        signature = creation.signature_of(output_signature, output_types, output_shapes)
        arguments = tuple(np.asarray(as_array(arg)) for arg in args or ())
        node = Generated(generator, arguments, signature)
        return Dataset(
            node, structure=inputs_like(signature), story=("from_generator: elements of a Python generator",)
        )

    @staticmethod
    def range(*args: Any, output_type: Any = int64, name: str | None = None) -> Dataset:
        """Count."""
        return Dataset(creation.numbers(args, output_type), structure=INPUT, story=("range: numbers",))

    @staticmethod
    def list_files(
        file_pattern: Any, shuffle: bool | None = None, seed: int | None = None, name: str | None = None
    ) -> Dataset:
        """List the files that match patterns; in another order each time unless ``shuffle`` is False."""
        files = creation.matching_files(file_pattern)
        listed = Dataset.from_tensor_slices(files)
        return listed.shuffle(len(files), seed=seed) if shuffle in (None, True) else listed

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Put data sets side by side, as long as all last."""
        given = datasets if datasets is not None else args[0] if len(args) == 1 else args
        parts = list(leaves(given))
        if not parts or not all(isinstance(part, Dataset) for part in parts):
            raise TypeError("Dataset.zip takes data sets, or a tuple or dict of them")
        structure = None
        if all(part._structure is not None for part in parts):
            structure = map_structure(lambda part: part._structure, given)
        node = joined.Zipped(map_structure(lambda part: part._elements(), given))
        stories = tuple(line for part in parts for line in part._story)
        return Dataset(node, structure=structure, story=(*stories, "zip: elements"), options=parts[0]._options)

    # Functions of elements.

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Make another element of each."""
        called = f"map({getattr(map_func, '__name__', 'function')})"
        try:
            trace = self._trace(map_func)
        except Untraceable as reason:
            return self._called(map_func, called, str(reason))
        return Dataset(
            self._node,
            structure=inputs_like(trace.outputs),
            traces=(*self._traces, trace),
            options=self._options,
            story=(*self._story, f"{called}: {how_traced(trace)}"),
        )

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Keep the elements for which a function answers True."""
        return self._computed(joined.Filtered(self._elements(), predicate), "filter: for each element")

    def apply(self, transformation_func: Callable[[Dataset], Any], name: str | None = None) -> Any:
        """Call a function of the data set."""
        return transformation_func(self)

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """Leave out elements that cannot be had; ``log_warning`` logs what went wrong with them."""
        node = WithoutErrors(self._elements(), log=bool(log_warning))
        return self._computed(node, "ignore_errors: for each element")

    # Orders.

    def shuffle(
        self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: bool | None = None, name: str | None = None
    ) -> Dataset:
        """Draw elements from a buffer, in TensorFlow's order where there is a seed."""
        size = int(buffer_size)
        if size < 1 and size != UNKNOWN:
            raise InvalidArgumentError("buffer_size must be greater than zero or UNKNOWN_CARDINALITY")
        reshuffle = reshuffle_each_iteration is not False
        held = None if size == UNKNOWN else size
        return self._moved(Shuffled(self._node, held, seed, reshuffle=reshuffle), f"shuffle({size})")

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """Go through all elements several times, or without end."""
        times = INFINITE if count is None else int(count)
        return self._moved(moving.Repeated(self._node, times), f"repeat({'' if times < 0 else times})")

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """Keep the first elements."""
        return self._moved(moving.Taken(self._node, int(count)), f"take({int(count)})")

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """Leave the first elements out."""
        return self._moved(moving.Skipped(self._node, int(count)), f"skip({int(count)})")

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Keep every ``num_shards``-th element."""
        count, place = int(num_shards), int(index)
        if count < 1:
            raise InvalidArgumentError(f"Number of shards must be greater than zero (got num_shards = {count}).")
        if not 0 <= place < count:
            raise InvalidArgumentError(f"Index must be between 0 and {count - 1} (currently index = {place}).")
        return self._moved(moving.Shard(self._node, count, place), f"shard({count}, {place})")

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """Make batches ahead, on a thread. Elements before they are batched need none: native threads read ahead."""
        ahead = _BATCHES_AHEAD if int(buffer_size) == AUTOTUNE else int(buffer_size)
        if ahead < 0:
            raise InvalidArgumentError(f"buffer_size must be >= 0 or AUTOTUNE, found {ahead}")
        if not self._node.coarse or not ahead:
            return self._moved(self._node, "prefetch")
        node = Prefetched(self._node, ahead)
        return self._computed(node, f"prefetch: a thread makes {ahead} batches ahead")

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """Keep the elements once all have been made: in memory, or in a file, for other processes too."""
        path = creation.path_of(filename)
        if not path:
            return self._computed(moving.Cached(self._elements()), "cache: elements in memory")
        from penstock.tf.data.cache_file import CachedInFile  # what tells a stale one is imported for those who ask

        return self._computed(CachedInFile(self._elements(), path), "cache: elements in a file")

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """Go on with another data set."""
        if self._node.origin is dataset._node.origin is RECORDS and not (self._traces or dataset._traces):
            return self._moved(moving.Concatenated(self._node, dataset._node), "concatenate")
        node = moving.Concatenated(self._elements(), dataset._elements())
        structure = self._structure if self._structure == dataset._structure else None
        return self._computed(node, "concatenate: elements", structure=structure)

    # Batches.

    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Stack elements."""
        return self._batches(batch_size, STACKED, f"batch({int(batch_size)})", drop_remainder=drop_remainder)

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

    def window(
        self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """Make data sets of elements that follow each other."""
        length, step = int(size), int(stride)
        move = length if shift is None else int(shift)
        if min(length, step, move) < 1:
            raise InvalidArgumentError("size, shift and stride of a window must be greater than zero")
        make = self._listed
        node = joined.Windows(self._elements(), make, length, move, step, drop_remainder=drop_remainder)
        return self._computed(node, "window: elements", structure=None)

    # Data sets of elements.

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """Put the data sets that a function makes of elements one behind the other."""
        return self.interleave(map_func, cycle_length=1)

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Take elements in turn from data sets that a function makes of elements."""
        cycle = AUTOTUNE if cycle_length is None else int(cycle_length)
        block = 1 if block_length is None else int(block_length)
        cycle = _CYCLE if cycle == AUTOTUNE else cycle
        if cycle < 1 or block < 1:
            raise InvalidArgumentError(f"`{'cycle_length' if cycle < 1 else 'block_length'}` must be > 0")
        before = self._elements()
        called = f"interleave({getattr(map_func, '__name__', 'function')})"
        if self._gives_records(before, map_func):
            node = joined.Interleaved(before, lambda one: _inner(map_func, one)._node, cycle, block, origin=RECORDS)
            return self._computed(node, f"{called}: moves records, not yet parsed", structure=INPUT)
        node = joined.Interleaved(before, lambda one: _inner(map_func, one)._elements(), cycle, block)
        return self._computed(node, f"{called}: elements", structure=None)

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """Number the elements."""
        return Dataset.zip(Dataset.range(int(start), 2**63 - 1), self)

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """Set options, for the steps behind."""
        return Dataset(
            self._node,
            structure=self._structure,
            traces=self._traces,
            options=self._options.merge(options),
            story=self._story,
        )

    @staticmethod
    def load(
        path: Any,
        element_spec: Any = None,
        compression: str | None = None,
        reader_func: Callable[[Dataset], Dataset] | None = None,
        wait: bool = False,
    ) -> Dataset:
        """Read elements that :meth:`save` wrote, or TensorFlow's; ``reader_func`` is given a data set of shards."""
        found = saved.Saved(creation.path_of(path), element_spec, compression)
        story, structure = ("load: elements of files",), inputs_like(found.spec)
        if reader_func is not None:
            listed = [Dataset(shard, structure=structure, story=story) for shard in found.shards]
            return reader_func(Dataset(Listed(listed), story=("load: data sets of shards",)))
        node = joined.Interleaved(Listed(found.shards), lambda shard: shard, _CYCLE, 1, spec=found.spec)
        node.cardinality = found.elements
        return Dataset(node, structure=structure, story=story)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"Dataset.{name} is not part of penstock.tf", name=name, obj=self)

    # How steps are made.

    def _trace(self, function: Callable[..., Any]) -> Trace:
        reason = self._traceable()
        if reason is not None:
            raise Untraceable(reason)
        return trace_of(function, self._structure)

    def _traceable(self) -> str | None:
        """Answer why functions of elements are not traced here; None: they are."""
        if not self._options.tracing:
            return "the option tracing=False"
        if self._structure is None:
            return "elements that are not known before they are made"
        return "elements that are there already" if self._node.origin is ELEMENTS else None

    def _called(self, function: Callable[..., Any], called: str, reason: str) -> Dataset:
        """Call a function for each element; what it begins with may still be computed for many at once."""
        if self._traceable() is None and (beginning := Beginning(function, self._structure)).calls:
            computation = Computation(self._node.origin, self._traces)
            node: Node = Replayed(self._node, computation, function, beginning)
            steps = ", ".join(dict.fromkeys(f"tf.{call.name}" for call in beginning.calls))
            line = f"{called}: for each element, because of {reason}; before that, for many in one call: {steps}"
            return self._computed(node, line, structure=None)
        node = joined.Mapped(self._elements(), function)
        return self._computed(node, f"{called}: for each element, because of {reason}", structure=None)

    def _moved(self, node: Node, called: str) -> Dataset:
        what = "records, not yet parsed" if node.origin is RECORDS else "rows, not yet computed"
        what = what if self._traces else "records" if node.origin is RECORDS else "elements"
        line = f"{called}: moves {what}" if node is not self._node else f"{called}: native threads read ahead"
        return Dataset(
            node,
            structure=self._structure,
            traces=self._traces,
            options=self._options,
            story=(*self._story, line),
        )

    def _computed(self, node: Node, line: str, structure: Any = ...) -> Dataset:
        kept = self._structure if structure is ... else structure
        return Dataset(node, structure=kept, options=self._options, story=(*self._story, line))

    def _batches(self, batch_size: Any, how: Join, called: str, *, drop_remainder: bool) -> Dataset:
        size = int(batch_size)
        if size < 1:
            raise InvalidArgumentError("Batch size must be greater than zero.")
        computation = Computation(self._node.origin, self._traces)
        node = Batches(self._node, computation, size, how, drop_remainder=bool(drop_remainder))
        how_made = "each computed in one call" if self._traces else "elements stacked"
        return self._computed(node, f"{called}: {how_made}")

    def _listed(self, elements: list[Any]) -> Dataset:
        return Dataset(Listed(elements), options=self._options, story=("window: elements",))

    def _gives_records(self, before: Node, function: Callable[..., Any]) -> bool:
        """Whether the data sets that a function makes are of records as they are stored."""
        if before.spec() is None:
            return False
        try:
            made = _inner(function, before.sample())
        except StopIteration:
            return False
        return made._node.origin is RECORDS and not made._traces


# Data sets that are open at a time where it is ours to choose, so that orders are the same on all machines.
_CYCLE = 16

_BATCHES_AHEAD = 2


def _inner(function: Callable[..., Any], element: Any) -> Dataset:
    made = function(*arguments_of(element))
    if not isinstance(made, Dataset):
        raise TypeError(f"`map_func` must return a `Dataset` object. Got {type(made)}.")
    return made
