"""``tf.data.Dataset``: elements in an order, made by steps; every method answers a new data set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from penstock.tf.convert import as_array
from penstock.tf.data import chosen, creation, joined, saved
from penstock.tf.data.batches import Batching
from penstock.tf.data.computed import how_traced, inputs_like
from penstock.tf.data.elements import arguments_of, as_element, call_function
from penstock.tf.data.lasting import WithoutErrors
from penstock.tf.data.node import AUTOTUNE, INFINITE, Node
from penstock.tf.data.options import Options
from penstock.tf.data.orders import Orders
from penstock.tf.data.origins import RECORDS
from penstock.tf.data.sources import Generated, Listed
from penstock.tf.dtypes import int64
from penstock.tf.errors import InternalError, InvalidArgumentError
from penstock.tf.operation import recorder
from penstock.tf.random_state import with_random_state
from penstock.tf.specs import TensorSpec, spec_of
from penstock.tf.structure import leaves, map_structure
from penstock.tf.trace import Trace
from penstock.tf.tracing import INPUT, Recording, Untraceable


class Dataset(Orders, Batching):
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
        node = Listed([element], map_structure(spec_of, element))
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
    def counter(start: Any = 0, step: Any = 1, dtype: Any = int64, name: str | None = None) -> Dataset:
        """Count without end."""
        node = creation.numbers((start, (1 if int(step) > 0 else -1) * (2**63 - 1), step), dtype)
        node.cardinality = INFINITE
        return Dataset(node, structure=INPUT, story=("counter: numbers",))

    @staticmethod
    def random(
        seed: int | None = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
    ) -> Dataset:
        """Draw numbers below 2**32 without end; TensorFlow draws others."""
        numbers = chosen.Draws(
            lambda generator: generator.integers(1 << 32, size=256), seed, again=bool(rerandomize_each_iteration)
        )
        node = Generated(numbers.rows, (), TensorSpec((), int64))
        node.cardinality = INFINITE
        return Dataset(node, structure=INPUT, story=("random: numbers",))

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

    @staticmethod
    def choose_from_datasets(datasets: Any, choice_dataset: Dataset, stop_on_empty_dataset: bool = True) -> Dataset:
        """Take elements of data sets by the numbers that another one gives."""
        return _chosen(datasets, choice_dataset._elements(), stop=stop_on_empty_dataset, called="choose_from_datasets")

    @staticmethod
    def sample_from_datasets(
        datasets: Any,
        weights: Any = None,
        seed: Any = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """Take elements of data sets at random; the draws are not TensorFlow's."""
        parts: list[Dataset] = list(datasets)
        if isinstance(weights, Dataset):
            raise NotImplementedError("weights that are a data set are not part of penstock.tf: give a list of numbers")
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
        draws = chosen.Draws(
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
        return self._computed(
            joined.Filtered(self._elements(), with_random_state(predicate)), "filter: for each element"
        )

    def scan(self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """Make another element of each and of a state, which a function makes anew each time."""
        node = chosen.Scanned(self._elements(), as_element(initial_state), with_random_state(scan_func))
        return self._computed(node, "scan: for each element", structure=None)

    def apply(self, transformation_func: Callable[[Dataset], Any], name: str | None = None) -> Any:
        """Call a function of the data set."""
        return transformation_func(self)

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """Leave out elements that cannot be had; ``log_warning`` logs what went wrong with them."""
        node = WithoutErrors(self._elements(), log=bool(log_warning))
        return self._computed(node, "ignore_errors: for each element")

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
        map_func = with_random_state(map_func)
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

    def _made(self, node: Node, line: str, structure: Any, traces: tuple[Trace, ...] = ()) -> Dataset:
        return Dataset(node, structure=structure, traces=traces, options=self._options, story=(*self._story, line))

    def _gives_records(self, before: Node, function: Callable[..., Any]) -> bool:
        """Whether the data sets that a function makes are of records as they are stored."""
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


# Data sets that are open at a time where it is ours to choose, so that orders are the same on all machines.
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
    node = chosen.Chosen([part._elements() for part in parts], choices, stop=bool(stop))
    structure = parts[0]._structure if all(part._structure == parts[0]._structure for part in parts) else None
    stories = tuple(line for part in parts for line in part._story)
    return Dataset(node, structure=structure, story=(*stories, f"{called}: elements"), options=parts[0]._options)
