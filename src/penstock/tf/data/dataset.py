"""Going through a dataset, and what is known of it before."""

from __future__ import annotations

import importlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from types import SimpleNamespace
from typing import Any, NoReturn, Self

import numpy as np

from penstock.tf.data.batch import STACKED, BatchNode, Join, padded, ragged, stacking
from penstock.tf.data.cache import CacheNode
from penstock.tf.data.combine import ChooseNode, InterleaveNode, SampleNode, ZipNode
from penstock.tf.data.compute import Computation, ComputeNode, how_traced, inputs_like, spec_of_elements, trace_of
from penstock.tf.data.error_recovery import IgnoreErrorsNode
from penstock.tf.data.map_filter import FilterNode, MapNode, ScanNode, TakeWhileNode, UniqueNode
from penstock.tf.data.node import (
    AUTOTUNE,
    ELEMENTS,
    INFINITE,
    RECORDS,
    UNKNOWN,
    Node,
    arguments_of,
    as_answer,
    as_element,
    call_function,
)
from penstock.tf.data.ordered_effects import OrderedEffectsNode, traced_in_order
from penstock.tf.data.partial_trace import Beginning, PartialTraceNode
from penstock.tf.data.prefetch import PrefetchNode
from penstock.tf.data.save_load import Saved, write_elements
from penstock.tf.data.shuffle import ShuffleNode
from penstock.tf.data.sources import GeneratorNode, ListNode, matching_files, numbers, path_of, signature_of, slices
from penstock.tf.data.take_skip_repeat import ConcatenateNode, RepeatNode, ShardNode, SkipNode, TakeNode
from penstock.tf.data.window_group import Buckets, GroupByWindowNode, UnbatchNode, WindowNode, shapes_of, windows_of
from penstock.tf.errors import InternalError, InvalidArgumentError, OutOfRangeError, UnimplementedError
from penstock.tf.ops.random_state import Iteration, next_in, with_random_state
from penstock.tf.registry import UnknownStructureError, operation, recorder
from penstock.tf.tensors.convert import as_array
from penstock.tf.tensors.dtypes import int64
from penstock.tf.tensors.sparse_tensor import SparseTensor
from penstock.tf.tensors.specs import UNKNOWN_SPEC as UNKNOWN_SPEC
from penstock.tf.tensors.specs import TensorSpec, spec_of
from penstock.tf.tensors.structure import leaves, map_structure
from penstock.tf.tensors.tensor import Tensor
from penstock.tf.tracing.recording import INPUT, Recording, Untraceable
from penstock.tf.tracing.trace import Trace


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

    def _parts_of_fingerprint(self) -> list[Any]:
        """Return what the elements depend on, for the fingerprint of a cache."""
        return [self._node, self._traces]

    def __iter__(self) -> ElementIterator:
        return ElementIterator(self._elements().rows(), self)

    def as_numpy_iterator(self) -> Iterator[Any]:
        """Go through elements as arrays, and scalars of NumPy."""
        return map(partial(map_structure, _as_numpy), self)  # which goes on after an error

    def get_single_element(self, name: str | None = None) -> Any:
        """Return the one element that there is."""
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
        """Return how many elements there are; -1 is without end, -2 unknown."""
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
        """Return the options."""
        return self._options

    def explain(self) -> str:
        """Tell what is done how: a line for each step."""
        return "\n".join(self._story)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {'; '.join(self._story)}>"

    def _elements(self) -> Node:
        """Return the step that gives elements."""
        if self._node.origin is ELEMENTS and not self._traces:
            return self._node
        return ComputeNode(self._node, Computation(self._node.origin, self._traces))


class ElementIterator(Iterator[Any]):
    """A pass over a dataset. In a function that is traced, each element that the function is called for takes one."""

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


def _next_structure(iterator: ElementIterator) -> Any:
    if iterator.structure is None:
        raise UnknownStructureError("the iterator of a dataset whose elements are not known before they are made")
    return iterator.structure


def _next_spec(operation: Any, iterator: ElementIterator) -> Any:
    return iterator.element_spec


@operation("data.next_element", spec=_next_spec, results=_next_structure, effects="iterator")
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


class Planned(Passes, ABC):
    """Makes the next dataset out of a step: one that moves rows, with the functions that wait, or one behind them."""

    @abstractmethod
    def _made(self, node: Node, line: str, structure: Any, traces: tuple[Trace, ...] = ()) -> Dataset:
        """Return a dataset with another step; ``line`` tells of it."""

    def _trace(self, function: Callable[..., Any]) -> Trace:
        reason = self._traceable()
        if reason is not None:
            raise Untraceable(reason)
        return trace_of(function, self._structure, self._known)

    def _known(self) -> Any:
        """Return what is known of elements without looking at one, or None."""
        return self._elements().spec()

    def _traceable(self) -> str | None:
        """Return why functions of elements are not traced here; None: they are."""
        if not self._options.tracing:
            return "the option tracing=False"
        if self._structure is None:
            return "elements that are not known before they are made"
        return "elements that are there already" if self._node.origin is ELEMENTS else None

    def _called(self, function: Callable[..., Any], called: str, reason: str) -> Dataset:
        """Call a function for each element, or as little of it as has to be."""
        computation = Computation(self._node.origin, self._traces)
        if (
            self._traceable() is None
            and (parted := traced_in_order(function, self._structure, self._known)) is not None
        ):
            trace, phases = parted
            node: Node = OrderedEffectsNode(self._node, computation, trace, phases)
            line = f"{called}: {how_traced(trace)}; {phases.effects()} for each, in order"
            return self._computed(node, line, structure=inputs_like(trace.outputs))
        if self._traceable() is None and (beginning := Beginning(function, self._structure)).calls:
            node = PartialTraceNode(self._node, computation, function, beginning)
            steps = ", ".join(dict.fromkeys(f"tf.{call.name}" for call in beginning.calls))
            line = f"{called}: for each element, because of {reason}; before that, for many in one call: {steps}"
            return self._computed(node, line, structure=None)
        node = MapNode(self._elements(), function)
        return self._computed(node, f"{called}: for each element, because of {reason}", structure=None)

    def _moved(self, node: Node, called: str) -> Dataset:
        """Return a dataset of the rows of a step, of which elements are made behind it as of those before."""
        if node is self._node:
            what = "native threads read ahead"
        elif node.origin is RECORDS:
            what = "moves records, not yet parsed" if self._traces else "moves records"
        else:
            what = "moves rows, not yet computed" if self._waiting() else "moves elements"
        return self._made(node, f"{called}: {what}", self._structure, self._traces)

    def _computed(self, node: Node, line: str, structure: Any = ...) -> Dataset:
        """Return a dataset of the rows of a step that has made elements of those before."""
        return self._made(node, line, self._structure if structure is ... else structure)

    def _waiting(self) -> bool:
        """Whether there are functions that wait for elements to be wanted."""
        return bool(self._traces) or self._node.origin.in_order


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
        return self._computed(UnbatchNode(self._elements()), "unbatch: elements")

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
        node = GroupByWindowNode(
            before, with_random_state(key_of), make, size_of, None if UNKNOWN_SPEC in leaves(spec) else spec
        )
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
        """Make datasets of elements that follow each other."""
        length, step = int(size), int(stride)
        move = length if shift is None else int(shift)
        if min(length, step, move) < 1:
            raise InvalidArgumentError("size, shift and stride of a window must be greater than zero")
        node = WindowNode(self._elements(), self._listed, length, move, step, drop_remainder=drop_remainder)
        return self._computed(node, "window: elements", structure=None)

    def _batches(self, batch_size: Any, how: Join, called: str, *, drop_remainder: bool) -> Dataset:
        size = int(batch_size)
        if size < 1:
            raise InvalidArgumentError("Batch size must be greater than zero.")
        computation = Computation(self._node.origin, self._traces)
        node = BatchNode(self._node, computation, size, how, drop_remainder=bool(drop_remainder))
        how_made = "each computed in one call" if self._waiting() else "elements stacked"
        return self._computed(node, f"{called}: {how_made}")

    def _listed(self, elements: list[Any], spec: Any) -> Dataset:
        return self._made(ListNode(elements, None if spec is UNKNOWN_SPEC else spec), "window: elements", None)


_BATCHES_AHEAD = 2


class Orders(Planned):
    """Which elements come when."""

    def shuffle(
        self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: bool | None = None, name: str | None = None
    ) -> Dataset:
        """Draw elements from a buffer, in TensorFlow's order where there is a seed."""
        size = int(buffer_size)
        if size < 1 and size != UNKNOWN:
            raise InvalidArgumentError("buffer_size must be greater than zero or UNKNOWN_CARDINALITY")
        reshuffle = reshuffle_each_iteration is not False
        held = None if size == UNKNOWN else size
        return self._moved(ShuffleNode(self._node, held, seed, reshuffle=reshuffle), f"shuffle({size})")

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """Go through all elements several times, or without end."""
        times = INFINITE if count is None else int(count)
        return self._moved(RepeatNode(self._node, times), f"repeat({'' if times < 0 else times})")

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """Keep the first elements."""
        return self._moved(TakeNode(self._node, int(count)), f"take({int(count)})")

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """Leave the first elements out."""
        return self._moved(SkipNode(self._node, int(count)), f"skip({int(count)})")

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Keep the elements up to the first for which a function answers False."""
        return self._computed(
            TakeWhileNode(self._elements(), with_random_state(predicate)), "take_while: for each element"
        )

    def unique(self, name: str | None = None) -> Dataset:
        """Keep the elements that have not come before."""
        return self._computed(UniqueNode(self._elements()), "unique: elements")

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Keep every ``num_shards``-th element."""
        count, place = int(num_shards), int(index)
        if count < 1:
            raise InvalidArgumentError(f"Number of shards must be greater than zero (got num_shards = {count}).")
        if not 0 <= place < count:
            raise InvalidArgumentError(f"Index must be between 0 and {count - 1} (currently index = {place}).")
        return self._moved(ShardNode(self._node, count, place), f"shard({count}, {place})")

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """Make batches ahead, on a thread. Elements before they are batched need none: native threads read ahead."""
        ahead = _BATCHES_AHEAD if int(buffer_size) == AUTOTUNE else int(buffer_size)
        if ahead < 0:
            raise InvalidArgumentError(f"buffer_size must be >= 0 or AUTOTUNE, found {ahead}")
        if not self._node.coarse or not ahead:
            return self._moved(self._node, "prefetch")
        node = PrefetchNode(self._node, ahead)
        return self._computed(node, f"prefetch: a thread makes {ahead} batches ahead")

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """Keep the elements once all have been made: in memory, or in a file, for other processes too."""
        path = path_of(filename)
        if not path:
            return self._computed(CacheNode(self._elements()), "cache: elements in memory")
        from penstock.tf.data.cache import FileCacheNode  # what tells a stale one is imported for those who ask

        return self._computed(FileCacheNode(self._elements(), path), "cache: elements in a file")

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """Go on with another dataset, of elements alike."""
        _check_alike(self._elements().spec(), dataset._elements().spec())
        if self._node.origin is dataset._node.origin is RECORDS and not (self._traces or dataset._traces):
            return self._moved(ConcatenateNode(self._node, dataset._node), "concatenate")
        node = ConcatenateNode(self._elements(), dataset._elements())
        structure = self._structure if self._structure == dataset._structure else None
        return self._computed(node, "concatenate: elements", structure=structure)


def _check_alike(one: Any, other: Any) -> None:
    """Refuse elements of other structures, kinds or dtypes, as far as they are known before there is one."""
    if one is None or other is None:
        return
    pairs = zip(leaves(one), leaves(other), strict=False)
    if map_structure(lambda _: None, one) != map_structure(lambda _: None, other) or not all(map(_is_alike, pairs)):
        raise TypeError(f"Incompatible dataset elements:\n  {one} vs.   {other}")


def _is_alike(pair: tuple[Any, Any]) -> bool:
    one, other = pair
    if UNKNOWN_SPEC in pair:
        return True
    return type(one) is type(other) and getattr(one, "dtype", None) == getattr(other, "dtype", None)


class Options:
    """Options of a dataset.

    ``tracing`` is ours: False calls the functions that ``map`` is given behind it for each element, as they stand.
    """

    def __init__(self) -> None:
        self.deterministic: bool | None = None
        self.tracing = True
        self.autotune = SimpleNamespace()
        self.threading = SimpleNamespace()
        self.experimental_distribute = SimpleNamespace()
        self.experimental_optimization = SimpleNamespace()
        self.experimental_threading = self.threading

    def merge(self, options: Options) -> Options:
        """Return these options, and what others set over them."""
        merged = Options()
        vars(merged).update({**vars(self), **vars(options)})
        return merged


class Dataset(Orders, Batching):
    """Elements, which are tensors or structures of them, in an order.

    Functions that can be traced are kept back until elements are wanted, so that rows are shuffled before they are
    parsed and each batch is computed in one call. :meth:`explain` tells what is done how.
    """

    # Where elements come from.

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """Make elements of slices along the first dimension."""
        node = slices(tensors)
        return Dataset(
            node, structure=inputs_like(node.spec()), story=("from_tensor_slices: rows of arrays in memory",)
        )

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """Make one element."""
        element = as_element(tensors)
        node = ListNode([element], map_structure(spec_of, element))
        return Dataset(node, structure=inputs_like(element), story=("from_tensors: one element",))

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
        signature = signature_of(output_signature, output_types, output_shapes)
        arguments = tuple(np.asarray(as_array(arg)) for arg in args or ())
        node = GeneratorNode(generator, arguments, signature)
        return Dataset(
            node, structure=inputs_like(signature), story=("from_generator: elements of a Python generator",)
        )

    @staticmethod
    def range(*args: Any, output_type: Any = int64, name: str | None = None) -> Dataset:
        """Count."""
        return Dataset(numbers(args, output_type), structure=INPUT, story=("range: numbers",))

    @staticmethod
    def counter(start: Any = 0, step: Any = 1, dtype: Any = int64, name: str | None = None) -> Dataset:
        """Count without end."""
        node = numbers((start, (1 if int(step) > 0 else -1) * (2**63 - 1), step), dtype)
        node.cardinality = INFINITE
        return Dataset(node, structure=INPUT, story=("counter: numbers",))

    @staticmethod
    def random(
        seed: int | None = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
    ) -> Dataset:
        """Draw numbers below 2**32 without end; TensorFlow draws others."""
        numbers = SampleNode(
            lambda generator: generator.integers(1 << 32, size=256), seed, again=bool(rerandomize_each_iteration)
        )
        node = GeneratorNode(numbers.rows, (), TensorSpec((), int64))
        node.cardinality = INFINITE
        return Dataset(node, structure=INPUT, story=("random: numbers",))

    @staticmethod
    def list_files(
        file_pattern: Any, shuffle: bool | None = None, seed: int | None = None, name: str | None = None
    ) -> Dataset:
        """List the files that match patterns; in another order each time unless ``shuffle`` is False."""
        files = matching_files(file_pattern)
        listed = Dataset.from_tensor_slices(files)
        return listed.shuffle(len(files), seed=seed) if shuffle in (None, True) else listed

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Put datasets side by side, as long as all last."""
        given = datasets if datasets is not None else args[0] if len(args) == 1 else args
        parts = list(leaves(given))
        if not parts or not all(isinstance(part, Dataset) for part in parts):
            raise TypeError("Dataset.zip takes datasets, or a tuple or dict of them")
        structure = None
        if all(part._structure is not None for part in parts):
            structure = map_structure(lambda part: part._structure, given)
        node = ZipNode(map_structure(lambda part: part._elements(), given))
        stories = tuple(line for part in parts for line in part._story)
        return Dataset(node, structure=structure, story=(*stories, "zip: elements"), options=parts[0]._options)

    @staticmethod
    def choose_from_datasets(datasets: Any, choice_dataset: Dataset, stop_on_empty_dataset: bool = True) -> Dataset:
        """Take elements of datasets by the numbers that another one gives."""
        return _chosen(datasets, choice_dataset._elements(), stop=stop_on_empty_dataset, called="choose_from_datasets")

    @staticmethod
    def sample_from_datasets(
        datasets: Any,
        weights: Any = None,
        seed: Any = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """Take elements of datasets at random; the draws are not TensorFlow's."""
        parts: list[Dataset] = list(datasets)
        if isinstance(weights, Dataset):
            raise NotImplementedError("weights that are a dataset are not part of penstock.tf: give a list of numbers")
        given = np.ones(len(parts)) if weights is None else np.asarray(weights, np.float64)
        if given.shape != (len(parts),):
            raise ValueError(f"Expected `len(datasets)` == `len(weights)` but got {len(parts)} and {given.shape}.")
        # One that is never drawn would be waited for after all others have ended.
        drawn = given > 0
        if parts and not drawn.any():
            return parts[0].take(0)
        parts, given = [part for part, one in zip(parts, drawn, strict=True) if one], given[drawn]
        if len(parts) == 1:
            return parts[0]
        chances = given / given.sum()
        draws = SampleNode(
            lambda generator: generator.choice(len(parts), 256, p=chances), seed, again=bool(rerandomize_each_iteration)
        )
        return _chosen(parts, draws, stop=stop_on_empty_dataset, called="sample_from_datasets")

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
        named = getattr(map_func, "func", map_func)  # of a functools.partial
        called = f"map({getattr(named, '__name__', 'function')})"
        map_func = with_random_state(map_func)
        try:
            trace = self._trace(map_func)
        except Untraceable as reason:
            return self._called(map_func, called, str(reason))
        line = f"{called}: {how_traced(trace)}"
        return self._made(self._node, line, inputs_like(trace.outputs), (*self._traces, trace))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Keep the elements for which a function answers True."""
        return self._computed(FilterNode(self._elements(), with_random_state(predicate)), "filter: for each element")

    def scan(self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """Make another element of each and of a state, which a function makes anew each time."""
        node = ScanNode(self._elements(), as_element(initial_state), with_random_state(scan_func))
        return self._computed(node, "scan: for each element", structure=None)

    def apply(self, transformation_func: Callable[[Dataset], Any], name: str | None = None) -> Any:
        """Call a function of the dataset."""
        return transformation_func(self)

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """Leave out elements that cannot be had; ``log_warning`` logs what went wrong with them."""
        node = IgnoreErrorsNode(self._elements(), log=bool(log_warning))
        return self._computed(node, "ignore_errors: for each element")

    # Datasets of elements.

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """Put the datasets that a function makes of elements one behind the other."""
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
        """Take elements in turn from datasets that a function makes of elements."""
        cycle = AUTOTUNE if cycle_length is None else int(cycle_length)
        block = 1 if block_length is None else int(block_length)
        cycle = _CYCLE if cycle == AUTOTUNE else cycle
        if cycle < 1 or block < 1:
            raise InvalidArgumentError(f"`{'cycle_length' if cycle < 1 else 'block_length'}` must be > 0")
        before = self._elements()
        called = f"interleave({getattr(map_func, '__name__', 'function')})"
        map_func = with_random_state(map_func)
        if self._gives_records(before, map_func):
            node = InterleaveNode(before, lambda one: _inner(map_func, one)._node, cycle, block, origin=RECORDS)
            return self._computed(node, f"{called}: moves records, not yet parsed", structure=INPUT)
        node = InterleaveNode(before, lambda one: _inner(map_func, one)._elements(), cycle, block)
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
        """Read elements that :meth:`save` wrote, or TensorFlow's; ``reader_func`` is given a dataset of shards."""
        found = Saved(path_of(path), element_spec, compression)
        story, structure = ("load: elements of files",), inputs_like(found.spec)
        if reader_func is not None:
            listed = [Dataset(shard, structure=structure, story=story) for shard in found.shards]
            return reader_func(Dataset(ListNode(listed), story=("load: datasets of shards",)))
        node = InterleaveNode(ListNode(found.shards), lambda shard: shard, _CYCLE, 1, spec=found.spec)
        node.cardinality = found.elements
        return Dataset(node, structure=structure, story=story)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"Dataset.{name} is not part of penstock.tf", name=name, obj=self)

    def _made(self, node: Node, line: str, structure: Any, traces: tuple[Trace, ...] = ()) -> Dataset:
        return Dataset(node, structure=structure, traces=traces, options=self._options, story=(*self._story, line))

    def _gives_records(self, before: Node, function: Callable[..., Any]) -> bool:
        """Whether the datasets that a function makes are of records as they are stored."""
        if before.spec() is None:
            return False
        # What the function draws, reads or calls is for the elements themselves, and not for this.
        probe = Recording(())
        token = recorder.set(probe)
        try:
            made = _inner(function, before.sample())
        except (StopIteration, Untraceable):
            return False
        finally:
            recorder.reset(token)
        return probe.refused is None and made._node.origin is RECORDS and not made._traces


# Datasets that are open at a time where it is ours to choose, so that orders are the same on all machines.
_CYCLE = 16


def _inner(function: Callable[..., Any], element: Any) -> Dataset:
    made = call_function(function, *arguments_of(element), ended=InternalError)
    if not isinstance(made, Dataset):
        raise TypeError(f"`map_func` must return a `Dataset` object. Got {type(made)}.")
    return made


def _chosen(datasets: Any, choices: Node, *, stop: bool, called: str) -> Dataset:
    parts = list(datasets)
    if not parts:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    node = ChooseNode([part._elements() for part in parts], choices, stop=bool(stop))
    structure = parts[0]._structure if all(part._structure == parts[0]._structure for part in parts) else None
    stories = tuple(line for part in parts for line in part._story)
    return Dataset(node, structure=structure, story=(*stories, f"{called}: elements"), options=parts[0]._options)
