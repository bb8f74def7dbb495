"""``tf.data.Dataset``, its options and its iterator."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from itertools import islice
from typing import Any, NoReturn, Self

import numpy as np

from penstock.tf.data.batch import (
    STACK,
    BatchNode,
    Collate,
    check_padding,
    pad_elements,
    stack_as_ragged,
    stack_as_sparse,
    stack_elements,
)
from penstock.tf.data.cache import CacheNode, FileCacheNode
from penstock.tf.data.combine import ChooseNode, InterleaveNode, RandomNode, ZipNode
from penstock.tf.data.error_recovery import IgnoreErrorsNode
from penstock.tf.data.map_filter import FilterNode, ScanNode, TakeWhileNode, UniqueNode, check_state
from penstock.tf.data.node import (
    AUTOTUNE,
    ELEMENTS,
    INFINITE,
    RECORDS,
    UNKNOWN,
    Node,
    arguments_of,
    as_element,
    call_user_function,
    result_as_element,
    wrap_user_function,
)
from penstock.tf.data.options import Options
from penstock.tf.data.plan_map import element_node, plan_map
from penstock.tf.data.prefetch import PrefetchNode
from penstock.tf.data.rebatch_resample import RebatchNode, RejectionResampleNode
from penstock.tf.data.save_load import SavedDataset, write_elements
from penstock.tf.data.shuffle import ShuffleNode
from penstock.tf.data.sources import GeneratorNode, ListNode, matching_files, numbers, path_of, signature_of, slices
from penstock.tf.data.take_skip_repeat import ConcatenateNode, RepeatNode, ShardNode, SkipNode, TakeNode
from penstock.tf.data.traced_functions import Computation, inputs_like, spec_of_elements
from penstock.tf.data.window_group import Buckets, GroupByWindowNode, UnbatchNode, WindowNode, dense_shapes
from penstock.tf.errors import InternalError, InvalidArgumentError, OutOfRangeError, UnimplementedError
from penstock.tf.ops.random_state import Iteration, next_in
from penstock.tf.ops.sparse import to_dense
from penstock.tf.registry import UnknownStructureError, operation, recorder
from penstock.tf.tensors.convert import as_array
from penstock.tf.tensors.dtypes import int64
from penstock.tf.tensors.sparse_tensor import SparseTensor
from penstock.tf.tensors.specs import UNKNOWN_SPEC, DatasetSpec, spec_of
from penstock.tf.tensors.structure import leaves, map_structure
from penstock.tf.tensors.tensor import Tensor
from penstock.tf.tracing.recording import INPUT, Recording, Untraceable
from penstock.tf.tracing.trace import Trace

# The number of datasets that interleave reads at a time by default: the same everywhere, so that orders are too.
_DEFAULT_CYCLE = 16
_DEFAULT_PREFETCH = 2


class Dataset:
    """A sequence of elements, which are tensors or structures of tensors.

    Functions that can be traced are not run until elements are requested, so that rows are shuffled before they are
    parsed, and each batch is computed in one call. :meth:`explain` describes how each transformation is run.
    """

    def __init__(
        self,
        node: Node,
        *,
        structure: Any = None,
        traces: tuple[Trace, ...] = (),
        options: Options | None = None,
        explanation: tuple[str, ...] = (),
    ) -> None:
        self._node = node
        # Traced functions that are still to be applied to the rows of the node.
        self._traces = traces
        # Has INPUT at each leaf; None where it is not known in advance.
        self._structure = structure
        self._options = options or Options()
        self._explanation = explanation
        if "keras" in sys.modules:  # imported by now, if the dataset is made to fit a model
            importlib.import_module("penstock.tf.data.keras_feed").accept_datasets()

    # Sources.

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """Return the slices of tensors along their first dimension."""
        node = slices(tensors)
        explanation = ("from_tensor_slices: rows of arrays in memory",)
        return Dataset(node, structure=inputs_like(node.spec()), explanation=explanation)

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """Return a dataset of one element."""
        element = as_element(tensors)
        node = ListNode([element], map_structure(spec_of, element))
        return Dataset(node, structure=inputs_like(element), explanation=("from_tensors: one element",))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: tuple[Any, ...] | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Return the elements that a generator yields; each iteration calls it again."""
        if not callable(generator):
            raise TypeError("`generator` must be a Python callable.")
        signature = signature_of(output_signature, output_types, output_shapes)
        arguments = tuple(np.asarray(as_array(arg)) for arg in args or ())
        node = GeneratorNode(generator, arguments, signature)
        explanation = ("from_generator: elements of a Python generator",)
        return Dataset(node, structure=inputs_like(signature), explanation=explanation)

    @staticmethod
    def range(*args: Any, output_type: Any = int64, name: str | None = None) -> Dataset:
        """Return a range of numbers."""
        return Dataset(numbers(args, output_type), structure=INPUT, explanation=("range: numbers",))

    @staticmethod
    def counter(start: Any = 0, step: Any = 1, dtype: Any = int64, name: str | None = None) -> Dataset:
        """Return numbers without end."""
        node = numbers((start, (1 if int(step) > 0 else -1) * (2**63 - 1), step), dtype)
        node.cardinality = INFINITE
        return Dataset(node, structure=INPUT, explanation=("counter: numbers",))

    @staticmethod
    def random(
        seed: int | None = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
    ) -> Dataset:
        """Return random numbers below 2**32 without end; TensorFlow's are different."""
        node = RandomNode(1 << 32, seed, rerandomize=bool(rerandomize_each_iteration))
        return Dataset(node, structure=INPUT, explanation=("random: numbers",))

    @staticmethod
    def list_files(
        file_pattern: Any, shuffle: bool | None = None, seed: int | None = None, name: str | None = None
    ) -> Dataset:
        """Return the names of files that match patterns, in another order each time unless ``shuffle`` is False."""
        files = matching_files(file_pattern)
        listed = Dataset.from_tensor_slices(files)
        return listed.shuffle(len(files), seed=seed) if shuffle in (None, True) else listed

    @staticmethod
    def load(
        path: Any,
        element_spec: Any = None,
        compression: str | None = None,
        reader_func: Callable[[Dataset], Dataset] | None = None,
        wait: bool = False,
    ) -> Dataset:
        """Return the elements that :meth:`save`, or TensorFlow's, wrote; ``reader_func`` takes a dataset of shards."""
        saved = SavedDataset(path_of(path), element_spec, compression)
        explanation, structure = ("load: elements of files",), inputs_like(saved.spec)
        if reader_func is not None:
            shards = [Dataset(shard, structure=structure, explanation=explanation) for shard in saved.shards]
            return reader_func(Dataset(ListNode(shards), explanation=("load: datasets of shards",)))
        shard_nodes = ListNode(saved.shards)
        node = InterleaveNode(shard_nodes, lambda shard: shard, _DEFAULT_CYCLE, 1, depends_on=None, spec=saved.spec)
        node.cardinality = saved.elements
        return Dataset(node, structure=structure, explanation=explanation)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Return the elements of datasets side by side, up to the end of the shortest."""
        given = datasets if datasets is not None else args[0] if len(args) == 1 else args
        parts = list(leaves(given))
        if not parts or (args and datasets is not None):
            raise TypeError("Must pass at least one dataset to `zip`. Either `*args` or `datasets` can be set.")
        if not all(isinstance(part, Dataset) for part in parts):
            raise TypeError("Dataset.zip takes datasets, or a tuple or dict of them")
        structure = None
        if all(part._structure is not None for part in parts):
            structure = map_structure(lambda part: part._structure, given)
        node = ZipNode(map_structure(lambda part: part._elements(), given))
        return _combine(parts, node, structure, "zip: elements")

    @staticmethod
    def choose_from_datasets(datasets: Any, choice_dataset: Dataset, stop_on_empty_dataset: bool = True) -> Dataset:
        """Return elements of datasets, in the order of their numbers in another dataset."""
        return _choose(datasets, choice_dataset._elements(), stop=stop_on_empty_dataset, name="choose_from_datasets")

    @staticmethod
    def sample_from_datasets(
        datasets: Any,
        weights: Any = None,
        seed: Any = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """Return elements of datasets chosen at random; TensorFlow's choices are different."""
        parts: list[Dataset] = list(datasets)
        if isinstance(weights, Dataset):
            raise NotImplementedError("a dataset of weights is not part of penstock.tf: pass a list of numbers")
        given = np.ones(len(parts)) if weights is None else np.asarray(weights, np.float64)
        if given.shape != (len(parts),):
            raise ValueError(f"`weights` should have the same length as `datasets`: {given.shape} and {len(parts)}.")
        # After all others have ended, a dataset that is never chosen would be waited for without end.
        possible = given > 0
        if parts and not possible.any():
            return parts[0].take(0)
        parts, given = [part for part, one in zip(parts, possible, strict=True) if one], given[possible]
        if len(parts) == 1:
            return parts[0]
        rerandomize, probabilities = bool(rerandomize_each_iteration), given / given.sum()
        choices = RandomNode(len(parts), seed, rerandomize=rerandomize, probabilities=probabilities)
        return _choose(parts, choices, stop=stop_on_empty_dataset, name="sample_from_datasets")

    # Iteration.

    def __iter__(self) -> DatasetIterator:
        return DatasetIterator(self._elements().rows(), self)

    def as_numpy_iterator(self) -> Iterator[Any]:
        """Return an iterator over elements as NumPy arrays and scalars; sparse tensors become dense."""
        if any(isinstance(spec, DatasetSpec) for spec in leaves(self._elements().spec())):
            raise TypeError(
                "`tf.data.Dataset.as_numpy_iterator()` is not supported for datasets that produce values other than "
                f"tensors: {self.element_spec}"
            )
        return map(partial(map_structure, _as_numpy), self)  # which continues after an error

    def get_single_element(self, name: str | None = None) -> Any:
        """Return the only element."""
        found = list(islice(self, 2))
        if len(found) != 1:
            raise InvalidArgumentError(f"Dataset {'was empty' if not found else 'had more than one element'}.")
        return found[0]

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None) -> Any:
        """Combine all elements into one state."""
        state, reduce_func = as_element(initial_state), wrap_user_function(reduce_func)
        for element in self:
            before = state
            state = result_as_element(call_user_function(reduce_func, state, element, stop_error=OutOfRangeError))
            check_state(before, state)
        return state

    def save(
        self,
        path: Any,
        compression: str | None = None,
        shard_func: Callable[..., Any] | None = None,
        checkpoint_args: Any = None,
    ) -> None:
        """Write the elements to a folder, in TensorFlow's layout, for :meth:`load` and TensorFlow's."""
        if checkpoint_args is not None:
            raise UnimplementedError("Dataset.save with checkpoint_args is not part of penstock.tf: save without it")
        write_elements(path_of(path), self, lambda: self.element_spec, compression, shard_func)

    # Properties.

    def cardinality(self, name: str | None = None) -> Tensor:
        """Return the number of elements; -1 is infinite, -2 unknown."""
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
        """The specs of elements; after functions that cannot be traced, those of one element."""
        return spec_of_elements(self._elements())

    def options(self) -> Options:
        """Return the options; :meth:`with_options` changes them."""
        return self._options.frozen()

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """Set options for the transformations after this one."""
        return Dataset(
            self._node,
            structure=self._structure,
            traces=self._traces,
            options=self._options.merge(options),
            explanation=self._explanation,
        )

    def explain(self) -> str:
        """Return how each transformation is run, one per line."""
        return "\n".join(self._explanation)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {'; '.join(self._explanation)}>"

    def __getattr__(self, name: str) -> NoReturn:
        message = f"Dataset.{name} is not part of the data layer of penstock.tf: tensorflow's own tf.data may have it"
        raise AttributeError(message, name=name, obj=self)

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
        """Return the results of a function of each element."""
        named = getattr(map_func, "func", map_func)  # of a functools.partial
        node, traces, structure, how = plan_map(
            wrap_user_function(map_func), self._node, self._traces, self._structure, tracing=self._options.tracing
        )
        return self._derive(node, f"map({getattr(named, '__name__', 'function')}): {how}", structure, traces)

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Return the elements for which a function returns True."""
        node = FilterNode(self._elements(), wrap_user_function(predicate))
        return self._of_elements(node, "filter: for each element")

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Return the elements before the first for which a function returns False."""
        node = TakeWhileNode(self._elements(), wrap_user_function(predicate))
        return self._of_elements(node, "take_while: for each element")

    def scan(self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """Return the outputs of a function of a state and each element, which also returns the next state."""
        node = ScanNode(self._elements(), as_element(initial_state), wrap_user_function(scan_func))
        return self._of_elements(node, "scan: for each element", structure=None)

    def unique(self, name: str | None = None) -> Dataset:
        """Return the first of each distinct element."""
        return self._of_elements(UniqueNode(self._elements()), "unique: elements")

    def apply(self, transformation_func: Callable[[Dataset], Any], name: str | None = None) -> Any:
        """Return the result of a function of the dataset."""
        return transformation_func(self)

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """Skip elements that raise an error; ``log_warning`` logs the errors."""
        node = IgnoreErrorsNode(self._elements(), log=bool(log_warning))
        return self._of_elements(node, "ignore_errors: for each element")

    # Functions from elements to datasets.

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """Concatenate the datasets that a function makes of elements."""
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
        """Return elements in turn from the datasets that a function makes of elements."""
        cycle = AUTOTUNE if cycle_length is None else int(cycle_length)
        block = 1 if block_length is None else int(block_length)
        cycle = _DEFAULT_CYCLE if cycle == AUTOTUNE else cycle
        if cycle < 1 or block < 1:
            raise InvalidArgumentError(f"`{'cycle_length' if cycle < 1 else 'block_length'}` must be > 0")
        upstream, make_dataset = self._elements(), wrap_user_function(map_func)
        are_records = _makes_record_datasets(upstream, make_dataset)

        def make_node(element: Any) -> Node:
            dataset = _call_for_dataset(make_dataset, element)
            return dataset._node if are_records else dataset._elements()

        row_format = RECORDS if are_records else ELEMENTS
        node = InterleaveNode(upstream, make_node, cycle, block, depends_on=map_func, row_format=row_format)
        if num_parallel_calls is None:  # then also TensorFlow cannot tell: all datasets may be empty
            node.cardinality = UNKNOWN
        how = "moves records, not yet parsed" if are_records else "elements"
        line = f"interleave({getattr(map_func, '__name__', 'function')}): {how}"
        return self._of_elements(node, line, structure=INPUT if are_records else None)

    # Order and number of elements.

    def shuffle(
        self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: bool | None = None, name: str | None = None
    ) -> Dataset:
        """Draw elements from a buffer, with a seed in TensorFlow's order."""
        size = int(buffer_size)
        if size < 1 and size != UNKNOWN:
            raise InvalidArgumentError("buffer_size must be greater than zero or UNKNOWN_CARDINALITY")
        reshuffle = reshuffle_each_iteration is not False
        node = ShuffleNode(self._node, None if size == UNKNOWN else size, seed, reshuffle=reshuffle)
        return self._of_rows(node, f"shuffle({size})")

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """Repeat all elements several times, or without end."""
        times = INFINITE if count is None else int(count)
        return self._of_rows(RepeatNode(self._node, times), f"repeat({'' if times < 0 else times})")

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """Return the first elements."""
        return self._of_rows(TakeNode(self._node, int(count)), f"take({int(count)})")

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """Skip the first elements."""
        return self._of_rows(SkipNode(self._node, int(count)), f"skip({int(count)})")

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Return every ``num_shards``-th element, from ``index`` on."""
        count, place = int(num_shards), int(index)
        if count < 1:
            raise InvalidArgumentError(f"Number of shards must be greater than zero (got num_shards = {count}).")
        if not 0 <= place < count:
            raise InvalidArgumentError(f"Index must be between 0 and {count - 1} (currently index = {place}).")
        return self._of_rows(ShardNode(self._node, count, place), f"shard({count}, {place})")

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """Number the elements."""
        return Dataset.zip(Dataset.range(int(start), 2**63 - 1), self)

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """Append another dataset with elements of the same structure and dtypes."""
        _check_same_kind(self._elements().spec(), dataset._elements().spec())
        if self._node.row_format is dataset._node.row_format is RECORDS and not (self._traces or dataset._traces):
            return self._of_rows(ConcatenateNode(self._node, dataset._node), "concatenate")
        node = ConcatenateNode(self._elements(), dataset._elements())
        structure = self._structure if self._structure == dataset._structure else None
        return self._of_elements(node, "concatenate: elements", structure=structure)

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """Compute batches, and results of Python functions, ahead on a thread; native threads read ahead anyway."""
        size = _DEFAULT_PREFETCH if buffer_size is None or int(buffer_size) == AUTOTUNE else int(buffer_size)
        if size < 0:
            raise InvalidArgumentError(f"buffer_size must be >= 0 or AUTOTUNE, found {size}")
        if not (self._node.yields_batches or self._node.calls_python) or not size:
            return self._of_rows(self._node, "prefetch")
        return self._derive(
            PrefetchNode(self._node, size),
            f"prefetch: a thread makes {size} {'batches' if self._node.yields_batches else 'elements'} ahead",
            self._structure,
            self._traces,
        )

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """Store the elements during the first complete iteration: in memory, or in a file for later processes."""
        path = path_of(filename)
        if not path:
            return self._of_elements(CacheNode(self._elements()), "cache: elements in memory")
        return self._of_elements(FileCacheNode(self._elements(), path), "cache: elements in a file")

    # Batches, windows and groups.

    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Stack elements."""
        collate = stack_elements(frozenset() if self._traces else self._node.ragged_components)
        return self._batch("batch", batch_size, collate, drop_remainder=drop_remainder)

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Pad elements of different shapes to one, and stack them."""
        known = self._elements().spec()
        if known is not None:
            check_padding(known, padded_shapes, padding_values)
        collate = pad_elements(padded_shapes, padding_values)
        return self._batch("padded_batch", batch_size, collate, drop_remainder=drop_remainder)

    def ragged_batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        row_splits_dtype: Any = int64,
        name: str | None = None,
    ) -> Dataset:
        """Stack elements; components with unknown sizes become ragged."""
        collate = stack_as_ragged(self._elements().spec(), row_splits_dtype)
        return self._batch("ragged_batch", batch_size, collate, drop_remainder=drop_remainder)

    def unbatch(self, name: str | None = None) -> Dataset:
        """Split batches into elements."""
        return self._of_elements(UnbatchNode(self._elements()), "unbatch: elements")

    def rebatch(self, batch_size: Any, drop_remainder: bool = False, name: str | None = None) -> Dataset:
        """Change the batch size; a list of sizes is repeated."""
        sizes = [int(size) for size in np.atleast_1d(np.asarray(batch_size))]
        if min(sizes, default=-1) < 0 or not any(sizes):
            raise InvalidArgumentError(f"batch_size must be greater than zero, found {batch_size}")
        node = RebatchNode(self._elements(), sizes, drop_remainder=bool(drop_remainder))
        return self._of_elements(node, f"rebatch({batch_size}): elements")

    def sparse_batch(self, batch_size: Any, row_shape: Any, name: str | None = None) -> Dataset:
        """Combine dense elements, no larger than ``row_shape``, to sparse batches."""
        return self._batch("sparse_batch", batch_size, stack_as_sparse(row_shape), drop_remainder=False)

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Skip elements so that classes have a target distribution; return pairs of class and element."""
        node = RejectionResampleNode(
            self._elements(), wrap_user_function(class_func), as_array(target_dist), initial_dist, seed
        )
        return self._of_elements(node, "rejection_resample: for each element", structure=None)

    def window(
        self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """Return datasets of consecutive elements."""
        length, step = int(size), int(stride)
        move = length if shift is None else int(shift)
        if min(length, step, move) < 1:
            raise InvalidArgumentError("size, shift and stride of a window must be greater than zero")
        node = WindowNode(self._elements(), self._window, length, move, step, drop_remainder=drop_remainder)
        return self._of_elements(node, "window: elements", structure=None)

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: Any = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Group elements into windows by key, and concatenate the datasets that a function makes of the windows."""
        if (window_size is None) == (window_size_func is None):
            raise ValueError("Must pass either `window_size` or `window_size_func`.")
        size_of = window_size_func or (lambda key: window_size)
        depends_on = (key_func, reduce_func, window_size, window_size_func)
        return self._group(key_func, reduce_func, size_of, depends_on=depends_on)

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
        """Return padded batches of elements of similar lengths."""
        buckets = Buckets(bucket_boundaries, bucket_batch_sizes, pad_to_boundary=pad_to_bucket_boundary)
        shapes = padded_shapes
        if pad_to_bucket_boundary and shapes is None:
            shapes = dense_shapes(self.element_spec)

        def batch(bucket: Any, window: Dataset) -> Dataset:
            size = buckets.batch_size(bucket)
            if no_padding:
                return window.batch(size, drop_remainder=drop_remainder)
            sizes = buckets.padded_shapes(bucket, shapes)
            return window.padded_batch(size, sizes, padding_values, drop_remainder=drop_remainder)

        def bucket_of(*element: Any) -> Any:
            return buckets.bucket_of(element_length_func(*element))

        collate = STACK if no_padding else pad_elements(shapes, padding_values)
        sizes = (list(bucket_boundaries), list(bucket_batch_sizes), pad_to_bucket_boundary, drop_remainder)
        depends_on = (element_length_func, *sizes, collate.dependencies)
        return self._group(bucket_of, batch, buckets.batch_size, depends_on=depends_on, collate=collate)

    # Derived datasets.

    def _elements(self) -> Node:
        """Return the node that yields elements."""
        return element_node(self._node, self._traces)

    def _derive(self, node: Node, line: str, structure: Any, traces: tuple[Trace, ...] = ()) -> Dataset:
        """Return a dataset with these options and another node; ``line`` is added to the explanation."""
        explanation = (*self._explanation, line)
        return Dataset(node, structure=structure, traces=traces, options=self._options, explanation=explanation)

    def _of_rows(self, node: Node, name: str) -> Dataset:
        """Return a dataset of a node that moves rows; the traced functions are applied after it."""
        if node is self._node:
            how = "native threads read ahead"
        elif node.row_format is RECORDS:
            how = "moves records, not yet parsed" if self._traces else "moves records"
        else:
            how = "moves rows, not yet computed" if self._has_deferred_calls() else "moves elements"
        return self._derive(node, f"{name}: {how}", self._structure, self._traces)

    def _of_elements(self, node: Node, line: str, structure: Any = ...) -> Dataset:
        """Return a dataset of a node that yields elements, with the same structure unless another one is given."""
        return self._derive(node, line, self._structure if structure is ... else structure)

    def _has_deferred_calls(self) -> bool:
        """Return whether traced calls are still to be run on the rows."""
        return bool(self._traces) or self._node.row_format.has_effects

    def _batch(self, name: str, batch_size: Any, collate: Collate, *, drop_remainder: bool) -> Dataset:
        size = int(batch_size)
        if size < 1:
            raise InvalidArgumentError("Batch size must be greater than zero.")
        computation = Computation(self._node.row_format, self._traces)
        node = BatchNode(self._node, computation, size, collate, drop_remainder=bool(drop_remainder))
        how = "each computed in one call" if self._has_deferred_calls() else "elements stacked"
        return self._of_elements(node, f"{name}({size}): {how}")

    def _window(self, elements: list[Any], spec: Any) -> Dataset:
        return self._derive(ListNode(elements, None if spec is UNKNOWN_SPEC else spec), "window: elements", None)

    def _group(
        self,
        key_of: Callable[..., Any],
        reduce: Callable[..., Any],
        size_of: Callable[..., Any],
        *,
        depends_on: Any,
        collate: Collate | None = None,
    ) -> Dataset:
        """Group by windows; ``collate`` is given where it makes every element, and so determines the spec."""
        upstream = self._elements()
        known = upstream.spec()
        spec = None if collate is None or known is None else collate.spec(known, None)
        reduce = wrap_user_function(reduce)

        def reduced(key: Tensor, elements: list[Any]) -> Node:
            dataset = call_user_function(reduce, key, self._window(elements, known), stop_error=InternalError)
            if not isinstance(dataset, Dataset):
                raise TypeError(f"`reduce_func` must return a `Dataset` object. Got {type(dataset)}.")
            return dataset._elements()

        node = GroupByWindowNode(
            upstream,
            wrap_user_function(key_of),
            reduced,
            size_of,
            depends_on=depends_on,
            spec=None if UNKNOWN_SPEC in leaves(spec) else spec,
        )
        return self._of_elements(node, "group_by_window: elements", structure=None)


def _call_for_dataset(function: Callable[..., Any], element: Any) -> Dataset:
    dataset = call_user_function(function, *arguments_of(element), stop_error=InternalError)
    if not isinstance(dataset, Dataset):
        raise TypeError(f"The `map_func` argument must return a `Dataset` object. Got {type(dataset)}.")
    return dataset


def _makes_record_datasets(upstream: Node, function: Callable[..., Any]) -> bool:
    """Return whether the datasets that a function makes of elements yield unparsed records."""
    if upstream.spec() is None:
        return False
    # The call is recorded, so that it has no effects: these are for the iteration itself.
    probe = Recording(())
    token = recorder.set(probe)
    try:
        dataset = _call_for_dataset(function, upstream.sample())
    except (StopIteration, Untraceable):
        return False
    finally:
        recorder.reset(token)
    return probe.refused is None and dataset._node.row_format is RECORDS and not dataset._traces


def _choose(datasets: Any, choices: Node, *, stop: bool, name: str) -> Dataset:
    parts = list(datasets)
    if not parts:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    node = ChooseNode([part._elements() for part in parts], choices, stop=bool(stop))
    structure = parts[0]._structure if all(part._structure == parts[0]._structure for part in parts) else None
    return _combine(parts, node, structure, f"{name}: elements")


def _combine(parts: list[Dataset], node: Node, structure: Any, line: str) -> Dataset:
    """Return a dataset of a node that combines several, with the options of all."""
    explanation = (*(before for part in parts for before in part._explanation), line)
    options = reduce(Options.merge, (part._options for part in parts))
    return Dataset(node, structure=structure, explanation=explanation, options=options)


def _check_same_kind(one: Any, other: Any) -> None:
    """Raise unless two specs have the same structure, kinds of tensors and dtypes, as far as they are known."""
    if one is None or other is None:
        return
    pairs = zip(leaves(one), leaves(other), strict=False)
    if map_structure(lambda _: None, one) != map_structure(lambda _: None, other) or not all(map(_same_kind, pairs)):
        raise TypeError(f"Incompatible dataset elements:\n  {one} vs.   {other}")


def _same_kind(pair: tuple[Any, Any]) -> bool:
    one, other = pair
    if UNKNOWN_SPEC in pair:
        return True
    return type(one) is type(other) and getattr(one, "dtype", None) == getattr(other, "dtype", None)


class DatasetIterator(Iterator[Any]):
    """One iteration over a dataset. In a traced function, each call of the function takes the next element."""

    def __init__(self, elements: Iterator[Any], dataset: Dataset) -> None:
        self._elements = elements
        self._dataset = dataset
        self._random: Iteration = {}

    def __iter__(self) -> Self:
        recording = recorder.get()
        if isinstance(recording, Recording):
            raise recording.refuse("a loop over the iterator of a dataset")
        return self

    def __next__(self) -> Any:
        recording = recorder.get()
        if recording is None:
            return next_in(self._random, self._elements)
        if isinstance(recording, Recording):
            return _next_element(self)
        token = recorder.set(None)  # what computes the elements is not part of the function
        try:
            return next_in(self._random, self._elements)
        finally:
            recorder.reset(token)

    def get_next(self) -> Any:
        """Return the next element; OutOfRangeError after the last."""
        return _next_element(self)

    @property
    def structure(self) -> Any:
        """The structure of elements; None where it is not known in advance."""
        return self._dataset._structure

    @property
    def element_spec(self) -> Any:
        """The specs of elements."""
        return self._dataset.element_spec


def _next_structure(iterator: DatasetIterator) -> Any:
    if iterator.structure is None:
        raise UnknownStructureError("the iterator of a dataset whose structure is not known in advance")
    return iterator.structure


def _next_spec(operation: Any, iterator: DatasetIterator) -> Any:
    return iterator.element_spec


@operation("data.next_element", spec=_next_spec, results=_next_structure, effects="iterator")
def _next_element(iterator: DatasetIterator) -> Any:
    try:
        return next(iterator)
    except StopIteration:
        raise OutOfRangeError("End of sequence") from None


def _as_numpy(value: Any) -> Any:
    if value is None:
        return None
    array = to_dense(value).numpy() if isinstance(value, SparseTensor) else value.numpy()
    if isinstance(array, np.ndarray):
        array.flags.writeable = False
    return array
