"""Dataset: every public method of a dataset."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from penstock.arguments import any_seed, int_at_least, names_in
from penstock.codec.decoder import Allocate
from penstock.compression import check_or_auto
from penstock.dataset.display import summary
from penstock.dataset.export_arrow import as_stored, open_arrow, read_table
from penstock.dataset.iterator import DatasetIterator
from penstock.dataset.order import AllRows, Epoch, Remainder
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.progress import shown
from penstock.dataset.random_access import Access, positions_in
from penstock.dataset.read_rows import ReadRows
from penstock.dataset.source.row_source import open_source
from penstock.dataset.stage import Stage
from penstock.dataset.stored_values import traced
from penstock.dataset.transforms.batch import Padding, batch
from penstock.dataset.transforms.bucket import BucketStage
from penstock.dataset.transforms.cache import cache
from penstock.dataset.transforms.concat import concat
from penstock.dataset.transforms.filter import FilterStage
from penstock.dataset.transforms.interleave import interleave
from penstock.dataset.transforms.map import MapStage
from penstock.dataset.transforms.mix import MixStart, Stop
from penstock.dataset.transforms.prefetch import PrefetchStage
from penstock.dataset.transforms.repeat import repeat
from penstock.dataset.transforms.select import select
from penstock.dataset.transforms.shard import shard
from penstock.dataset.transforms.shuffle import shuffle
from penstock.dataset.transforms.take_skip import skip, slice_elements, take
from penstock.dataset.transforms.unbatch import UnbatchStage
from penstock.dataset.transforms.zip import ZipStart
from penstock.parallel import available_cpus
from penstock.records.read_options import IndexLocation, OnBadRecord, ReadOptions
from penstock.schema import Schema
from penstock.storage import StrPath


class Dataset:
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
        index: IndexLocation the index of the files is kept when one is needed: ``"cache"`` (the user's cache folder),
            a ``"sidecar"`` file, or ``"none"``.
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
        index: IndexLocation = "cache",
        max_record_bytes: int = 1 << 30,
        threads: int | None = None,
    ) -> None:
        if not callable(on_error) and on_error not in ("raise", "skip"):
            raise ValueError(f"on_error is 'raise', 'skip' or a function, not {on_error!r}")
        reading = ReadOptions(
            compression=check_or_auto(compression),
            verify=verify,
            max_record_bytes=max_record_bytes,
            threads=min(8, available_cpus()) if threads is None else threads,
            index=index,
            on_damage="raise" if on_error == "raise" else "skip",
            nested=nested,
        )
        source = open_source(paths, schema, columns, on_error, reading, split)
        self._pipeline = Pipeline(ReadRows(source, AllRows(source.shards)))
        self._access, self._first_epoch, self._next_epoch = Access(self._pipeline), 0, 0

    @classmethod
    def _of(cls, pipeline: Pipeline, epoch: int) -> Dataset:
        self = cls.__new__(cls)
        self._pipeline, self._access = pipeline, Access(pipeline)
        self._first_epoch = self._next_epoch = epoch
        return self

    def _with(self, pipeline: Pipeline) -> Dataset:
        return Dataset._of(pipeline, self._first_epoch)

    def _then(self, stage: Stage) -> Dataset:
        return self._with(self._pipeline.then(stage))

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
        return summary(self._pipeline)

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
            return self._with(slice_elements(self._pipeline, key, lambda: len(self)))
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
        reads = self._pipeline.require_reads("select_columns()")
        if self._pipeline.stages:
            raise ValueError("select_columns() comes before map() and batch()")
        return self._with(Pipeline(replace(reads, source=reads.source.with_columns(names_in(names)))))

    def with_memory(self, allocate: Allocate) -> Dataset:
        """Decode dense columns into memory that ``allocate(name, shape, dtype)`` makes: pinned or shared, say."""
        reads = self._pipeline.require_reads("with_memory()")
        return self._with(self._pipeline.with_start(replace(reads, source=reads.source.with_memory(allocate))))

    # Orders.

    def select(self, positions: Sequence[int] | NDArray[Any]) -> Dataset:
        """Choose elements by their positions, in that order."""
        chosen = positions_in(positions, self._access.length)
        return self._with(select(self._pipeline, chosen))

    def shuffle(self, seed: int, *, window: int | None = None) -> Dataset:
        """Put the elements in random order, another one in each epoch.

        All of them, without a buffer: a pseudo-random permutation says which comes next. With ``window``, runs of rows
        in random order and the rows of a window of about that many mixed: for files where seeking is slow or, as in one
        gzip stream, impossible.
        """
        return self._with(shuffle(self._pipeline, seed, window))

    def interleave(self, cycle: int | None = None) -> Dataset:
        """Take a row of each file in turn, ``cycle`` files at a time; None: all of them."""
        return self._with(interleave(self._pipeline, cycle))

    def shard(self, rank: int, world: int, *, remainder: Remainder = "keep") -> Dataset:
        """Take the share of one of ``world`` ranks: every ``world``-th element, none twice, none missing.

        ``remainder`` says what happens to elements that cannot be dealt out evenly: ``"keep"`` them, so that some ranks
        have one more; ``"drop"`` them; or ``"repeat"`` some, so that all have the same number and none is missing.
        """
        return self._with(shard(self._pipeline, rank, world, remainder))

    def repeat(self, times: int | None = None) -> Dataset:
        """Go through the data ``times``, or without end; shuffled anew each time."""
        return self._with(repeat(self._pipeline, times))

    def take(self, count: int) -> Dataset:
        """End after ``count`` elements."""
        return self._with(take(self._pipeline, count))

    def skip(self, count: int) -> Dataset:
        """Start behind ``count`` elements."""
        return self._with(skip(self._pipeline, count))

    def epoch(self, number: int) -> Dataset:
        """Let the next ``iter()`` be this epoch, of this dataset or of what is made of it."""
        number = int_at_least("number", number, 0)
        return Dataset._of(self._pipeline, number)

    # Elements.

    def map(
        self, fn: Callable[..., Any], *, workers: int = 0, processes: bool = False, seed: int | None = None
    ) -> Dataset:
        """Call a function with every element: an example, or behind ``batch()`` a batch.

        With ``workers``, on that many threads or ``processes``, ahead of the consumer; the order is kept. A function
        that wants randomness is given ``seed`` and takes a second argument: a NumPy generator of its own for each
        element and epoch, the same whatever the workers, the ranks and the step that a run was resumed at.
        """
        return self._then(MapStage(fn, workers=workers, processes=processes, seed=any_seed(seed)))

    def filter(
        self, fn: Callable[..., Any], *, workers: int = 0, processes: bool = False, seed: int | None = None
    ) -> Dataset:
        """Keep the elements that a function answers true to; the arguments are those of :meth:`map`."""
        return self._then(FilterStage(fn, workers=workers, processes=processes, seed=any_seed(seed)))

    def batch(self, size: int, *, drop_last: bool = False, pad: Padding = None) -> Dataset:
        """Group elements into batches of columns; the last may be smaller, or is dropped.

        Rows of unequal length are ragged columns; ``pad`` makes arrays of them: ``True`` pads to the longest of the
        batch with zeros, a dict says by column which value, or which ``ps.Pad(value, length)``.
        """
        return self._with(batch(self._pipeline, size, drop_last=drop_last, pad=pad))

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
        # As JSON has them, in a saved state: those of NumPy, too.
        boundaries, sizes = np.asarray(boundaries).tolist(), np.asarray(sizes).tolist()
        return self._then(BucketStage(boundaries, sizes, key=key, drop_last=drop_last, pad=pad))

    def unbatch(self) -> Dataset:
        """Take batches apart into examples."""
        return self._then(UnbatchStage())

    def prefetch(self, blocks: int) -> Dataset:
        """Work that many blocks (behind ``batch()``: batches) ahead of the consumer, on a thread."""
        return self._then(PrefetchStage(int_at_least("blocks", blocks, 1)))

    def cache(self, path: StrPath | None = None, *, key: str | None = None) -> Dataset:
        """Keep the elements of the first whole pass, in memory or on disk below ``path``, for the passes after it.

        What is kept on disk is found again by the files (their size, both ends, and when they were last changed) and by
        what is done to them, functions included; ``key`` names what a function does where its code does not tell.
        """
        return self._with(cache(self._pipeline, path, key))

    # Several datasets.

    def concat(self, *others: Dataset) -> Dataset:
        """Put datasets behind this one."""
        return self._with(reduce(concat, self._pipelines("concat", others)))

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
        self._epoch_started(self._next_epoch)
        return DatasetIterator(self._pipeline, self._next_epoch - 1, self._epoch_started)

    def _epoch_started(self, epoch: int) -> None:
        self._next_epoch = epoch + 1

    def progress(self, name: str = "") -> Iterator[Any]:
        """Iterate with a progress bar: the rate, the share of the epoch, and where the time goes."""
        iterator, start = iter(self), self._pipeline.start
        # What must be read to be counted is not read twice.
        is_unknown = isinstance(start, ReadRows) and start.source.shards.remote and not start.source.shards.counted
        total = None if is_unknown else self._pipeline.length(Epoch(iterator.epoch))
        return shown(iterator, iterator.meter, total=total, name=name)

    # Other formats.

    def to_arrow(self) -> Any:
        """Read all elements into a ``pyarrow.Table``; images stay the bytes that are stored.

        The schema goes with the table, and through Parquet: :func:`penstock.write` makes the same records of it again.

        >>> ds.to_arrow().to_pandas()

        What does not fit memory is streamed: ``pyarrow.RecordBatchReader.from_stream(ds)``.
        """
        return read_table(self._pipeline, self._iterate)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._open_arrow().__arrow_c_stream__(requested_schema)

    def _open_arrow(self) -> Any:
        """Return a ``pyarrow.RecordBatchReader``."""
        return open_arrow(self._pipeline, self._iterate)

    def _iterate(self, pipeline: Pipeline) -> DatasetIterator:
        return iter(self._with(pipeline))

    def _as_stored(self) -> tuple[Dataset, Schema] | None:
        """Return the dataset with images as bytes, and the schema to write it by; None where rows are made anew."""
        stored = as_stored(self._pipeline)
        return None if stored is None else (self._with(stored[0]), stored[1])

    def _traced(self) -> tuple[Dataset, Schema | None]:
        """Return the dataset with stored bytes beside its arrays, for one pass, and the schema of what it reads."""
        pipeline, schema = traced(self._pipeline)
        epoch = self._next_epoch
        self._epoch_started(epoch)
        return Dataset._of(pipeline, epoch), schema

    def __reduce__(self) -> tuple[Any, ...]:
        return Dataset._of, (self._pipeline, self._first_epoch), {"_next_epoch": self._next_epoch}
