"""ReadRows: the start of most pipelines. It reads rows in an order, as blocks, ahead of the consumer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count, islice
from time import perf_counter
from typing import Any

import numpy as np

from penstock._core import RecordChunk
from penstock.columns import Batch
from penstock.dataset.block import Block, Cursor, Flow, concat_elements, concat_keys, take_keys, truncated, with_cursors
from penstock.dataset.order import Epoch, Ints, Order, Origin, RowKeys, Run
from penstock.dataset.progress import Meter
from penstock.dataset.source.filter_rows import FilteredReader, RowFilter
from penstock.dataset.source.prefetch import start_prefetch
from penstock.dataset.source.row_source import RowSource
from penstock.dataset.source.sequential import can_stream, stream_batches
from penstock.dataset.source.shards import count_lost_records
from penstock.dataset.stage import ElementSupply
from penstock.errors import NotSeekableError

# Rows per block where rows are not read as batches.
_BLOCK_ROWS = 256
_MOST_BLOCK_ROWS = 2048
# Blocks whose rows are looked up at once.
_PLANNED_BLOCKS = 16


@dataclass(frozen=True)
class ReadRows:
    """Rows of a source in an order; with ``batches``, groups of ``size`` rows in the order of the batches."""

    source: RowSource
    rows: Order
    batches: Order | None = None
    size: int = _BLOCK_ROWS
    """Rows per block, or per batch where there are batches."""
    filters: tuple[RowFilter, ...] = ()
    """Tests that the rows pass; those that do not are left out before their other columns are decoded."""

    @property
    def order(self) -> Order:
        """The order of the elements: rows or batches."""
        return self.rows if self.batches is None else self.batches

    def reordered(self, change: Callable[[Order], Order]) -> ReadRows:
        """Return reads of rows, or batches, in another order."""
        order = change(self.order)
        return replace(self, rows=order) if self.batches is None else replace(self, batches=order)

    def length(self, which: Epoch) -> int | None:
        """Return the number of rows, or batches, of an epoch; None where only reading it would show."""
        return None if self.filters else self.order.length(which)

    def describe(self) -> list[Any]:
        """Return in JSON what decides the elements and their order. Saved states compare it."""
        return [*self.order.describe(), *(filter_.test.describe() for filter_ in self.filters)]

    @property
    def identities(self) -> list[str]:
        """An identity of the files by their content."""
        return [self.source.shards.identity]

    @property
    def world(self) -> int | list[int]:
        """The number of ranks that share the rows, or batches; a list where shares were divided once more."""
        share = self.order.share
        return 1 if share is None else share.world

    @property
    def is_sharded(self) -> bool:
        """Whether the rows, or batches, are the share of one rank."""
        return self.order.is_sharded

    @property
    def is_indexed(self) -> bool:
        """Whether elements have an index: unless rows are filtered."""
        return not self.filters

    @property
    def is_remote(self) -> bool:
        """Whether files are remote."""
        return self.source.shards.remote

    @property
    def yields_batches(self) -> bool:
        """Whether rows are read as batches."""
        return self.batches is not None

    def keys(self, position: int, count: int, which: Epoch) -> RowKeys:
        """Return the rows of a block: the batch at a position, or ``count`` rows from there."""
        if self.batches is None:
            return self.rows.at(np.arange(position, position + count), which)
        batch, epoch = (int(found[0]) for found in self.batches.at(np.array([position]), which))
        own = which.later(epoch - which.epoch)
        rows = self.rows.length(own)
        stop = (batch + 1) * self.size
        return self.rows.at(np.arange(batch * self.size, stop if rows is None else min(stop, rows)), own)

    def open(self, cursor: Cursor, meter: Meter) -> Flow:
        """Open the flow at a cursor. Rows are read, checked and decoded ahead until it is closed."""
        cursor = place_of(cursor)
        if self.filters:
            return self._filter(cursor, meter)
        run = self._run_from(cursor["position"])
        if run is not None and can_stream(self.source, run.start):
            return self._stream(run, cursor, meter)
        epochs = self._stream_epochs(cursor, meter)
        if epochs is not None:
            return epochs
        self.check_seeks()
        return self._fetch(cursor, meter)

    def _stream_epochs(self, cursor: Cursor, meter: Meter) -> Flow | None:
        """Stream remote files once per epoch, where the order does nothing but repeat them."""
        whole_batches = self.batches is not None and self.batches.whole
        repeated = (self.rows if whole_batches else self.order).repeats
        position = cursor["position"] * (self.size if whole_batches else 1)
        shards = self.source.shards
        if repeated is None or not shards.remote or (position and not shards.counted):
            return None
        once = replace(self, batches=None) if whole_batches else self
        once = once.reordered(lambda order: repeated.inner)
        run = once._run_from(0)
        if run is None or not can_stream(self.source, run.start):
            return None
        later, within = repeated.split_one(position, Epoch(cursor["epoch"])) if position else (0, 0)

        def open_epoch(epoch: int, within: int) -> Flow:
            return once.open(start_cursor(epoch) | {"position": within}, meter)

        flow = stream_epochs(open_epoch, repeated.times, cursor, later, within, position - within)
        return stream_batches_of(flow, self.size, self.order.drops_last, cursor) if whole_batches else flow

    def check_seeks(self) -> None:
        """Raise NotSeekableError where the order needs random access that the files do not have."""
        seeks = self.rows.seeks or (self.batches is not None and self.batches.seeks)
        if not seeks:
            return
        shards = self._reached.shards
        if not shards.seekable:
            slow = next(p for p, index in zip(shards.paths, shards.indexes, strict=True) if not index.seekable)
            files = slow if len(shards.paths) == 1 else "FILES"
            raise NotSeekableError(
                f"this order needs random access, which {slow} does not have: it is one compressed stream. Shuffle "
                f"within windows (window=10_000), or read a copy that has it: penstock convert {files} -o COPY",
                path=slow,
            )

    @property
    def _reached(self) -> RowSource:
        """The source, without remote files after the last row of the order."""
        return self.source if self.rows.end is None else self.source.up_to(self.rows.end - 1)

    def _run_from(self, position: int) -> Run | None:
        """Return the rows from a position on, where they are successive rows of the files."""
        run, rows = self.order.run, self.rows.run
        if run is None or rows is None:
            return None
        if self.batches is None:
            return rows.part(position, None)
        stop = None if run.stop is None else run.stop * self.size
        return rows.part((run.start + position) * self.size, stop)

    def _stream(self, run: Run, cursor: Cursor, meter: Meter) -> Flow:
        position, row = cursor["position"], run.start
        epochs = np.full(self.size, cursor["epoch"], np.int64)
        start = cursor | {"position": position}
        with closing(stream_batches(self.source, self.size, run)) as batches:
            while True:
                before = perf_counter()
                batch = next(batches, None)
                meter.add("reading", perf_counter() - before)
                if batch is None:
                    return
                rows = batch.num_rows
                if self.batches is not None and rows < self.size:
                    # The last one; or the rows before an error, which is raised here.
                    next(batches, None)
                    if self.order.drops_last:
                        return
                keys = RowKeys(np.arange(row, row + rows), epochs[:rows])
                position += 1 if self.batches is not None else rows
                stop = cursor | {"position": position}
                yield Block(batch, keys, start, stop)
                row += rows
                start = stop

    def _fetch(self, cursor: Cursor, meter: Meter) -> Flow:
        blocks = self._blocks(cursor["position"], _epoch_at(cursor))
        source = self._reached
        for index in source.shards.indexes:
            for error in getattr(index, "damage", ()):
                self._skip(error, meter, count_lost_records(error))
        planned: deque[tuple[RowKeys, int, int]] = deque()
        waiting: deque[tuple[RowKeys, int, int]] = deque()
        with closing(start_prefetch(source, self.rows, self._block_rows)) as ahead:
            while True:
                while len(waiting) < ahead.depth:
                    if 2 * len(planned) < ahead.lookahead:  # early, while the threads have work
                        more = list(islice(blocks, ahead.lookahead))
                        ahead.announce([keys.rows for keys, _, _ in more])
                        planned.extend(more)
                    if not planned:
                        break
                    waiting.append(planned.popleft())
                    ahead.submit(waiting[-1][0])
                if not waiting:
                    return
                keys, begin, stop = waiting.popleft()
                before = perf_counter()
                batch, positions, errors, failure = ahead.take()
                meter.add("reading", perf_counter() - before)
                for error in errors:
                    self._skip(error, meter)
                if positions is not None and len(positions) < len(keys.rows):
                    keys = RowKeys(keys.rows[positions], keys.epochs[positions])
                block = Block(batch, keys, cursor | {"position": begin}, cursor | {"position": stop})
                if failure is not None:
                    yield truncated(block)
                    raise failure
                yield block
                del batch, block  # so that their memory is free once the consumer is done with them

    def _filter(self, cursor: Cursor, meter: Meter) -> Flow:
        run = self._run_from(cursor["position"])
        # Of plain files, skipping records would read them.
        is_stream = run is not None and can_stream(self.source, run.start) and not (run.start and self._is_plain)
        with closing(FilteredReader(self._reached, self.filters, self.rows.reach)) as reader:
            requests = self._requests(reader, cursor, run if is_stream else None, meter)
            for chunks, keys, begin, stop, damage in requests:
                with meter.timed("function"):
                    batch, positions, errors, failure = reader.passed(chunks, keys, are_located=is_stream)
                for error in errors:
                    self._skip(error, meter)
                failure = failure or damage
                if batch is not None:
                    found = take_keys(keys, positions.tolist())
                    block = Block(batch, found, cursor | {"position": begin}, cursor | {"position": stop})
                    yield block if failure is None else truncated(block)
                if failure is not None:
                    raise failure

    def _requests(
        self, reader: FilteredReader, cursor: Cursor, run: Run | None, meter: Meter
    ) -> Iterator[tuple[list[RecordChunk] | None, RowKeys, int, int, Exception | None]]:
        """Yield the records of each block, where they could be read, with its rows, start and stop; stream a run."""
        position = cursor["position"]
        if run is not None:
            row = run.start
            for chunks, damage in reader.stream(run, self.size):
                count = sum(map(len, chunks))
                keys = RowKeys(np.arange(row, row + count), np.full(count, cursor["epoch"], np.int64))
                yield chunks, keys, position, position + count, damage
                row, position = row + count, position + count
            return
        self.check_seeks()
        for index in self._reached.shards.indexes:
            for error in getattr(index, "damage", ()):
                self._skip(error, meter, count_lost_records(error))
        planned: deque[tuple[RowKeys, int, int]] = deque()

        def requests() -> Iterator[Ints]:
            for block in self._blocks(position, _epoch_at(cursor)):
                planned.append(block)
                yield block[0].rows

        for fetched in reader.fetch(requests()):
            yield fetched, *planned.popleft(), None

    @property
    def _is_plain(self) -> bool:
        return self.source.shards.local_and_plain

    def _blocks(self, position: int, which: Epoch) -> Iterator[tuple[RowKeys, int, int]]:
        """Return the rows of each block from a position on, and its start and stop."""
        end = self.order.length(which)
        size = self._block_rows
        step = size if self.batches is None else 1
        while end is None or position < end:
            stop = position + step * _PLANNED_BLOCKS if end is None else min(position + step * _PLANNED_BLOCKS, end)
            blocks = range(position, stop, step)
            keys = self._keys_at_once(position, stop, which)
            for number, begin in enumerate(blocks):
                part = slice(number * size, (number + 1) * size)
                found = self.keys(begin, 1, which) if keys is None else RowKeys(keys.rows[part], keys.epochs[part])
                yield found, begin, min(begin + step, stop)
            position = stop

    @property
    def _block_rows(self) -> int:
        """Rows per block or batch; small rows that lie next to one another are read in larger blocks."""
        if self.batches is not None or not self.order.in_files_order:
            return self.size
        return max(self.size, min(_MOST_BLOCK_ROWS, self.source.shards.rows_per_run))

    def _keys_at_once(self, position: int, stop: int, which: Epoch) -> RowKeys | None:
        """Return the rows of successive blocks; None unless they are successive positions of the order of the rows."""
        if self.batches is None:
            return self.rows.at(np.arange(position, stop), which)
        if self.batches.run is None:
            return None
        first, stop = (self.batches.run.start + at for at in (position, stop))
        rows = self.rows.length(which)
        end = stop * self.size if rows is None else min(stop * self.size, rows)
        return self.rows.at(np.arange(first * self.size, end), which)

    def _skip(self, error: Any, meter: Meter, records: int | None = 1) -> None:
        if callable(self.source.on_error):
            self.source.on_error(error)
        meter.skip(error, records)

    def fetch(self, rows: Ints) -> Batch:
        """Read rows on the calling thread."""
        return self.source.fetch(rows)

    def common_cursor(self, cursor: Cursor) -> Cursor:
        """Return where any number of ranks resumes when all ranks of these reads are at ``cursor``."""
        return start_cursor(*self.order.common_place(cursor["position"], _epoch_at(cursor)))


def start_cursor(epoch: int, origin: Origin = 0) -> Cursor:
    """Return the cursor at the start of an epoch, or where another number of ranks resumes it."""
    return {"epoch": epoch, "position": 0, "origin": origin, "strided": False}


def place_of(cursor: Cursor) -> Cursor:
    """Return a cursor with all of its keys; places in an epoch that version 1 saved are in a strided one."""
    return start_cursor(0) | {"strided": cursor is not None and "position" in cursor} | (cursor or {})


def _epoch_at(cursor: Cursor) -> Epoch:
    return Epoch(cursor["epoch"], cursor["origin"], cursor["strided"])


def stream_epochs(
    open_epoch: Callable[[int, int], Flow], times: int | None, cursor: Cursor, later: int, within: int, begin: int
) -> Flow:
    """Stream one epoch after another, from a place in a later one on.

    Positions count through all epochs; ``begin`` is the position of the first epoch that is streamed.
    """
    for number in count(later) if times is None else range(later, times):
        length = 0
        with closing(open_epoch(cursor["epoch"] + number, within)) as blocks:
            for block in blocks:
                start, length = block.start["position"], block.stop["position"]
                yield with_cursors(block, cursor | {"position": begin + start}, cursor | {"position": begin + length})
        if not length and not within:
            return  # repeating an empty epoch would never end
        begin += max(length, within)
        within = 0


def stream_batches_of(rows: Flow, size: int, drop_last: bool, cursor: Cursor) -> Flow:
    """Group rows into batches, across the ends of epochs; positions count batches."""
    with closing(ElementSupply(lambda _: rows, None)) as supply:
        for batch in count(cursor["position"]):
            parts = supply.take(size)
            if sum(map(len, parts)) < (size if drop_last else 1):
                return
            elements, keys = (
                concat_elements([part.elements for part in parts]),
                concat_keys([part.keys for part in parts]),
            )
            yield Block(elements, keys, cursor | {"position": batch}, cursor | {"position": batch + 1})
