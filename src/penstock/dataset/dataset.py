"""A pipeline behind methods, each of which answers an object with another pipeline."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, Self, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from penstock.arguments import any_seed, int_at_least, names_in, seed_of
from penstock.codec.decoder import Allocate
from penstock.compression import check_or_auto
from penstock.dataset.display import summary
from penstock.dataset.export_arrow import as_stored, open_arrow, without_views
from penstock.dataset.iterator import DatasetIterator
from penstock.dataset.order import AllRows, Epoch, Order
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.progress import shown
from penstock.dataset.random_access import Access, bounds_of, positions_in
from penstock.dataset.read_rows import ReadRows
from penstock.dataset.source.row_source import open_source
from penstock.dataset.source.shards import Reading
from penstock.dataset.stage import Stage
from penstock.dataset.stored_values import traced
from penstock.dataset.transforms.batch import BatchStage, PackStage, Padding
from penstock.dataset.transforms.bucket import BucketStage
from penstock.dataset.transforms.cache import cache_stage, is_in_memory
from penstock.dataset.transforms.concat import concat_start
from penstock.dataset.transforms.filter import FilterStage
from penstock.dataset.transforms.interleave import InterleaveOrder
from penstock.dataset.transforms.map import MapStage
from penstock.dataset.transforms.mix import MixStart, Stop
from penstock.dataset.transforms.prefetch import PrefetchStage
from penstock.dataset.transforms.repeat import RepeatOrder, RepeatStage
from penstock.dataset.transforms.select import SelectOrder
from penstock.dataset.transforms.shard import Remainder, ShardOrder, ShardStage
from penstock.dataset.transforms.shuffle import ShuffleOrder, WindowShuffleOrder, WindowShuffleStage
from penstock.dataset.transforms.take_skip import SkipStage, SliceOrder, TakeStage
from penstock.dataset.transforms.unbatch import UnbatchStage
from penstock.dataset.transforms.zip import ZipStart
from penstock.errors import import_extra
from penstock.index import Where
from penstock.parallel import available_cpus
from penstock.records.read_options import OnBadRecord
from penstock.schema import Schema
from penstock.storage import StrPath


class Pipelined:
    """What a dataset is made of: a pipeline, which it never changes, and the epoch that the next pass is."""

    _pipeline: Pipeline
    _access: Access
    _first_epoch: int
    _next_epoch: int

    @classmethod
    def _of(cls, pipeline: Pipeline, epoch: int) -> Self:
        self = cls.__new__(cls)
        self._pipeline, self._access = pipeline, Access(pipeline)
        self._first_epoch = self._next_epoch = epoch
        return self

    def _with(self, pipeline: Pipeline) -> Self:
        return type(self)._of(pipeline, self._first_epoch)

    def _then(self, stage: Stage) -> Self:
        return self._with(self._pipeline.then(stage))

    def _with_start(self, start: ReadRows) -> Self:
        return self._with(Pipeline(start, self._pipeline.stages))

    def _reorder(self, change: Callable[[Order], Order], flow: Stage | None, what: str, *, otherwise: str = "") -> Self:
        """Change the order of elements that have an index; do ``flow`` to others, or say what to do ``otherwise``."""
        reordered = self._pipeline.reordered(change)
        if reordered is not None:
            return self._with(reordered)
        if flow is None:
            raise TypeError(
                f"{what} needs elements with an index: it comes before filter(), bucket(), unbatch(), mix() and cache()"
                + otherwise
            )
        return self._then(flow)

    def _reads(self, what: str) -> ReadRows:
        if self._pipeline.reads is None:
            raise TypeError(
                f"{what} comes before filter(), bucket(), unbatch(), cache() and before datasets are joined"
            )
        return self._pipeline.reads


class Ordering(Pipelined):
    """Methods that choose elements and put them in order."""

    def select(self, positions: Sequence[int] | NDArray[Any]) -> Self:
        """Choose elements by their positions, in that order."""
        chosen = positions_in(positions, self._access.length)
        return self._reorder(lambda order: SelectOrder(order, chosen), None, "select()")

    def shuffle(self, seed: int, *, window: int | None = None) -> Self:
        """Put the elements in random order, another one in each epoch.

        All of them, without a buffer: a pseudo-random permutation says which comes next. With ``window``, runs of rows
        in random order and the rows of a window of about that many mixed: for files where seeking is slow or, as in one
        gzip stream, impossible.
        """
        seed = seed_of(seed)
        if window is None:
            # What is in memory anyway is shuffled there.
            flow = WindowShuffleStage(seed, sys.maxsize) if is_in_memory(self._pipeline) else None
            return self._reorder(
                lambda order: ShuffleOrder(order, seed),
                flow,
                "shuffle() without a window",
                otherwise=f"; behind them, shuffle({seed}, window=10_000) mixes elements as they come",
            )
        window = int_at_least("window", window, 1)
        reads = self._pipeline.reads
        if reads is None:
            return self._then(WindowShuffleStage(seed, window))
        shards = reads.source.shards
        return self._reorder(lambda order: WindowShuffleOrder(order, seed, window, shards), None, "shuffle()")

    def interleave(self, cycle: int | None = None) -> Self:
        """Take a row of each file in turn, ``cycle`` files at a time; None: all of them."""
        if cycle is not None:
            cycle = int_at_least("cycle", cycle, 1)
        reads = self._reads("interleave()")
        if not isinstance(reads.order, AllRows):
            raise ValueError("interleave() comes first, before other orders and before batch()")
        return self._reorder(lambda order: InterleaveOrder(reads.source.shards, cycle), None, "interleave()")

    def shard(self, rank: int, world: int, *, remainder: Remainder = "keep") -> Self:
        """Take the share of one of ``world`` ranks: every ``world``-th element, none twice, none missing.

        ``remainder`` says what happens to elements that cannot be dealt out evenly: ``"keep"`` them, so that some ranks
        have one more; ``"drop"`` them; or ``"repeat"`` some, so that all have the same number and none is missing.
        """
        world, rank = int_at_least("world", world, 1), operator.index(rank)
        if not 0 <= rank < world:
            raise ValueError(f"a rank is one of 0 ... {world - 1}, not {rank}")
        if remainder not in ("keep", "drop", "repeat"):
            raise ValueError(f"remainder is 'keep', 'drop' or 'repeat', not {remainder!r}")

        def share(order: Order) -> Order:
            if isinstance(order, ShardOrder):
                return order.divided(rank, world, remainder)
            return ShardOrder(order, rank, world, remainder)

        flow = ShardStage(rank, world) if remainder == "keep" else None
        return self._reorder(share, flow, "an even shard()")

    def repeat(self, times: int | None = None) -> Self:
        """Go through the data ``times``, or without end; shuffled anew each time."""
        if times is not None:
            times = int_at_least("times", times, 0)
        return self._reorder(lambda order: RepeatOrder(order, times), RepeatStage(times), "repeat()")

    def take(self, count: int) -> Self:
        """End after ``count`` elements."""
        count = int_at_least("count", count, 0)
        return self._reorder(lambda order: SliceOrder(order, 0, count), TakeStage(count), "take()")

    def skip(self, count: int) -> Self:
        """Start behind ``count`` elements."""
        count = int_at_least("count", count, 0)
        return self._reorder(lambda order: SliceOrder(order, count, None), SkipStage(count), "skip()")

    def epoch(self, number: int) -> Self:
        """Let the next ``iter()`` be this epoch, of this dataset or of what is made of it."""
        number = int_at_least("number", number, 0)
        return type(self)._of(self._pipeline, number)


class Processing(Pipelined):
    """Methods that make something else of elements, group them, or keep them."""

    def map(
        self, fn: Callable[..., Any], *, workers: int = 0, processes: bool = False, seed: int | None = None
    ) -> Self:
        """Call a function with every element: an example, or behind ``batch()`` a batch.

        With ``workers``, on that many threads or ``processes``, ahead of the consumer; the order is kept. A function
        that wants randomness is given ``seed`` and takes a second argument: a NumPy generator of its own for each
        element and epoch, the same whatever the workers, the ranks and the step that a run was resumed at.
        """
        return self._then(MapStage(fn, workers=workers, processes=processes, seed=any_seed(seed)))

    def filter(
        self, fn: Callable[..., Any], *, workers: int = 0, processes: bool = False, seed: int | None = None
    ) -> Self:
        """Keep the elements that a function answers true to; the arguments are those of :meth:`map`."""
        return self._then(FilterStage(fn, workers=workers, processes=processes, seed=any_seed(seed)))

    def batch(self, size: int, *, drop_last: bool = False, pad: Padding = None) -> Self:
        """Group elements into batches of columns; the last may be smaller, or is dropped.

        Rows of unequal length are ragged columns; ``pad`` makes arrays of them: ``True`` pads to the longest of the
        batch with zeros, a dict says by column which value, or which ``ps.Pad(value, length)``.
        """
        size = int_at_least("size", size, 1)
        reads = self._pipeline.reads
        # Where records may be passed over, which rows make a batch is known when they were read.
        if reads is None or reads.batches is not None or reads.source.on_error != "raise":
            return self._then(BatchStage(size, drop_last=drop_last, pad=pad))
        return self._with_start(reads.batched(size, drop_last))._then(PackStage(pad=pad))

    def bucket(
        self,
        boundaries: Sequence[int],
        sizes: int | Sequence[int],
        *,
        key: str | Callable[[Any], int],
        drop_last: bool = False,
        pad: Padding = None,
    ) -> Self:
        """Group elements of similar length into batches: as long as ``key``, a ragged column or a function, says.

        Batch i holds elements whose length lies below ``boundaries[i]`` and not below the one before; ``sizes`` is the
        size of all batches, or of each bucket's.
        """
        # As JSON has them, in a saved state: those of NumPy, too.
        boundaries, sizes = np.asarray(boundaries).tolist(), np.asarray(sizes).tolist()
        return self._then(BucketStage(boundaries, sizes, key=key, drop_last=drop_last, pad=pad))

    def unbatch(self) -> Self:
        """Take batches apart into examples."""
        return self._then(UnbatchStage())

    def prefetch(self, blocks: int) -> Self:
        """Work that many blocks (behind ``batch()``: batches) ahead of the consumer, on a thread."""
        blocks = int_at_least("blocks", blocks, 1)
        return self._then(PrefetchStage(blocks))

    def cache(self, path: StrPath | None = None, *, key: str | None = None) -> Self:
        """Keep the elements of the first whole pass, in memory or on disk below ``path``, for the passes after it.

        What is kept on disk is found again by the files (their size, both ends, and when they were last changed) and by
        what is done to them, functions included; ``key`` names what a function does where its code does not tell.
        """
        return self._then(cache_stage(self._pipeline, path, key))


class Exports:
    """What a dataset has to be Arrow data, for Polars, DuckDB and others; images are the bytes that are stored."""

    def to_arrow(self: Dataset) -> Any:  # type: ignore[misc]
        """Read all elements into a ``pyarrow.Table``; images stay the bytes that are stored.

        The schema goes with the table, and through Parquet: :func:`penstock.write` makes the same records of it again.

        >>> ds.to_arrow().to_pandas()

        What does not fit memory is streamed: ``pyarrow.RecordBatchReader.from_stream(ds)``.
        """
        reader = open_arrow(self)
        schema = without_views(reader.schema)
        return import_extra("pyarrow", "arrow", "Arrow data").Table.from_batches(
            (batch.cast(schema) for batch in reader), schema
        )

    def __arrow_c_stream__(self: Dataset, requested_schema: object = None) -> object:  # type: ignore[misc]
        return open_arrow(self).__arrow_c_stream__(requested_schema)

    def _as_stored(self: Dataset) -> tuple[Dataset, Schema] | None:  # type: ignore[misc]
        """Return the dataset with images as bytes, and the schema to write it by; None where rows are made anew."""
        stored = as_stored(self._pipeline)
        return None if stored is None else (self._with(stored[0]), stored[1])

    def _traced(self: Dataset) -> tuple[Dataset, Schema | None]:  # type: ignore[misc]
        """Return the dataset with stored bytes beside its arrays, for one pass, and the schema of what it reads."""
        pipeline, schema = traced(self._pipeline)
        epoch = self._next_epoch
        self._epoch_begun(epoch)
        return type(self)._of(pipeline, epoch), schema


class Dataset(Ordering, Processing, Exports):
    """Shards as examples: counted, indexed, in any order, resumed at any step.

    >>> ds = ps.Dataset("data/train")
    >>> len(ds), ds[12345]["label"]
    >>> for batch in ds.shuffle(seed=7).batch(256):
    ...     train(batch["image"], batch["label"])

    Immutable: each method answers a new dataset. Each ``iter(ds)`` is a pass of its own: the first is epoch 0, the
    next epoch 1, and a shuffled dataset has another order in each; ``ds.epoch(n)`` asks for one of them.

    Args:
        paths: A file, a pattern, a folder, a dataset by the name it was written with, its manifest, a URL; or several.
        split: The dataset to open of a folder that holds several, by its name, ``"mnist-train"``, or by a part that no
            other name has, ``"train"``.
        schema: What the records hold; by default what the manifest says, else what lies beside the files, else what a
            sample of the records shows (:func:`penstock.infer_schema`).
        columns: The features to decode; the others are skipped. None: all.
        compression: ``"auto"`` tells by content; or ``"GZIP"``, ``"ZLIB"``, ``"SNAPPY"``, ``""`` (none).
        verify: Check payload checksums. Headers and lengths are checked always.
        on_error: What a damaged record does, or one that does not fit the schema: ``"raise"``; ``"skip"``, with a
            warning at the end of the pass that counts what was lost, by cause; or a function that is called with each
            error before the record is passed over.
        nested: Unless damage raises, whether payloads may hold TFRecords, as in :class:`penstock.RecordReader`: True
            skips all records that damage leaves in doubt, None judges by the other records, False skips none.
        index: Where the index of the files is kept when one is needed: ``"cache"`` (the user's cache folder),
            ``"beside"`` the files, or ``"none"``.
        max_record_bytes: A longer record is an error, whatever its header says.
        threads: Native threads that read, check and decode ahead; by default one for each core, at most 8.
    """

    def __init__(
        self,
        paths: StrPath | Iterable[StrPath],
        *,
        split: str | None = None,
        schema: Schema | None = None,
        columns: Iterable[str] | None = None,
        compression: str | None = "auto",
        verify: bool = True,
        on_error: OnBadRecord = "raise",
        nested: bool | None = True,
        index: Where = "cache",
        max_record_bytes: int = 1 << 30,
        threads: int | None = None,
    ) -> None:
        if not callable(on_error) and on_error not in ("raise", "skip"):
            raise ValueError(f"on_error is 'raise', 'skip' or a function, not {on_error!r}")
        reading = Reading(
            compression=check_or_auto(compression),
            verify=verify,
            max_record_bytes=max_record_bytes,
            threads=min(8, available_cpus()) if threads is None else threads,
            index=index,
            salvage=on_error != "raise",
            nested=nested,
        )
        source = open_source(paths, schema, columns, on_error, reading, split)
        self._pipeline = Pipeline(ReadRows(source, AllRows(source.shards)))
        self._access, self._first_epoch, self._next_epoch = Access(self._pipeline), 0, 0

    # What it is.

    @property
    def schema(self) -> Schema:
        """The schema of the rows that are read; a function of ``map()`` may make something else of them."""
        start = self._pipeline.start
        if not isinstance(start, ReadRows):
            raise TypeError("datasets that were joined have a schema each: ask them before")
        return start.source.schema

    @property
    def files(self) -> tuple[str, ...]:
        """The files, in order."""
        start = self._pipeline.start
        return start.source.shards.paths if isinstance(start, ReadRows) else ()

    def __len__(self) -> int:
        return self._access.length

    def __repr__(self) -> str:
        return f"<Dataset of {summary(self._pipeline)}>"

    # Random access.

    @overload
    def __getitem__(self, key: SupportsIndex) -> Any: ...

    @overload
    def __getitem__(self, key: slice) -> Dataset: ...

    @overload
    def __getitem__(self, key: Sequence[int] | NDArray[Any]) -> Any: ...

    def __getitem__(self, key: Any) -> Any:
        """Return one element, a dataset of those in a slice, or at once those that a list names (rows as a batch)."""
        if isinstance(key, slice):
            start, stop, step = bounds_of(key, lambda: len(self))
            return self._reorder(lambda order: SliceOrder(order, start, stop, step), None, "a slice")
        if isinstance(key, Sequence | np.ndarray):
            return self._access.elements(key)
        return self._access.element(key)

    def record(self, index: int) -> bytes:
        """Return the record that an element is made of, as it is stored; its payload need not be an Example."""
        return self._access.record(index)

    def records(self, indexes: Sequence[int] | NDArray[Any]) -> list[bytes]:
        """Return the records that elements are made of, as they are stored."""
        return self._access.records(indexes)

    def select_columns(self, names: Iterable[str]) -> Dataset:
        """Decode these columns alone."""
        reads = self._reads("select_columns()")
        if self._pipeline.stages:
            raise ValueError("select_columns() comes before map() and batch()")
        return self._with_start(ReadRows(reads.source.with_columns(names_in(names)), reads.rows))

    def with_memory(self, allocate: Allocate) -> Dataset:
        """Decode dense columns into memory that ``allocate(name, shape, dtype)`` makes: pinned or shared, say."""
        reads = self._reads("with_memory()")
        return self._with_start(replace(reads, source=reads.source.with_memory(allocate)))

    # Several datasets.

    def concat(self, *others: Dataset) -> Dataset:
        """Put datasets behind this one."""
        return self._with(reduce(concat_start, self._pipelines("concat", others)))

    def zip(self, *others: Dataset) -> Dataset:
        """Pair the elements of datasets up, as tuples; the shortest ends them."""
        return self._with(Pipeline(ZipStart(self._pipelines("zip", others))))

    def mix(self, *others: Dataset, weights: Sequence[float], seed: int, stop: Stop = "first") -> Dataset:
        """Draw each element from this dataset or another, at random by weights.

        It ends with the first dataset that does, with the last (``"all"``: the others are drawn from until then), or
        ``"never"``: those that end begin again.
        """
        children, shares = self._pipelines("mix", others), tuple(map(float, weights))
        return self._with(Pipeline(MixStart(children, shares, operator.index(seed), stop)))

    def _pipelines(self, method: str, others: tuple[Dataset, ...]) -> tuple[Pipeline, ...]:
        for other in others:
            if not isinstance(other, Dataset):
                found = f"{type(other).__module__}.{type(other).__qualname__}".removeprefix("builtins.")
                raise TypeError(f"{method}() takes datasets, one argument each, not {found}")
        return self._pipeline, *(other._pipeline for other in others)

    # Passes.

    def __iter__(self) -> DatasetIterator:
        iterator = DatasetIterator(self, self._next_epoch)
        self._epoch_begun(iterator.epoch)
        return iterator

    def _epoch_begun(self, epoch: int) -> None:
        self._next_epoch = epoch + 1

    def progress(self, name: str = "") -> Iterator[Any]:
        """Iterate with a progress bar: the rate, the share of the epoch, and where the time goes."""
        iterator, start = iter(self), self._pipeline.start
        # What must be read to be counted is not read twice.
        is_unknown = isinstance(start, ReadRows) and start.source.shards.remote and not start.source.shards.counted
        total = None if is_unknown else self._pipeline.length(Epoch(iterator.epoch))
        return shown(iterator, iterator.meter, total=total, name=name)

    def __reduce__(self) -> tuple[Any, ...]:
        return Dataset._of, (self._pipeline, self._first_epoch), {"_next_epoch": self._next_epoch}
