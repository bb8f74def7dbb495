"""Beam over TFRecords: sources that split within files, also while they run, and a sink that commits at the end.

>>> import penstock.beam  # needs pip install 'penstock[beam]'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any
from uuid import uuid4

from penstock.codec.encode_values import Float64
from penstock.dataset.dataset import Dataset
from penstock.engines.arrow_scan import ArrowScan
from penstock.engines.parts import check_path, check_same_key, commit_parts, name_of_key, rows_by_key
from penstock.engines.splits import TaskRows, absolute, open_dataset, plan_splits
from penstock.errors import import_extra
from penstock.manifest import Manifest
from penstock.schema import Schema
from penstock.storage import StrPath, path_text
from penstock.writing import Writer
from penstock.writing.write import write as write_dataset

import_extra("apache_beam", "beam", "penstock.beam")

import apache_beam as beam  # noqa: E402
from apache_beam.io import iobase  # noqa: E402
from apache_beam.io.range_trackers import OffsetRangeTracker, UnsplittableRangeTracker  # noqa: E402

__all__ = ["ReadAllFromPenstock", "ReadFromPenstock", "WriteToPenstock"]


class _Elements:
    """What a source yields of a dataset: Arrow batches, or rows."""

    def __init__(self, columns: Iterable[str] | None, batch: int | None, decode: bool) -> None:
        self.columns = None if columns is None else list(columns)
        self.batch, self.decode = batch, decode

    def batches(self, dataset: Dataset[Any]) -> Iterator[Any]:
        """Yield Arrow batches, of the size that was asked for where one was."""
        scan = ArrowScan(dataset, decode=self.decode, rows_per_batch=self.batch)
        yield from scan.batches(self.columns)


class _Source(iobase.BoundedSource):
    """The rows of a dataset; positions are row numbers, so a split falls between records."""

    def __init__(self, split: TaskRows, elements: _Elements) -> None:
        self._split, self._elements = split, elements

    def estimate_size(self) -> int:
        return self._split.num_bytes

    def split(
        self, desired_bundle_size: int, start_position: int | None = None, stop_position: int | None = None
    ) -> Iterator[iobase.SourceBundle]:
        dataset = self._split.dataset
        if start_position is not None or stop_position is not None:
            dataset = dataset[start_position:stop_position]
        count = max(1, round(self._split.num_bytes / max(1, desired_bundle_size)))
        for split in plan_splits(dataset, count):
            source = _Source(split, self._elements)
            tracker = source.get_range_tracker(None, None)
            yield iobase.SourceBundle(split.num_bytes, source, tracker.start_position(), tracker.stop_position())

    def get_range_tracker(self, start_position: int | None, stop_position: int | None) -> Any:
        start = start_position or 0
        stop = self._split.rows if stop_position is None else stop_position
        if stop is None or stop == OffsetRangeTracker.OFFSET_INFINITY:
            return UnsplittableRangeTracker(OffsetRangeTracker(start, OffsetRangeTracker.OFFSET_INFINITY))
        return OffsetRangeTracker(start, max(start, stop))

    def read(self, range_tracker: Any) -> Iterator[Any]:
        at, stop = range_tracker.start_position(), range_tracker.stop_position()
        dataset = self._split.dataset
        if at or (stop != OffsetRangeTracker.OFFSET_INFINITY and stop != self._split.rows):
            dataset = dataset[at : None if stop == OffsetRangeTracker.OFFSET_INFINITY else stop]
        for batch in self._elements.batches(dataset):
            if self._elements.batch is None:
                for number, row in enumerate(batch.to_pylist(), at):
                    if not range_tracker.try_claim(number):
                        return
                    yield row
            else:
                if not range_tracker.try_claim(at):
                    return
                # From here on, no split falls into this batch; one that did before has moved the stop.
                range_tracker.set_current_position(at + batch.num_rows - 1)
                yield batch.slice(0, min(batch.num_rows, range_tracker.stop_position() - at))
            at += batch.num_rows


class ReadFromPenstock(beam.PTransform):
    """Read TFRecords as Arrow batches, or as rows.

    Files are split at records that their index lists, when the pipeline starts and again while it runs. Plain files are
    split, gzip that Penstock wrote, and other gzip and zlib files whose index has restart points.

    Args:
        pattern: What :class:`penstock.Dataset` opens, or a dataset before ``batch()``.
        columns: The columns to decode; None decodes all.
        batch: The rows of a ``pyarrow.RecordBatch``; None yields rows, as dicts.
        decode: Decode images and tensors. By default they stay encoded, as bytes.
        options: Those of :class:`penstock.Dataset`.

    Example:
        >>> with beam.Pipeline() as pipeline:
        ...     batches = pipeline | penstock.beam.ReadFromPenstock("train", columns=["x"], batch=50)
        ...     rows = batches | beam.Map(lambda batch: batch.num_rows) | beam.CombineGlobally(sum)
        ...     _ = rows | beam.Map(print)
        100
    """

    def __init__(
        self,
        pattern: StrPath | Iterable[StrPath] | Dataset[Any],
        *,
        columns: Iterable[str] | None = None,
        batch: int | None = 1024,
        decode: bool = False,
        **options: Any,
    ) -> None:
        super().__init__()
        self._sources = _sources(pattern, options, _Elements(columns, batch, decode))

    def expand(self, pbegin: Any) -> Any:
        """Return the PCollection of elements."""
        sources = pbegin | beam.Create(self._sources).with_output_types(iobase.BoundedSource)
        return sources | beam.Reshuffle() | iobase.SDFBoundedSourceReader({})


class ReadAllFromPenstock(beam.PTransform):
    """Read the TFRecords that the elements of a PCollection name, each as :class:`ReadFromPenstock` does.

    Args:
        columns: The columns to decode; None decodes all.
        batch: The rows of a ``pyarrow.RecordBatch``; None yields rows, as dicts.
        decode: Decode images and tensors. By default they stay encoded, as bytes.
        options: Those of :class:`penstock.Dataset`.

    Example:
        >>> with beam.Pipeline() as pipeline:
        ...     rows = pipeline | beam.Create(["train"]) | penstock.beam.ReadAllFromPenstock(batch=None)
        ...     _ = rows | beam.combiners.Count.Globally() | beam.Map(print)
        100
    """

    def __init__(
        self,
        *,
        columns: Iterable[str] | None = None,
        batch: int | None = 1024,
        decode: bool = False,
        **options: Any,
    ) -> None:
        super().__init__()
        self._elements, self._options = _Elements(columns, batch, decode), options

    def expand(self, paths: Any) -> Any:
        """Return the PCollection of elements."""
        sources = paths | beam.FlatMap(_sources, self._options, self._elements).with_output_types(iobase.BoundedSource)
        return sources | beam.Reshuffle() | iobase.SDFBoundedSourceReader({})


def _sources(data: Any, options: dict[str, Any], elements: _Elements) -> list[_Source]:
    """Return a source for each file; they are split when the pipeline runs."""
    return [_Source(rows, elements) for rows in plan_splits(open_dataset(data, options), 1)]


class WriteToPenstock(beam.PTransform):
    """Write rows, or batches of them, as a dataset: shards, and a manifest when all of them are complete.

    A bundle that runs twice is written once, and a pipeline that fails leaves nothing that a reader sees.

    Args:
        path: The name of the dataset, as for :func:`penstock.write`: a path that all workers reach, or a URL.
        schema: What the records hold.
        shards: The number of shards. By default each bundle of elements writes one.
        by: Write one dataset for each value of a column, or of a function of rows, named by it in the folder ``path``,
            escaped as Hive does; that of None is ``path/__HIVE_DEFAULT_PARTITION__``.
        compression: As for :func:`penstock.write`.
        level: As for :func:`penstock.write`.
        float64: As for :func:`penstock.write`.
        replace: Replace datasets of the same name; without, it is an error if there is one.
        sync: Wait until the files are on the disk.

    Returns:
        A PCollection of manifests; with ``by``, of pairs of a key and a manifest.

    Example:
        >>> with beam.Pipeline() as pipeline:
        ...     rows = pipeline | beam.Create([{"x": x} for x in range(10)])
        ...     written = rows | penstock.beam.WriteToPenstock("numbers", schema=ps.Schema({"x": int}), shards=2)
        ...     _ = written | beam.Map(print)
        <Manifest of 10 records in 2 shards, 300 bytes: x>
    """

    def __init__(
        self,
        path: StrPath,
        *,
        schema: Schema,
        shards: int | None = None,
        by: str | Callable[[dict[str, Any]], Any] | None = None,
        compression: str | None = "",
        level: int = 2,
        float64: Float64 | None = None,
        replace: bool = False,
        sync: bool = False,
    ) -> None:
        super().__init__()
        text = path_text(path)
        self._path = absolute(text) if by is not None else check_path(text, can_exist=replace)
        self._schema, self._shards, self._by = schema, shards, by
        self._replace, self._sync = replace, sync
        self._options = {"compression": compression, "level": level, "float64": float64, "sync": sync}

    def expand(self, elements: Any) -> Any:
        """Return the PCollection of manifests."""
        write = _Part(self._path, self._schema, self._options)
        commit = {"replace": self._replace, "sync": self._sync}
        if self._by is not None:
            keyed = elements | beam.FlatMap(_keyed, self._by)
            if self._shards:
                keyed = keyed | beam.ParDo(_Deal(self._shards))
            else:
                keyed = keyed | beam.Map(lambda item: ((item[0], 0), item[1]))
            return (
                keyed
                | "Group rows" >> beam.GroupByKey()
                | beam.MapTuple(lambda place, items: (place[0], write.of_key(items, place[1], place[0])))
                | "Group parts" >> beam.GroupByKey()
                | beam.MapTuple(lambda name, parts: _commit_key(f"{write.path}/{name}", parts, commit))
            )
        if self._shards:
            parts = (
                elements
                | beam.Map(lambda element: (None, element))
                | beam.ParDo(_Deal(self._shards))
                | beam.GroupByKey()
                | beam.MapTuple(lambda key, rows: (key[1], write(rows, key[1])))
            )
        else:
            parts = elements | beam.ParDo(_WriteBundle(write))
        schema = self._schema
        return (
            elements.pipeline
            | beam.Create([write.path])
            | beam.Map(lambda path, parts: _commit(path, parts, commit, schema), beam.pvalue.AsList(parts))
        )


class _Part:
    """Writes elements as a part."""

    def __init__(self, path: str, schema: Schema, options: dict[str, Any]) -> None:
        self.path, self.schema, self.options = path, schema, options

    def open(self, part: str | int, name: str | None = None) -> Writer:
        """Return a writer of a part of the dataset, or of one of a name in its folder."""
        path = self.path if name is None else f"{self.path}/{name}"
        return Writer(path, schema=self.schema, part=part, progress=False, **self.options)

    def __call__(self, elements: Iterable[Any], part: str | int) -> Manifest:
        with self.open(part) as writer:
            for element in elements:
                _write(writer, element)
        return writer.manifest

    def of_key(self, items: Iterable[tuple[Any, Any]], part: int, name: str) -> tuple[int, tuple[Any, Manifest]]:
        """Write the elements of a key, which come with it, as a part of the dataset of that name."""
        keys: list[Any] = []
        with self.open(part, name) as writer:
            for key, element in items:
                keys = keys or [key]
                check_same_key(keys[0], key)
                _write(writer, element)
        return part, (keys[0], writer.manifest)


def _write(writer: Writer, element: Any) -> None:
    (writer.write if isinstance(element, dict) else writer.write_batch)(element)


class _WriteBundle(beam.DoFn):
    """Writes each bundle as a part, of a name of its own: the parts of bundles that fail are never committed."""

    def __init__(self, part: _Part) -> None:
        self._part = part
        self._writer: Writer | None = None

    def start_bundle(self) -> None:
        self._writer = None  # an earlier bundle may have failed

    def process(self, element: Any) -> None:
        if self._writer is None:
            self._key = uuid4().hex
            self._writer = self._part.open(self._key)
        _write(self._writer, element)

    def finish_bundle(self) -> Iterator[Any]:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
            yield beam.transforms.window.GlobalWindows.windowed_value((self._key, writer.manifest))


class _Deal(beam.DoFn):
    """Deals elements to shards."""

    def __init__(self, shards: int) -> None:
        self._shards, self._next = shards, 0

    def start_bundle(self) -> None:
        self._next = uuid4().int % self._shards

    def process(self, item: tuple[Any, Any]) -> Iterator[Any]:
        self._next = (self._next + 1) % self._shards
        yield (item[0], self._next), item[1]


def _keyed(element: Any, by: str | Callable[[dict[str, Any]], Any]) -> Iterator[tuple[str, Any]]:
    """Yield the names of datasets with keys and the rows of an element that they are for."""
    if isinstance(element, dict):
        key = element[by] if isinstance(by, str) else by(element)
        yield name_of_key(key), (key, element)
        return
    pa = import_extra("pyarrow", "arrow", "Arrow data")
    batch = pa.record_batch(element) if not isinstance(element, pa.Table) else element
    keys = batch.column(by) if isinstance(by, str) else pa.array([by(row) for row in batch.to_pylist()])
    for key, rows in rows_by_key(batch, keys):
        yield name_of_key(key), (key, rows)


def _commit_key(path: str, parts: Iterable[Any], options: dict[str, Any]) -> tuple[Any, Manifest]:
    """Commit the parts of a key."""
    parts = list(parts)
    key = parts[0][1][0]
    for _, (other, _) in parts:
        check_same_key(key, other)
    return key, _commit(path, [(part, manifest) for part, (_, manifest) in parts], options)


def _commit(path: str, parts: Iterable[tuple[Any, Manifest]], options: dict[str, Any], schema: Any = None) -> Manifest:
    manifests = [part for _, part in sorted(parts, key=lambda item: item[0])]
    if manifests:
        return commit_parts(path, manifests, **options)
    return write_dataset(path, [], schema=schema, progress=False, **options)
