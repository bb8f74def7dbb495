"""The data set: shards as examples and batches, in any order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from penstock.codec.decoder import Allocate
from penstock.cpus import available_cpus
from penstock.dataset import stages
from penstock.dataset.access import Access
from penstock.dataset.arguments import check_at_least, check_seed, names_in, positions_in
from penstock.dataset.caching import cache_stage, is_in_memory
from penstock.dataset.exports import Exports
from penstock.dataset.found import open_source
from penstock.dataset.iterator import DatasetIterator
from penstock.dataset.joining import Concatenated, Mixture, Stop, Zipped
from penstock.dataset.order import (
    AllRows,
    Interleaved,
    Joined,
    Order,
    Pass,
    Picked,
    Range,
    Ranked,
    Remainder,
    Repeated,
    Shuffled,
    Windowed,
)
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.progress import shown
from penstock.dataset.reads import Reads
from penstock.dataset.source.shards import Reading
from penstock.dataset.source.source import OnError
from penstock.dataset.stages.padding import Padding
from penstock.dataset.summary import summary
from penstock.files import StrPath
from penstock.index import Where
from penstock.schema import Schema


class Dataset(Exports):
    """Shards as examples: counted, indexed, in any order, resumed at any step.

    >>> ds = ps.Dataset("data/train")  # doctest: +SKIP
    >>> len(ds), ds[12345]["label"]  # doctest: +SKIP
    >>> for batch in ds.shuffle(seed=7).batch(256):  # doctest: +SKIP
    ...     train(batch["image"], batch["label"])

    Immutable: each method answers a new data set. Each ``iter(ds)`` is a pass of its own: the first is epoch 0, the
    next epoch 1, and a shuffled data set has another order in each; ``ds.epoch(n)`` asks for one of them.

    Args:
        paths: A file, a pattern, a folder, a data set by the name it was written with, its manifest, a URL; or several.
        schema: What the records hold; by default what the manifest says, else what lies beside the files, else what a
            sample of the records shows (:func:`penstock.infer_schema`).
        columns: The features to decode; the others are skipped. None: all.
        compression: ``"auto"`` tells by content; or ``"GZIP"``, ``"ZLIB"``, ``"SNAPPY"``, ``""`` (none).
        verify: Check payload checksums. Headers and lengths are checked always.
        on_error: What a damaged record does, or one that does not fit the schema: ``"raise"``; ``"skip"``, with a
            warning at the end of the pass that counts them by cause; or a function that is called with each error
            before the record is passed over.
        index: Where the index of the files is kept when one is needed: ``"cache"`` (the user's cache folder),
            ``"beside"`` the files, or ``"none"``.
        max_record_bytes: A longer record is an error, whatever its header says.
        threads: Native threads that read, check and decode ahead; by default one for each core, at most 8.
    """

    _pipeline: Pipeline
    _access: Access
    _first_epoch: int
    _next_epoch: int

    def __init__(
        self,
        paths: StrPath | Iterable[StrPath],
        *,
        schema: Schema | None = None,
        columns: Iterable[str] | None = None,
        compression: str = "auto",
        verify: bool = True,
        on_error: OnError = "raise",
        index: Where = "cache",
        max_record_bytes: int = 1 << 30,
        threads: int | None = None,
    ) -> None:
        if not callable(on_error) and on_error not in ("raise", "skip"):
            raise ValueError(f"on_error is 'raise', 'skip' or a function, not {on_error!r}")
        reading = Reading(
            compression=compression,
            verify=verify,
            max_record_bytes=max_record_bytes,
            threads=min(8, available_cpus()) if threads is None else threads,
            index=index,
            salvage=on_error != "raise",
        )
        source = open_source(paths, schema, columns, on_error, reading)
        self._pipeline = Pipeline(Reads(source, AllRows(source.shards)))
        self._access, self._first_epoch, self._next_epoch = Access(self._pipeline), 0, 0

    @classmethod
    def _of(cls, pipeline: Pipeline, epoch: int) -> Dataset:
        self = cls.__new__(cls)
        self._pipeline, self._access = pipeline, Access(pipeline)
        self._first_epoch = self._next_epoch = epoch
        return self

    # What it is.

    @property
    def schema(self) -> Schema:
        """The schema of the rows that are read; a function of ``map()`` may make something else of them."""
        start = self._pipeline.start
        if not isinstance(start, Reads):
            raise TypeError("data sets that were joined have a schema each: ask them before")
        return start.source.schema

    @property
    def files(self) -> tuple[str, ...]:
        """The files, in order."""
        start = self._pipeline.start
        return start.source.shards.paths if isinstance(start, Reads) else ()

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
        """Answer one element, a data set of those in a slice, or at once those that a list names (rows as a batch)."""
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            return self._reorder(lambda order: Range(order, start, stop, step), None, "a slice")
        if isinstance(key, Sequence | np.ndarray):
            return self._access.elements(key)
        return self._access.element(key)

    def record(self, index: int) -> bytes:
        """Answer the record that an element is made of, as it is stored; its payload need not be an Example."""
        return self._access.record(index)

    def records(self, indexes: Sequence[int] | NDArray[Any]) -> list[bytes]:
        """Answer the records that elements are made of, as they are stored."""
        return self._access.records(indexes)

    def select(self, positions: Sequence[int] | NDArray[Any]) -> Dataset:
        """Choose elements by their positions, in that order."""
        chosen = positions_in(positions, len(self))
        return self._reorder(lambda order: Picked(order, chosen), None, "select()")

    def select_columns(self, names: Iterable[str]) -> Dataset:
        """Decode these columns alone."""
        reads = self._reads("select_columns()")
        if self._pipeline.stages:
            raise ValueError("select_columns() comes before map() and batch()")
        return self._with_start(Reads(reads.source.with_columns(names_in(names)), reads.rows))

    def with_memory(self, allocate: Allocate) -> Dataset:
        """Decode dense columns into memory that ``allocate(name, shape, dtype)`` makes: pinned or shared, say."""
        reads = self._reads("with_memory()")
        return self._with_start(replace(reads, source=reads.source.with_memory(allocate)))

    # Order.

    def shuffle(self, seed: int, *, window: int | None = None) -> Dataset:
        """Put the elements in random order, another one in each epoch.

        All of them, without a buffer: a pseudo-random permutation says which comes next. With ``window``, runs of rows
        in random order and the rows of a window of about that many mixed: for files where seeking is slow or, as in one
        gzip stream, impossible.
        """
        check_seed(seed)
        if window is None:
            # What is in memory anyway is shuffled there.
            flow = stages.WindowShuffled(seed, sys.maxsize) if is_in_memory(self._pipeline) else None
            return self._reorder(lambda order: Shuffled(order, seed), flow, "shuffle() without a window")
        check_at_least("window", window, 1)
        reads = self._pipeline.reads
        if reads is None:
            return self._then(stages.WindowShuffled(seed, window))
        shards = reads.source.shards
        return self._reorder(lambda order: Windowed(order, seed, window, shards), None, "shuffle()")

    def interleave(self, cycle: int | None = None) -> Dataset:
        """Take a row of each file in turn, ``cycle`` files at a time; None: all of them."""
        if cycle is not None:
            check_at_least("cycle", cycle, 1)
        reads = self._reads("interleave()")
        if not isinstance(reads.order, AllRows):
            raise ValueError("interleave() comes first, before other orders and before batch()")
        return self._reorder(lambda order: Interleaved(reads.source.shards, cycle), None, "interleave()")

    def shard(self, rank: int, world: int, *, remainder: Remainder = "keep") -> Dataset:
        """Take the share of one of ``world`` ranks: every ``world``-th element, none twice, none missing.

        ``remainder`` says what happens to elements that cannot be dealt out evenly: ``"keep"`` them, so that some ranks
        have one more; ``"drop"`` them; or ``"repeat"`` some, so that all have the same number and none is missing.
        """
        check_at_least("world", world, 1)
        if not 0 <= rank < world:
            raise ValueError(f"a rank is one of 0 ... {world - 1}, not {rank}")
        if remainder not in ("keep", "drop", "repeat"):
            raise ValueError(f"remainder is 'keep', 'drop' or 'repeat', not {remainder!r}")

        def share(order: Order) -> Order:
            if isinstance(order, Ranked):
                return order.divided(rank, world, remainder)
            return Ranked(order, rank, world, remainder)

        flow = stages.Strided(rank, world) if remainder == "keep" else None
        return self._reorder(share, flow, "an even shard()")

    def repeat(self, times: int | None = None) -> Dataset:
        """Go through the data ``times``, or without end; shuffled anew each time."""
        if times is not None:
            check_at_least("times", times, 0)
        return self._reorder(lambda order: Repeated(order, times), stages.RepeatedFlow(times), "repeat()")

    def take(self, count: int) -> Dataset:
        """End after ``count`` elements."""
        check_at_least("count", count, 0)
        return self._reorder(lambda order: Range(order, 0, count), stages.Taken(count), "take()")

    def skip(self, count: int) -> Dataset:
        """Start behind ``count`` elements."""
        check_at_least("count", count, 0)
        return self._reorder(lambda order: Range(order, count, None), stages.Skipped(count), "skip()")

    def epoch(self, number: int) -> Dataset:
        """Let the next ``iter()`` be this epoch, of this data set or of what is made of it."""
        check_at_least("number", number, 0)
        return Dataset._of(self._pipeline, number)

    # Several data sets.

    def concat(self, *others: Dataset) -> Dataset:
        """Put data sets behind this one."""
        joined = self
        for other in others:
            joined = joined._joined(other)
        return joined

    def zip(self, *others: Dataset) -> Dataset:
        """Pair the elements of data sets up, as tuples; the shortest ends them."""
        return self._with(Pipeline(Zipped((self._pipeline, *(other._pipeline for other in others)))))

    def mix(self, *others: Dataset, weights: Sequence[float], seed: int, stop: Stop = "first") -> Dataset:
        """Draw each element from this data set or another, at random by weights.

        It ends with the first data set that does, with the last (``"all"``: the others are drawn from until then), or
        ``"never"``: those that end begin again.
        """
        pipelines = (self._pipeline, *(other._pipeline for other in others))
        return self._with(Pipeline(Mixture(pipelines, tuple(map(float, weights)), seed, stop)))

    # What is done to elements.

    def map(
        self, fn: Callable[..., Any], *, workers: int = 0, processes: bool = False, seed: int | None = None
    ) -> Dataset:
        """Call a function with every element: an example, or behind ``batch()`` a batch.

        With ``workers``, on that many threads or ``processes``, ahead of the consumer; the order is kept. A function
        that wants randomness is given ``seed`` and takes a second argument: a NumPy generator of its own for each
        element and epoch, the same whatever the workers, the ranks and the step that a run was resumed at.
        """
        return self._then(stages.Map(fn, workers=workers, processes=processes, seed=seed))

    def filter(
        self, fn: Callable[..., Any], *, workers: int = 0, processes: bool = False, seed: int | None = None
    ) -> Dataset:
        """Keep the elements that a function answers true to; the arguments are those of :meth:`map`."""
        return self._then(stages.Filter(fn, workers=workers, processes=processes, seed=seed))

    def batch(self, size: int, *, drop_last: bool = False, pad: Padding = None) -> Dataset:
        """Group elements into batches of columns; the last may be smaller, or is dropped.

        Rows of unequal length are ragged columns; ``pad`` makes arrays of them: ``True`` pads to the longest of the
        batch with zeros, a dict says by column which value, or which ``ps.Pad(value, length)``.
        """
        check_at_least("size", size, 1)
        reads = self._pipeline.reads
        # Where records may be passed over, which rows make a batch is known when they were read.
        if reads is None or reads.batches is not None or reads.source.on_error != "raise":
            return self._then(stages.Batched(size, drop_last=drop_last, pad=pad))
        return self._with_start(reads.batched(size, drop_last))._then(stages.Packed(pad=pad))

    def bucket(
        self,
        boundaries: Sequence[int],
        sizes: int | Sequence[int],
        *,
        key: str | Callable[[Any], int],
        drop_last: bool = False,
        pad: Padding = None,
    ) -> Dataset:
        """Group elements of similar length into batches: as long as ``key``, a ragged column or a function, says.

        Batch i holds elements whose length lies below ``boundaries[i]`` and not below the one before; ``sizes`` is the
        size of all batches, or of each bucket's.
        """
        return self._then(stages.Bucketed(boundaries, sizes, key=key, drop_last=drop_last, pad=pad))

    def unbatch(self) -> Dataset:
        """Take batches apart into examples."""
        return self._then(stages.Unbatched())

    def prefetch(self, blocks: int) -> Dataset:
        """Work that many blocks (behind ``batch()``: batches) ahead of the consumer, on a thread."""
        check_at_least("blocks", blocks, 1)
        return self._then(stages.Prefetched(blocks))

    def cache(self, path: StrPath | None = None, *, key: str | None = None) -> Dataset:
        """Keep the elements of the first whole pass, in memory or on disk below ``path``, for the passes after it.

        What is kept on disk is found again by the content of the files and by what is done to them, functions included;
        ``key`` names what a function does where its code does not tell.
        """
        return self._then(cache_stage(self._pipeline, path, key))

    # Passes.

    def __iter__(self) -> DatasetIterator:
        iterator = DatasetIterator(self, self._next_epoch)
        self._epoch_begun(iterator.epoch)
        return iterator

    def _epoch_begun(self, epoch: int) -> None:
        self._next_epoch = epoch + 1

    def progress(self, name: str = "") -> Iterator[Any]:
        """Iterate with a progress bar: the rate, the share of the epoch, and where the time goes."""
        iterator = iter(self)
        return shown(iterator, iterator.meter, total=self._pipeline.length(Pass(iterator.epoch)), name=name)

    def __reduce__(self) -> tuple[Any, ...]:
        return Dataset._of, (self._pipeline, self._first_epoch), {"_next_epoch": self._next_epoch}

    # How methods change the pipeline.

    def _with(self, pipeline: Pipeline) -> Dataset:
        return Dataset._of(pipeline, self._first_epoch)

    def _then(self, stage: stages.Stage) -> Dataset:
        return self._with(self._pipeline.then(stage))

    def _with_start(self, start: Reads) -> Dataset:
        return self._with(Pipeline(start, self._pipeline.stages))

    def _reorder(self, change: Callable[[Order], Order], flow: stages.Stage | None, what: str) -> Dataset:
        """Change the order of elements that have an index; do ``flow`` to others, where that can be."""
        reordered = self._pipeline.reordered(change)
        if reordered is not None:
            return self._with(reordered)
        if flow is None:
            raise TypeError(
                f"{what} needs elements with an index: it comes before filter(), bucket(), unbatch(), mix() and cache()"
            )
        return self._then(flow)

    def _reads(self, what: str) -> Reads:
        if self._pipeline.reads is None:
            raise TypeError(
                f"{what} comes before filter(), bucket(), unbatch(), cache() and before data sets are joined"
            )
        return self._pipeline.reads

    def _joined(self, other: Dataset) -> Dataset:
        mine, theirs = self._pipeline, other._pipeline
        first, second = mine.start, theirs.start
        if (
            isinstance(first, Reads)
            and isinstance(second, Reads)
            and not (mine.stages or theirs.stages)
            and first.source.joins(second.source)
        ):
            order = Joined(first.rows, second.rows, first.source.shards)
            return self._with_start(Reads(first.source + second.source, order))
        return self._with(Pipeline(Concatenated((mine, theirs))))
