"""Dataset: every public method of a dataset. Each checks its arguments and calls its verb in ``transforms/``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce, wraps
from typing import Any, Generic, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from penstock.arguments import any_seed, int_at_least, names_in
from penstock.codec.decoder import Allocate
from penstock.codec.image_transform import ImageTransform
from penstock.columns import Batch
from penstock.compression import check_or_auto
from penstock.dataset.carry_stored_bytes import carry_stored_values
from penstock.dataset.export_arrow import keep_encoded, open_arrow, open_plain_arrow, read_pandas, read_table
from penstock.dataset.iterator import DatasetIterator, Row, T_co
from penstock.dataset.order import Epoch, Remainder
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.progress import show_progress
from penstock.dataset.random_access import RandomAccess, positions_in
from penstock.dataset.read_rows import ReadRows
from penstock.dataset.source.row_source import open_source
from penstock.dataset.stage import Stage
from penstock.dataset.stored_rows import rewrite_of, rewritten_rows, stored_rows
from penstock.dataset.summary import explain, html_summary, summary
from penstock.dataset.transforms.batch import Padding, batch
from penstock.dataset.transforms.bucket import BucketStage
from penstock.dataset.transforms.cache import cache
from penstock.dataset.transforms.cast import CastStage
from penstock.dataset.transforms.column_names import drop_columns, rename_columns, select_columns
from penstock.dataset.transforms.concat import concat, read_rows_of_files
from penstock.dataset.transforms.filter import FilterStage, filter_by, filter_where
from penstock.dataset.transforms.flat_map import FlatMapStage
from penstock.dataset.transforms.interleave import interleave
from penstock.dataset.transforms.key_order import arrange
from penstock.dataset.transforms.map import MapStage
from penstock.dataset.transforms.map_images import map_images
from penstock.dataset.transforms.mix import MixStart, Stop
from penstock.dataset.transforms.pack import PackListsStage
from penstock.dataset.transforms.prefetch import PrefetchStage
from penstock.dataset.transforms.repeat import repeat
from penstock.dataset.transforms.select import select
from penstock.dataset.transforms.shard import shard
from penstock.dataset.transforms.shuffle import shuffle
from penstock.dataset.transforms.sort import SortArrangement
from penstock.dataset.transforms.split import SplitArrangement
from penstock.dataset.transforms.take_skip import skip, slice_elements, take
from penstock.dataset.transforms.unbatch import UnbatchStage
from penstock.dataset.transforms.unique import UniqueArrangement
from penstock.dataset.transforms.window import WindowStage
from penstock.dataset.transforms.zip import ZipStart
from penstock.discovery.split_slices import Split
from penstock.errors import import_extra
from penstock.expression import RowCondition
from penstock.records.read_options import IndexLocation, OnBadRecord, ReadOptions
from penstock.schema import Schema
from penstock.schema.dtype import DtypeLike
from penstock.storage import StrPath
from penstock.writing.rewrite import RewrittenRows, StoredRows

U = TypeVar("U")
V = TypeVar("V")
Method = TypeVar("Method", bound=Callable[..., Any])


def _by_keyword(hint: str) -> Callable[[Method], Method]:
    """Raise TypeError with a hint where a method that takes keywords alone is called with ``{0}`` by position."""

    def decorate(method: Method) -> Method:
        @wraps(method)
        def checked(self: Dataset[Any], *arguments: Any, **options: Any) -> Any:
            if arguments:
                raise TypeError(hint.format(arguments[0]))
            return method(self, **options)

        return cast(Method, checked)

    return decorate


def _one_or_more(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


class Dataset(Generic[T_co]):
    """Examples in TFRecord files: counted, indexed, in any order, resumable at any step.

    A dataset is immutable: each method returns a new one. Elements are examples (dicts), or after :meth:`batch`
    batches (:class:`penstock.Batch`). Each ``iter(ds)`` is the next epoch, and a shuffled dataset has another order in
    each; :meth:`epoch` returns a dataset that starts with a given one. Type checkers know the elements:
    ``Dataset[Batch]``, or ``Dataset[Row]``, where a row is a ``dict[str, Any]``.

    Args:
        paths: A file, a pattern, a folder, the name that a dataset was written with, its manifest, a URL; or several.
        split: Which dataset to open in a folder that holds several: its name, ``"mnist-train"``, or a part that
            no other name has, ``"train"``. In a folder that TFDS wrote, one of its splits or slices of them:
            ``"train[:90%]"``, ``"train[10:20]+test"``.
        schema: What the records hold. By default the schema in the manifest, else in a sidecar file, else the one
            inferred from a sample of the records (:func:`penstock.infer_schema`).
        columns: The features to decode; the others are skipped. None decodes all.
        compression: ``"auto"`` detects it by content; or ``"GZIP"``, ``"ZLIB"``, ``"SNAPPY"``, ``""`` (none).
        verify: Check payload checksums. Headers and lengths are always checked.
        on_error: What to do about a record that is damaged or does not fit the schema. ``"raise"`` an error;
            ``"skip"`` the record, and warn at the end of the epoch with counts by cause; or a function, which is
            called with each error before the record is skipped.
        nested: Whether payloads may hold TFRecords, as in :class:`penstock.RecordReader`, where damage is skipped:
            True skips all records that damage leaves in doubt, None judges by the other records, False skips none.
        index: Where to store the index of the files, when one is needed: ``"cache"`` (the user's cache folder),
            a ``"sidecar"`` file next to them, or ``"none"``.
        max_record_bytes: A longer record is an error, whatever its header says.
        threads: Native threads that read, check and decode ahead. By default one per CPU that the process may
            use: bindings, quotas of containers, ranks on the same host and workers of a ``DataLoader`` count.

    Example:
        >>> ds = ps.Dataset("train")
        >>> len(ds), ds.column_names
        (100, ['x', 'label', 'tokens'])
        >>> for batch in ds.shuffle(seed=7).batch(50):
        ...     print(batch["x"].shape, batch["label"].shape)
        (50,) (50,)
        (50,) (50,)
    """

    def __init__(
        self: Dataset[Row],
        paths: StrPath | Iterable[StrPath],
        *,
        split: str | Split | None = None,
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
            threads=threads,
            index=index,
            on_damage="raise" if on_error == "raise" else "skip",
            nested=nested,
        )
        self._pipeline = read_rows_of_files(*open_source(paths, schema, columns, on_error, reading, split))
        self._access, self._first_epoch, self._next_epoch = RandomAccess(self._pipeline), 0, 0

    @classmethod
    def _of(cls, pipeline: Pipeline, epoch: int) -> Dataset[Any]:
        self = cls.__new__(cls)
        self._pipeline, self._access = pipeline, RandomAccess(pipeline)
        self._first_epoch = self._next_epoch = epoch
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Dataset._of, (self._pipeline, self._first_epoch), {"_next_epoch": self._next_epoch}

    def _with(self, pipeline: Pipeline) -> Dataset[Any]:
        return Dataset._of(pipeline, self._first_epoch)

    def _then(self, stage: Stage) -> Dataset[Any]:
        return self._with(self._pipeline.then(stage))

    # What it is.

    def __repr__(self) -> str:
        return summary(self._pipeline)

    def explain(self) -> str:
        """Return what is read and decoded, each step in order, and what can be done with the elements.

        Example:
            >>> print(ds.filter("label == 3").rename_columns({"x": "y"}).batch(4).explain())
            read 4 files, 100 records: y, label, tokens
            filter('label == 3')  decodes label, and the rest of rows that pass
            batch(4)
            elements come one after another: shuffle them with a window
        """
        return explain(self._pipeline)

    def _repr_html_(self) -> str:
        return html_summary(self._pipeline, self._iterate)

    def __len__(self) -> int:
        return self._access.length

    @property
    def schema(self) -> Schema:
        """The schema of the rows that are read, before functions of ``map()`` change them.

        Example:
            >>> ds.schema["tokens"].shape
            (None,)
        """
        schema = self._pipeline.schema
        if schema is None:
            raise TypeError("joined datasets have a schema each: use the schema of the datasets before they are joined")
        return schema

    @property
    def column_names(self) -> list[str]:
        """The names of the columns that are decoded, before functions of ``map()`` change them.

        Example:
            >>> ds.column_names
            ['x', 'label', 'tokens']
        """
        return list(self.schema)

    @property
    def files(self) -> tuple[str, ...]:
        """The files, in order.

        Example:
            >>> len(ds.files)
            4
        """
        start = self._pipeline.start
        return start.source.shards.paths if isinstance(start, ReadRows) else ()

    # Random access.

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> T_co: ...

    @overload
    def __getitem__(self, key: slice) -> Dataset[T_co]: ...

    @overload
    def __getitem__(self: Dataset[dict[str, Any]], key: Sequence[int] | NDArray[Any]) -> Batch: ...

    @overload
    def __getitem__(self, key: Sequence[int] | NDArray[Any]) -> Any: ...

    def __getitem__(self, key: Any) -> Any:
        """Return one element, a dataset of the elements in a slice, or the elements at positions (rows as a batch).

        Positions follow the rules of NumPy: negative ones count from the end, a boolean array is a mask.

        Example:
            >>> ds[14]["tokens"]
            array([0, 1, 2, 3])
            >>> len(ds[10:20])
            10
            >>> ds[[0, -1]]["x"]
            array([ 0., 99.], dtype=float32)
        """
        if isinstance(key, slice):
            return self._with(slice_elements(self._pipeline, key, lambda: len(self)))
        if isinstance(key, Sequence | np.ndarray):
            return self._access.elements(key)
        return self._access.element(key)

    def record(self, index: int) -> bytes:
        """Return the record of an element as it is stored; its payload need not be an Example.

        Example:
            >>> type(ds.record(0))
            <class 'bytes'>
        """
        return self._access.record(index)

    def records(self, indexes: Sequence[int] | NDArray[Any]) -> list[bytes]:
        """Return the records of elements as they are stored.

        Example:
            >>> len(ds.records([5, 90]))
            2
        """
        return self._access.records(indexes)

    # Iteration.

    def __iter__(self) -> DatasetIterator[T_co]:
        iterator: DatasetIterator[T_co] = DatasetIterator(self._pipeline, self._next_epoch, self._epoch_started)
        self._epoch_started(iterator.epoch)
        return iterator

    def _epoch_started(self, epoch: int) -> None:
        self._next_epoch = epoch + 1

    def epoch(self, number: int) -> Dataset[T_co]:
        """Return a dataset whose next ``iter()`` is this epoch.

        Example:
            >>> shuffled = ds.shuffle(seed=7)
            >>> first = [example["x"] for example in shuffled]
            >>> first == [example["x"] for example in shuffled]  # epoch 1
            False
            >>> first == [example["x"] for example in shuffled.epoch(0)]
            True
        """
        return Dataset._of(self._pipeline, int_at_least("number", number, 0))

    def progress(self, name: str = "") -> Iterator[T_co]:
        """Iterate one epoch with a progress bar: the rate, the share that is done, and where the time goes.

        Without a terminal, a line is logged every 30 seconds to the logger ``penstock``.

        Example:
            >>> sum(len(batch["x"]) for batch in ds.batch(10).progress("training"))
            100
        """
        iterator, start = iter(self), self._pipeline.start
        # Remote files without known counts would be read twice, once to be counted.
        is_unknown = isinstance(start, ReadRows) and start.is_remote and not start.source.shards.counted
        total = None if is_unknown else self._pipeline.length(Epoch(iterator.epoch))
        return show_progress(iterator, iterator.meter, total=total, name=name)

    # Columns.

    def select_columns(self, names: Iterable[str]) -> Dataset[T_co]:
        """Return the dataset with these columns, in this order; the others are not decoded.

        Example:
            >>> ds.select_columns(["label"]).column_names
            ['label']
        """
        return self._with(select_columns(self._pipeline, names_in(names)))

    def drop_columns(self, names: Iterable[str]) -> Dataset[T_co]:
        """Return the dataset without these columns, which are not decoded.

        Example:
            >>> ds.drop_columns(["tokens"]).column_names
            ['x', 'label']
        """
        return self._with(drop_columns(self._pipeline, names_in(names)))

    def rename_columns(self, names: Mapping[str, str]) -> Dataset[T_co]:
        """Return the dataset with other names for some columns.

        Args:
            names: The new name of each column that gets one; the others keep theirs. Names can be swapped.

        Example:
            >>> ds.rename_columns({"label": "class"}).column_names
            ['x', 'class', 'tokens']
        """
        return self._with(rename_columns(self._pipeline, names))

    def cast(self, dtypes: Mapping[str, DtypeLike]) -> Dataset[T_co]:
        """Return the dataset with other dtypes for some columns.

        Numbers are cast to numbers, and bytes to str and back. A value that the new dtype cannot hold raises an error:
        a fraction as an integer, a number out of range, bytes that are no UTF-8. Only floats are rounded, to floats.

        Args:
            dtypes: The new dtype of each column that gets one, such as ``"int32"``, ``float`` or ``np.uint8``.

        Example:
            >>> ds.cast({"label": "int32"})[3]["label"].dtype
            dtype('int32')
        """
        return self._then(CastStage.of(self._pipeline.schema, dtypes))

    def with_allocator(self, allocate: Allocate) -> Dataset[T_co]:
        """Decode dense columns into memory from ``allocate(name, shape, dtype)``, such as pinned or shared memory.

        Example:
            >>> def allocate(name, shape, dtype):
            ...     return np.empty(shape, dtype)
            >>> next(iter(ds.with_allocator(allocate).batch(4)))["x"]
            array([0., 1., 2., 3.], dtype=float32)
        """
        reads = self._pipeline.require_reads("with_allocator()")
        return self._with(self._pipeline.with_start(replace(reads, source=reads.source.with_allocator(allocate))))

    # Choice and order.

    def take(self, count: int) -> Dataset[T_co]:
        """Return the first ``count`` elements.

        Example:
            >>> len(ds.take(10))
            10
        """
        return self._with(take(self._pipeline, count))

    def skip(self, count: int) -> Dataset[T_co]:
        """Return all elements but the first ``count``.

        Example:
            >>> len(ds.skip(90))
            10
        """
        return self._with(skip(self._pipeline, count))

    def select(self, positions: Sequence[int] | NDArray[Any]) -> Dataset[T_co]:
        """Return the elements at some positions, in that order.

        Example:
            >>> held_out = ds.select(np.arange(0, len(ds), 5))
            >>> len(held_out)
            20
        """
        return self._with(select(self._pipeline, positions_in(positions, self._access.length)))

    def sort(self, by: str | Iterable[str], *, descending: bool = False) -> Dataset[T_co]:
        """Return the elements in the order of one or several columns.

        The columns are read when the order is first needed, without the others. Elements with equal keys stay in their
        order; texts compare by code points; NaN and then absent values come last. Memory: 8 bytes for each element, and
        the keys while they are sorted.

        Args:
            by: A column of single values, or several, the first one first.
            descending: Largest first; NaN first, absent values last.

        Example:
            >>> [int(example["x"]) for example in ds.sort("label", descending=True).take(4)]
            [9, 19, 29, 39]
        """
        arrangement = SortArrangement(_one_or_more(by), bool(descending))
        return self._with(arrange(self._pipeline, "sort()", arrangement)[0])

    def unique(self, by: str | Iterable[str] | None = None) -> Dataset[T_co]:
        """Return the first element of each key; all others are duplicates.

        The columns are read when the elements are first needed, without the others. Memory: 8 bytes for each element,
        and the keys while they are compared. Lists and arrays are compared by a digest of 16 bytes, images by their
        stored bytes.

        Args:
            by: The column, or columns, that make the key; None: all of them.

        Example:
            >>> [int(example["label"]) for example in ds.unique("label")]
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
        """
        arrangement = UniqueArrangement(None if by is None else _one_or_more(by))
        return self._with(arrange(self._pipeline, "unique()", arrangement)[0])

    def split(
        self, fractions: Mapping[str, float], *, by: str | Iterable[str] | None = None, seed: int | None = None
    ) -> dict[str, Dataset[T_co]]:
        """Divide the elements into datasets, each element into one of them.

        With ``by``, a hash of the key decides: equal keys are in the same dataset, and an element stays in its own when
        others are added or removed, or the order changes. The sizes are approximate. Without it, positions are drawn
        with the ``seed``, and the sizes are exact. Either way, the same in each epoch, process and version.

        Args:
            fractions: The name of each dataset, and its share of the elements; the shares add up to 1.
            by: The column, or columns, that make the key.
            seed: From 0 to 2**64 - 1; with ``by``, another seed is another hash.

        Example:
            >>> parts = ds.split({"train": 0.8, "test": 0.2}, seed=1)
            >>> len(parts["train"]), len(parts["test"])
            (80, 20)
            >>> parts = ds.split({"train": 0.8, "test": 0.2}, by="x")
            >>> len(parts["train"]) + len(parts["test"])
            100
        """
        arrangement = SplitArrangement.of(fractions, () if by is None else _one_or_more(by), seed)
        parts = arrange(self._pipeline, "split()", arrangement, len(arrangement.names))
        return {name: self._with(part) for name, part in zip(arrangement.names, parts, strict=True)}

    @_by_keyword(
        "shuffle() shuffles all elements, so it takes no buffer size: write shuffle(seed=...), or "
        "shuffle(seed=..., window={0}) to mix elements within windows of {0}"
    )
    def shuffle(self, *, seed: int, window: int | None = None) -> Dataset[T_co]:
        """Shuffle the elements, in another order in each epoch.

        All of them, and without a buffer: a pseudo-random permutation determines which element comes next.

        Args:
            seed: An integer from 0 to 2**64 - 1. The same seed and epoch give the same order.
            window: Shuffle runs of rows, and mix the rows within windows of about this many: for files where seeking
                is slow or, as in one gzip stream, impossible.

        Example:
            >>> [int(example["x"]) for example in ds.take(5).shuffle(seed=7)]
            [0, 3, 2, 4, 1]
        """
        return self._with(shuffle(self._pipeline, seed, window))

    def interleave(self, cycle: int | None = None) -> Dataset[T_co]:
        """Read one row of each file in turn, from ``cycle`` files at a time; None: from all files.

        Example:
            >>> [int(example["x"]) for example in ds.interleave().take(5)]
            [0, 25, 50, 75, 1]
        """
        return self._with(interleave(self._pipeline, cycle))

    def shard(self, rank: int, world: int, *, remainder: Remainder = "keep") -> Dataset[T_co]:
        """Return the share of one of ``world`` ranks: no element twice, none missing.

        Unshuffled rows are dealt in runs, so that a rank reads its own part of the files only: runs of a batch if
        ``batch()`` follows, of about 1 MiB otherwise. Other elements are dealt one by one.

        Args:
            rank: Which share, from 0 to ``world - 1``.
            world: The number of shares.
            remainder: What to do with elements that cannot be divided evenly: ``"keep"`` them, so that some ranks
                have one more; ``"drop"`` them; or ``"repeat"`` some, so that all ranks have the same number and none
                is missing.

        Example:
            >>> [len(ds.shard(rank, 3)) for rank in range(3)]
            [34, 33, 33]
        """
        return self._with(shard(self._pipeline, rank, world, remainder))

    def repeat(self, times: int | None = None) -> Dataset[T_co]:
        """Iterate ``times`` epochs, or without end; a shuffle before it has another order in each.

        Example:
            >>> len(ds.repeat(3))
            300
        """
        return self._with(repeat(self._pipeline, times))

    # Functions, batches, caches.

    @overload
    def map(
        self, fn: Callable[[T_co], U], *, workers: int = 0, processes: bool = False, seed: None = None
    ) -> Dataset[U]: ...

    @overload
    def map(
        self, fn: Callable[[T_co, np.random.Generator], U], *, workers: int = 0, processes: bool = False, seed: int
    ) -> Dataset[U]: ...

    def map(
        self, fn: Callable[..., Any], *, workers: int = 0, processes: bool = False, seed: int | None = None
    ) -> Dataset[Any]:
        """Apply a function to every element: to examples, or after ``batch()`` to batches.

        Args:
            fn: Called with an element, and with a ``np.random.Generator`` where there is a ``seed``.
            workers: Call it ahead of the loop, on this many threads. The order of the elements stays.
            processes: Make the workers processes, for functions that hold the GIL. The function must pickle.
            seed: Each element gets a generator that depends on the seed, the epoch and the record alone, not on
                workers, ranks, or the step that a run was resumed at.

        Example:
            >>> def add_noise(example, rng):
            ...     return {**example, "x": example["x"] + rng.normal()}
            >>> noisy = ds.map(add_noise, seed=1)
            >>> bool(noisy[3]["x"] == noisy[3]["x"])
            True
        """
        return self._then(MapStage(fn, workers=workers, processes=processes, seed=any_seed(seed)))

    def map_images(
        self: Dataset[dict[str, Any]],
        transform: ImageTransform,
        *,
        columns: Iterable[str] | None = None,
        seed: int = 0,
        threads: int | None = None,
        decode: bool = True,
    ) -> Dataset[dict[str, Any]]:
        """Decode pictures and crop, resize, flip and normalize them, in one native step per picture.

        Lists of pictures and frames of a SequenceExample become ragged columns of pictures.

        Args:
            transform: What to make of each picture.
            columns: Columns of encoded pictures; by default all features that the schema has as images.
            seed: Random parts and flips depend on the seed, the epoch and the record alone, not on threads, ranks, or
                the step that a run was resumed at.
            threads: Native threads; by default those of the dataset.
            decode: False leaves JPEG pictures encoded, for ``penstock.frameworks.torch.feed(ds, images=transform)``
                to decode on a GPU, and adds a column NAME_part: top, left, height, width and flip of each.

        Example:
            >>> schema = ps.Schema({"image": ps.Feature("uint8", (None, None, 3), encoding="png"), "label": int})
            >>> images = np.zeros((8, 40, 60, 3), np.uint8)
            >>> _ = ps.write("pictures", {"image": images, "label": np.arange(8)}, schema=schema)
            >>> training = ps.ImageTransform(random_resized_crop=32, flip=True, layout="CHW")
            >>> next(iter(ps.Dataset("pictures").map_images(training, seed=7).batch(4)))["image"].shape
            (4, 3, 32, 32)
        """
        names = None if columns is None else names_in(columns)
        return self._with(
            map_images(self._pipeline, transform, names, seed=operator.index(seed), threads=threads, decode=decode)
        )

    @overload
    def flat_map(
        self, fn: Callable[[T_co], Iterable[U]], *, workers: int = 0, processes: bool = False, seed: None = None
    ) -> Dataset[U]: ...

    @overload
    def flat_map(
        self,
        fn: Callable[[T_co, np.random.Generator], Iterable[U]],
        *,
        workers: int = 0,
        processes: bool = False,
        seed: int,
    ) -> Dataset[U]: ...

    def flat_map(
        self, fn: Callable[..., Any], *, workers: int = 0, processes: bool = False, seed: int | None = None
    ) -> Dataset[Any]:
        """Apply a function that returns any number of elements for each one: a list, a generator, a batch of rows.

        The results of up to 256 elements are in memory at a time. The arguments are those of :meth:`map`.

        Example:
            >>> tokens = ds.flat_map(lambda example: [{"token": token} for token in example["tokens"]])
            >>> [int(row["token"]) for row in tokens.take(6)]
            [0, 0, 1, 0, 1, 2]
        """
        return self._then(FlatMapStage(fn, workers=workers, processes=processes, seed=any_seed(seed)))

    def filter(
        self,
        fn: Callable[..., Any] | str | RowCondition,
        *,
        columns: Iterable[str] | None = None,
        workers: int = 0,
        processes: bool = False,
        seed: int | None = None,
    ) -> Dataset[T_co]:
        """Return the elements for which a function returns true, or the rows that meet a condition.

        Args:
            fn: A function, called as in :meth:`map`; or a condition on columns, ``"label == 3 and len(tokens) > 2"``,
                evaluated for many rows at once (:class:`penstock.expression.RowCondition`).
            columns: The columns that the function gets. Where rows are read, only these are decoded of the rows that
                it rejects. A condition names its columns itself.
            workers: As in :meth:`map`.
            processes: As in :meth:`map`.
            seed: As in :meth:`map`.

        Example:
            >>> len(list(ds.filter(lambda example: example["label"] == 3)))
            10
            >>> len(list(ds.filter(lambda example: len(example["tokens"]) > 2, columns=["tokens"])))
            40
            >>> len(list(ds.filter("label == 3 or x >= 98")))
            12
        """
        if isinstance(fn, str | RowCondition):
            if columns is not None or workers or processes or seed is not None:
                raise TypeError("filter() with a condition takes no other arguments: it names its columns itself")
            return self._with(filter_where(self._pipeline, RowCondition(fn) if isinstance(fn, str) else fn))
        names = None if columns is None else names_in(columns)
        stage = FilterStage(fn, workers=workers, processes=processes, seed=any_seed(seed), columns=names)
        return self._with(filter_by(self._pipeline, stage))

    @overload
    def batch(
        self: Dataset[Mapping[str, Any]], size: int, *, drop_last: bool = False, pad: Padding = None
    ) -> Dataset[Batch]: ...

    @overload
    def batch(self, size: int, *, drop_last: bool = False, pad: Padding = None) -> Dataset[Any]: ...

    def batch(self, size: int, *, drop_last: bool = False, pad: Padding = None) -> Dataset[Any]:
        """Group elements into batches of columns.

        Rows of different lengths become :class:`penstock.Ragged` columns.

        Args:
            size: Elements per batch.
            drop_last: Drop the last batch where it is smaller.
            pad: Make arrays of ragged columns. True pads all of them to the longest row of the batch, with zeros; a
                dict names columns, each with a value or a :class:`penstock.Pad`.

        Example:
            >>> batch = next(iter(ds.batch(32, pad={"tokens": ps.Pad(-1, length=6)})))
            >>> batch["x"].shape, batch["tokens"].shape
            ((32,), (32, 6))
        """
        return self._with(batch(self._pipeline, size, drop_last=drop_last, pad=pad))

    @overload
    def window(
        self: Dataset[Mapping[str, Any]], size: int, *, shift: int | None = None, drop_last: bool = False
    ) -> Dataset[Batch]: ...

    @overload
    def window(self, size: int, *, shift: int | None = None, drop_last: bool = False) -> Dataset[Any]: ...

    def window(self, size: int, *, shift: int | None = None, drop_last: bool = False) -> Dataset[Any]:
        """Group successive elements into batches that can overlap, such as stretches of a time series.

        Args:
            size: Elements per window.
            shift: How many elements after the start of a window the next one starts; None: ``size``.
            drop_last: Drop the last windows where they are smaller.

        Example:
            >>> [window["x"].tolist() for window in ds.take(5).window(3, shift=1, drop_last=True)]
            [[0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]
        """
        size = int_at_least("size", size, 1)
        return self._then(WindowStage(size, size if shift is None else int_at_least("shift", shift, 1), drop_last))

    @overload
    def bucket(
        self: Dataset[Mapping[str, Any]],
        boundaries: Sequence[int],
        sizes: int | Sequence[int],
        *,
        key: str | Callable[[Any], int],
        drop_last: bool = False,
        pad: Padding = None,
    ) -> Dataset[Batch]: ...

    @overload
    def bucket(
        self,
        boundaries: Sequence[int],
        sizes: int | Sequence[int],
        *,
        key: str | Callable[[Any], int],
        drop_last: bool = False,
        pad: Padding = None,
    ) -> Dataset[Any]: ...

    def bucket(
        self,
        boundaries: Sequence[int],
        sizes: int | Sequence[int],
        *,
        key: str | Callable[[Any], int],
        drop_last: bool = False,
        pad: Padding = None,
    ) -> Dataset[Any]:
        """Group elements of similar length into batches.

        Args:
            boundaries: Bucket ``i`` holds lengths from ``boundaries[i - 1]`` to below ``boundaries[i]``; the last
                bucket holds the rest.
            sizes: Elements per batch: one number, or one for each bucket, ``len(boundaries) + 1`` of them.
            key: What has the length: a column, or a function that returns the length of an element.
            drop_last: Drop buckets that are not full at the end.
            pad: As in :meth:`batch`.

        Example:
            >>> for batch in ds.bucket([3], 40, key="tokens"):
            ...     print(batch["tokens"].lengths.min(), batch["tokens"].lengths.max(), batch.num_rows)
            0 2 40
            3 4 40
            0 2 20
        """
        # As JSON has them, in a saved state; NumPy integers, too.
        boundaries, sizes = np.asarray(boundaries).tolist(), np.asarray(sizes).tolist()
        return self._then(BucketStage(boundaries, sizes, key=key, drop_last=drop_last, pad=pad))

    def pack(
        self: Dataset[Mapping[str, Any]], length: int, *, key: str | Iterable[str] = "tokens", drop_last: bool = False
    ) -> Dataset[Row]:
        """Concatenate the lists of all elements, such as the tokens of documents, and cut them into rows of one length.

        A list that does not fit continues in the next row, so that no value is lost and only the last row is padded,
        with zeros. A row has the column ``tokens`` of ``length`` values, ``tokens_segment_ids`` (1 for the first list
        in the row, 2 for the second; 0 is padding) and ``tokens_positions`` (from 0 in each segment). Other columns
        are dropped. Iterations resume exactly, within lists too.

        Args:
            length: Values per row.
            key: The column of lists; or several with lists of equal length, such as tokens and their weights.
            drop_last: Drop the last row where it is not full.

        Example:
            >>> for row in ds.skip(2).take(4).pack(4):
            ...     print(row["tokens"], row["tokens_segment_ids"], row["tokens_positions"])
            [0 1 0 1] [1 1 2 2] [0 1 0 1]
            [2 0 1 2] [1 2 2 2] [0 0 1 2]
            [3 0 0 0] [1 0 0 0] [0 0 0 0]
        """
        return self._then(PackListsStage(int_at_least("length", length, 1), _one_or_more(key), drop_last))

    @overload
    def unbatch(self: Dataset[Batch] | Dataset[Mapping[str, Any]]) -> Dataset[Row]: ...

    @overload
    def unbatch(self) -> Dataset[Any]: ...

    def unbatch(self) -> Dataset[Any]:
        """Return the rows of batches as elements.

        Example:
            >>> rows = ds.batch(10).map(lambda batch: batch.take([0, 1])).unbatch()
            >>> [int(row["x"]) for row in rows.take(4)]
            [0, 1, 10, 11]
        """
        return self._then(UnbatchStage())

    def prefetch(self, elements: int) -> Dataset[T_co]:
        """Prepare up to ``elements`` elements ahead of the loop, on a thread.

        Reading and decoding are always ahead: this is for functions without ``workers``. Examples are prepared in
        blocks of up to 256; after ``batch()``, ``prefetch(2)`` holds two batches.

        Example:
            >>> len(list(ds.batch(10).map(dict).prefetch(2)))
            10
        """
        return self._then(PrefetchStage(int_at_least("elements", elements, 1)))

    def cache(self, path: StrPath | None = None, *, key: str | None = None) -> Dataset[T_co]:
        """Store the elements of the first complete epoch, for later epochs.

        A cache on disk is found again by the files (their size, both ends of their content, and when they were last
        changed) and by everything done to them, the code of functions included.

        Args:
            path: A folder on this machine. None stores elements in memory.
            key: Names what a function does where its code cannot be compared.

        Example:
            >>> ds.map(lambda example: example["x"] * 2).cache().shuffle(seed=7)
            <Dataset of 4 files, 100 records: x, label, tokens; map(<lambda>), cache(), shuffle(seed=7)>
        """
        return self._with(cache(self._pipeline, path, key))

    # Several datasets.

    def concat(self, *others: Dataset[U]) -> Dataset[T_co | U]:
        """Append the elements of other datasets.

        Example:
            >>> len(ds.concat(ds.take(5)))
            105
        """
        return self._with(reduce(concat, self._pipelines("concat", others)))

    @overload
    def zip(self, other: Dataset[U], /) -> Dataset[tuple[T_co, U]]: ...

    @overload
    def zip(self, second: Dataset[U], third: Dataset[V], /) -> Dataset[tuple[T_co, U, V]]: ...

    @overload
    def zip(self, *others: Dataset[Any]) -> Dataset[tuple[Any, ...]]: ...

    def zip(self, *others: Dataset[Any]) -> Dataset[Any]:
        """Return tuples of the elements of this dataset and others; the shortest ends them.

        Example:
            >>> left, right = ds.zip(ds.skip(1))[0]
            >>> int(left["x"]), int(right["x"])
            (0, 1)
        """
        return self._with(Pipeline(ZipStart(self._pipelines("zip", others))))

    def mix(self, *others: Dataset[U], weights: Sequence[float], seed: int, stop: Stop = "first") -> Dataset[T_co | U]:
        """Draw each element from this dataset or one of the others, at random.

        Datasets of local files with one schema, without functions, make a mix with an index: it is shuffled, sharded
        and sliced exactly, and resumes with another number of ranks.

        Args:
            others: The other datasets.
            weights: How often each dataset is drawn from, in proportion, this one first.
            seed: The same seed and epoch give the same choice.
            stop: What happens when a dataset is drawn that has ended: with ``"first"``, the mix ends; with ``"all"``,
                it continues with the others; with ``"never"``, the dataset starts again.

        Example:
            >>> mixed = ds.mix(ds.skip(50), weights=[3, 1], seed=0, stop="all")
            >>> len(list(mixed))
            150
        """
        children, shares = self._pipelines("mix", others), tuple(float(weight) for weight in weights)
        return self._with(Pipeline(MixStart(children, shares, operator.index(seed), stop)))

    def _pipelines(self, method: str, others: tuple[Dataset[Any], ...]) -> tuple[Pipeline, ...]:
        for other in others:
            if not isinstance(other, Dataset):
                found = f"{type(other).__module__}.{type(other).__qualname__}".removeprefix("builtins.")
                raise TypeError(f"{method}() takes datasets, one argument each, not {found}")
        return self._pipeline, *(other._pipeline for other in others)

    # Other formats.

    def to_arrow(self) -> Any:
        """Read all elements into a ``pyarrow.Table``; images stay encoded.

        The schema is stored in the table, and through Parquet: :func:`penstock.write` writes the same records of it.
        Data that does not fit memory is streamed: ``pyarrow.RecordBatchReader.from_stream(ds)``.

        Example:
            >>> ds.to_arrow().num_rows
            100
        """
        return read_table(self._pipeline, self._iterate)

    def to_pandas(self) -> Any:
        """Read all elements into a ``pandas.DataFrame``; images stay encoded.

        Integers and bools with absent values get the nullable dtypes of pandas, so that no integer becomes a float.

        Example:
            >>> ds.to_pandas()["label"].value_counts()[3].item()
            10
        """
        return read_pandas(self.to_arrow())

    def to_polars(self) -> Any:
        """Read all elements into a ``polars.DataFrame``; images stay encoded.

        Example:
            >>> ds.to_polars().filter(label=3).height
            10
        """
        return import_extra("polars", "polars", "data frames of Polars").DataFrame(self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return open_plain_arrow(self._pipeline, self._iterate).__arrow_c_stream__(requested_schema)

    def _open_arrow(self) -> Any:
        """Return a ``pyarrow.RecordBatchReader``."""
        return open_arrow(self._pipeline, self._iterate)

    def _iterate(self, pipeline: Pipeline) -> Iterator[Any]:
        return iter(self._with(pipeline))

    def _as_stored(self) -> tuple[Dataset[Any], Schema] | None:
        """Return the dataset with images encoded, and the schema to write it by; None where functions change rows."""
        stored = keep_encoded(self._pipeline)
        return None if stored is None else (self._with(stored[0]), stored[1])

    def _stored_rows(self) -> StoredRows:
        """Return the records of the dataset, for copying them as they are stored."""
        epoch = self._next_epoch
        self._epoch_started(epoch)
        return stored_rows(self._pipeline, epoch)

    def _rewritten_rows(self) -> Generator[RewrittenRows, None, None] | None:
        """Return the records of the dataset as they are written, not decoded; None where that takes their values."""
        change = rewrite_of(self._pipeline)
        if change is None:
            return None
        epoch = self._next_epoch
        self._epoch_started(epoch)
        return rewritten_rows(self._pipeline, change, epoch)

    def _traced(self) -> tuple[Dataset[Any], Schema | None]:
        """Return one epoch of the dataset with stored bytes next to decoded arrays, and the schema that it reads."""
        pipeline, schema = carry_stored_values(self._pipeline)
        epoch = self._next_epoch
        self._epoch_started(epoch)
        return Dataset._of(pipeline, epoch), schema
