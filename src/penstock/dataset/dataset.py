"""The data set: shards as examples and batches, in any order."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from penstock.codec.decoding import Allocate
from penstock.compression import check_or_auto
from penstock.cpus import available_cpus
from penstock.dataset.access import Access
from penstock.dataset.arguments import bounds_of, names_in
from penstock.dataset.exports import Exports
from penstock.dataset.found import open_source
from penstock.dataset.iterator import DatasetIterator
from penstock.dataset.joining import Mixture, Stop, Zipped, concatenated
from penstock.dataset.order import AllRows, Pass, Range
from penstock.dataset.ordering import Ordering
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.processing import Processing
from penstock.dataset.progress import shown
from penstock.dataset.reads import Reads
from penstock.dataset.source.shards import Reading
from penstock.dataset.source.source import OnError
from penstock.dataset.summary import summary
from penstock.files import StrPath
from penstock.index import Where
from penstock.schema import Schema


class Dataset(Ordering, Processing, Exports):
    """Shards as examples: counted, indexed, in any order, resumed at any step.

    >>> ds = ps.Dataset("data/train")
    >>> len(ds), ds[12345]["label"]
    >>> for batch in ds.shuffle(seed=7).batch(256):
    ...     train(batch["image"], batch["label"])

    Immutable: each method answers a new data set. Each ``iter(ds)`` is a pass of its own: the first is epoch 0, the
    next epoch 1, and a shuffled data set has another order in each; ``ds.epoch(n)`` asks for one of them.

    Args:
        paths: A file, a pattern, a folder, a data set by the name it was written with, its manifest, a URL; or several.
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
        on_error: OnError = "raise",
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
        self._pipeline = Pipeline(Reads(source, AllRows(source.shards)))
        self._access, self._first_epoch, self._next_epoch = Access(self._pipeline), 0, 0

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
            start, stop, step = bounds_of(key, lambda: len(self))
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

    # Several data sets.

    def concat(self, *others: Dataset) -> Dataset:
        """Put data sets behind this one."""
        return self._with(reduce(concatenated, self._pipelines("concat", others)))

    def zip(self, *others: Dataset) -> Dataset:
        """Pair the elements of data sets up, as tuples; the shortest ends them."""
        return self._with(Pipeline(Zipped(self._pipelines("zip", others))))

    def mix(self, *others: Dataset, weights: Sequence[float], seed: int, stop: Stop = "first") -> Dataset:
        """Draw each element from this data set or another, at random by weights.

        It ends with the first data set that does, with the last (``"all"``: the others are drawn from until then), or
        ``"never"``: those that end begin again.
        """
        children, shares = self._pipelines("mix", others), tuple(map(float, weights))
        return self._with(Pipeline(Mixture(children, shares, operator.index(seed), stop)))

    def _pipelines(self, method: str, others: tuple[Dataset, ...]) -> tuple[Pipeline, ...]:
        for other in others:
            if not isinstance(other, Dataset):
                found = f"{type(other).__module__}.{type(other).__qualname__}".removeprefix("builtins.")
                raise TypeError(f"{method}() takes data sets, one argument each, not {found}")
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
        is_unknown = isinstance(start, Reads) and start.source.shards.remote and not start.source.shards.counted
        total = None if is_unknown else self._pipeline.length(Pass(iterator.epoch))
        return shown(iterator, iterator.meter, total=total, name=name)

    def __reduce__(self) -> tuple[Any, ...]:
        return Dataset._of, (self._pipeline, self._first_epoch), {"_next_epoch": self._next_epoch}
