"""Split a dataset into tasks for other processes: files, or rows of a file, with what reading them needs.

Tasks are planned once, from manifests and indexes. A file is cut at records that its index lists, never at bytes that
look like a header: a payload may hold TFRecords of its own. A task carries the schema and the part of the index that
its rows need, so that nothing is inferred or indexed again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from penstock.dataset.dataset import Dataset
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.read_rows import ReadRows
from penstock.dataset.source.row_source import RowSource
from penstock.dataset.source.shards import Shards
from penstock.dataset.transforms.concat import read_rows_of_files
from penstock.dataset.transforms.take_skip import slice_elements
from penstock.engines.arrow_scan import ArrowScan
from penstock.index import ShardIndex
from penstock.index.open import load_index
from penstock.storage import StrPath, is_remote, locate


@dataclass(frozen=True)
class TaskRows:
    """Rows that one task reads. Pickles."""

    pipeline: Pipeline
    path: str | None
    """The file that holds them; None where the rows come from several."""
    rows: int | None
    """How many; None where only reading would show."""
    num_bytes: int
    """About how many bytes they have in memory."""

    @property
    def dataset(self) -> Dataset[Any]:
        """The rows as a dataset."""
        return Dataset._of(self.pipeline, 0)


@dataclass(frozen=True)
class Task:
    """Splits that are read one after another. Pickles."""

    splits: tuple[TaskRows, ...]
    decode: bool
    tensors: bool

    @property
    def rows(self) -> int | None:
        """How many rows; None where only reading would show."""
        counts = [split.rows for split in self.splits]
        return None if None in counts else sum(count for count in counts if count is not None)

    @property
    def num_bytes(self) -> int:
        """About how many bytes the rows have in memory."""
        return sum(split.num_bytes for split in self.splits)

    @property
    def paths(self) -> list[str]:
        """The files."""
        return list(dict.fromkeys(split.path for split in self.splits if split.path is not None))

    def batches(self, columns: Sequence[str] | None = None, limit: int | None = None) -> Iterator[Any]:
        """Yield ``pyarrow.RecordBatch`` objects."""
        for split in self.splits:
            if limit is not None and limit <= 0:
                return
            scan = ArrowScan(split.dataset, decode=self.decode, tensors=self.tensors)
            for batch in scan.batches(columns, limit=limit):
                yield batch
                limit = None if limit is None else limit - batch.num_rows


def open_dataset(data: StrPath | Iterable[StrPath] | Dataset[Any], options: dict[str, Any]) -> Dataset[Any]:
    """Return the dataset to split. Tasks share the CPUs of a machine, so each reads on one thread unless told."""
    if isinstance(data, Dataset):
        if options:
            raise TypeError(f"pass {', '.join(options)} to the Dataset")
        return data
    return Dataset(data, **{"threads": 1} | options)


def plan_tasks(dataset: Dataset[Any], count: int, *, decode: bool = False, tensors: bool = False) -> list[Task]:
    """Split a dataset into about ``count`` tasks of about equal size, in order."""
    splits = plan_splits(dataset, count)
    total = max(1, sum(split.num_bytes for split in splits))
    groups: dict[int, list[TaskRows]] = {}
    done = 0
    for split in splits:
        groups.setdefault(int((done + split.num_bytes / 2) * count / total), []).append(split)
        done += split.num_bytes
    return [Task(tuple(group), decode, tensors) for group in groups.values()]


def plan_splits(dataset: Dataset[Any], count: int) -> list[TaskRows]:
    """Return splits of files, in order: more than one of a file where it has more than its share of the bytes."""
    pipeline = dataset._pipeline
    start = pipeline.start
    run = start.order.run if isinstance(start, ReadRows) and not start.filters and not pipeline.stages else None
    if not isinstance(start, ReadRows) or run is None or start.yields_batches:
        return _slices(dataset, count)
    shards = start.source.shards
    paths = tuple(map(absolute, shards.paths))  # workers have another working directory
    source = start.source._with(shards=type(shards)(paths, shards.options, shards._manifest_counts))
    sizes = [_stored_bytes(path) for path in source.shards.paths]
    total = max(1, sum(sizes))
    is_whole = not run.start and run.stop is None
    begins = None if is_whole else source.shards.starts
    splits: list[TaskRows] = []
    for file, size in enumerate(sizes):
        first, stop = 0, None
        if begins is not None:
            first = max(0, run.start - int(begins[file]))
            last = int(begins[file + 1]) if run.stop is None else min(run.stop, int(begins[file + 1]))
            stop = last - int(begins[file])
            if stop <= first:
                continue
        splits += _split_file(source.with_files(slice(file, file + 1)), first, stop, size, -(-size * count // total))
    return splits


def _split_file(source: RowSource, first: int, stop: int | None, size: int, pieces: int) -> list[TaskRows]:
    shards = source.shards
    path = shards.paths[0]
    index = _index_to_split(shards) if pieces > 1 else None
    if index is None:
        known = shards.known_counts
        rows = stop - first if stop is not None else None if known is None else known[0] - first
        pipeline = read_rows_of_files(source, [(first, stop)])
        return [TaskRows(pipeline, path, rows, size)]
    stop = index.records if stop is None else stop
    ends = [first, *_cuts(index, first, stop, pieces), stop]
    stream = size if index.segments is None else index.segments.stream_bytes
    splits = []
    for begin, end in pairwise(ends):
        if begin == end:
            continue
        part = source
        if not shards.options.skips_damage:
            carried = Shards(shards.paths, shards.options, (index.records,), (index.part(begin, end),))
            part = source._with(shards=carried)
        share = stream * (end - begin) // max(1, index.records)
        splits.append(TaskRows(read_rows_of_files(part, [(begin, end)]), path, end - begin, share))
    return splits


def _index_to_split(shards: Shards) -> ShardIndex | None:
    """Return the index of a file that can be read from its middle; None for others.

    A remote file is split by a stored index alone: to build one, all of the file would be read here.
    """
    path, options = shards.paths[0], shards.options
    if is_remote(path):
        index = load_index(path, compression=options.compression or "auto", where=options.index)
        return index if index is not None and index.seekable and not options.skips_damage else None
    found = shards.index(0)
    return found if isinstance(found, ShardIndex) and found.seekable else None


def _cuts(index: ShardIndex, first: int, stop: int, pieces: int) -> list[int]:
    """Return the records to cut at, so that the parts have about equally many bytes."""
    segments = index.segments
    if segments is not None:
        starts, rows = segments.stream_offset, segments.first_record
    else:
        assert index.lengths is not None
        starts = index.lengths.starts()
        rows = np.arange(len(starts), dtype=np.uint64)
    inside = (rows > np.uint64(first)) & (rows < np.uint64(stop))
    starts, rows = starts[inside], rows[inside]
    if not len(rows):
        return []
    begin, end = (int(np.interp(row, *_known(index))) for row in (first, stop))
    wanted = np.array([begin + (end - begin) * piece // pieces for piece in range(1, pieces)], np.uint64)
    found = np.searchsorted(starts, wanted)
    return sorted({int(rows[place]) for place in found.tolist() if place < len(rows)})


def _known(index: ShardIndex) -> tuple[Any, Any]:
    """Return records whose offsets in the stream are known, and the offsets."""
    if index.segments is not None:
        return index.segments.first_record, index.segments.stream_offset
    assert index.lengths is not None
    starts = index.lengths.starts()
    return np.arange(len(starts)), starts


def _slices(dataset: Dataset[Any], count: int) -> list[TaskRows]:
    """Split by the numbers of elements where they do not come as they are stored: functions, shuffles, mixtures."""
    if not dataset._pipeline.is_indexed:
        return [TaskRows(dataset._pipeline, None, None, sum(map(_stored_bytes, dataset.files)))]
    rows = len(dataset)
    size = sum(map(_stored_bytes, dataset.files))
    ends = [rows * part // count for part in range(count + 1)]
    return [
        TaskRows(slice_elements(dataset._pipeline, slice(begin, end), lambda: rows), None, end - begin, size // count)
        for begin, end in pairwise(ends)
        if begin < end
    ]


def absolute(path: str) -> str:
    """Return a path that means the same file in processes with another working directory."""
    return path if is_remote(path) else os.path.abspath(path)


def _stored_bytes(path: str) -> int:
    store, name = locate(path)
    return store.stat(name).size or 0  # some servers do not say
