"""batch(): decides whether rows are read as batches or collected into them, and pads ragged columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.arguments import int_at_least
from penstock.columns import AnyColumn, Batch, Nullable, Ragged
from penstock.columns.column import pad as pad_column
from penstock.columns.column import padding_of
from penstock.columns.stored_column import plain
from penstock.dataset.block import Cursor, Flow, OpenFlow, TruncatedBlock, as_batch, batch_block, concat_elements
from penstock.dataset.order import Epoch, Ints, Order, Origin, RowKeys, Run, Share, call_text
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.progress import Meter
from penstock.dataset.stage import ElementSupply, Stage
from penstock.dataset.transforms.shard import ShardOrder


def batch(pipeline: Pipeline, size: int, *, drop_last: bool, pad: Padding) -> Pipeline:
    """Return a pipeline of batches. Rows are read as batches where it is known in advance which rows make a batch."""
    size = int_at_least("size", size, 1)
    reads = pipeline.reads
    # With on_error="skip", which rows make a batch is known only after they were read.
    if reads is None or reads.batches is not None or reads.source.on_error != "raise":
        return pipeline.then(BatchStage(size, drop_last=drop_last, pad=pad))
    rows = reads.rows.deal_batches(size) if isinstance(reads.rows, ShardOrder) else reads.rows
    batched = replace(reads, rows=rows, batches=BatchOrder(rows, size, drop_last), size=size)
    return pipeline.with_start(batched).then(PackStage(pad=pad))


class BatchOrder(Order):
    """The numbers of the batches that the rows of an order make, in order."""

    def __init__(self, rows: Order, size: int, drop_last: bool) -> None:
        self._rows, self._size, self._drop_last = rows, size, drop_last

    def length(self, which: Epoch) -> int | None:
        rows = self._rows.length(which)
        return None if rows is None else self._batches_in(rows)

    def length_up_to(self, most: int, which: Epoch) -> int:
        return self._batches_in(self._rows.length_up_to(most * self._size, which))

    def _batches_in(self, rows: int) -> int:
        return rows // self._size if self._drop_last else -(-rows // self._size)

    def at(self, positions: Ints, which: Epoch) -> RowKeys:
        return RowKeys(positions, np.full(len(positions), which.epoch, np.int64))

    @property
    def run(self) -> Run:
        return Run()

    @property
    def share(self) -> Share | None:
        return self._rows.share

    @property
    def is_sharded(self) -> bool:
        return self._rows.is_sharded

    @property
    def drops_last(self) -> bool:
        return self._drop_last

    def has_even_shares(self, which: Epoch) -> bool:
        return self._rows.has_even_shares(which)

    def common_place(self, position: int, which: Epoch) -> tuple[int, Origin]:
        return self._rows.common_place(position * self._size, which)

    @property
    def calls(self) -> list[str]:
        return [call_text("batch", self._size, drop_last=self._drop_last)]  # after those of the rows

    def describe(self) -> list[Any]:
        return [*self._rows.describe(), ["batch", self._size, self._drop_last]]


@dataclass(frozen=True)
class BatchStage(Stage):
    """Collects ``size`` elements into a batch, across blocks; a block of that size is not copied.

    Args:
        size: Elements per batch.
        drop_last: Whether a smaller last batch is dropped.
        pad: How ragged columns are padded; by default they stay ``Ragged``.
    """

    groups_rows = True

    size: int
    _: KW_ONLY
    drop_last: bool = False
    pad: Padding = None

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"a batch has 1 element or more, not {self.size}")

    @property
    def keeps_rows(self) -> bool:
        return not self.pad

    @property
    def ignores_columns(self) -> bool:
        return not isinstance(self.pad, Mapping)

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        with closing(ElementSupply(upstream, cursor)) as supply:
            while supply.ready():
                start = supply.cursor
                parts = supply.take(self.size)
                if self.drop_last and sum(map(len, parts)) < self.size:
                    return
                batch = padded(as_batch(concat_elements([part.elements for part in parts])), self.pad)
                yield batch_block(batch, parts[0].keys, start, supply.cursor)

    def length(self, upstream: int | None) -> int | None:
        return None if upstream is None else (upstream if self.drop_last else upstream + self.size - 1) // self.size

    @property
    def calls(self) -> list[str]:
        return [call_text("batch", self.size, drop_last=self.drop_last)]

    def describe(self) -> list[Any]:
        return ["batch", self.size, self.drop_last, describe_padding(self.pad)]


@dataclass(frozen=True)
class PackStage(Stage):
    """Makes a batch of each block, where rows are read as batches: batch i is batch i of the reads."""

    one_to_one = True

    _: KW_ONLY
    pad: Padding = None

    @property
    def keeps_rows(self) -> bool:
        return not self.pad

    @property
    def ignores_columns(self) -> bool:
        return not isinstance(self.pad, Mapping)

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        with closing(upstream(cursor)) as blocks:
            for block in blocks:
                # A batch with an element that failed is left out; its error comes next.
                if not isinstance(block, TruncatedBlock):
                    batch = padded(as_batch(block.elements), self.pad)
                    yield batch_block(batch, block.keys, block.start, block.stop)

    @property
    def calls(self) -> list[str]:
        return []  # those of the batches that are read

    def describe(self) -> list[Any]:
        return ["pack", describe_padding(self.pad)]


class Pad(NamedTuple):
    """How to pad the rows of a ragged column to an array.

    Args:
        value: What rows are padded with; by default zero, or an empty string.
        length: The length of every row: longer rows are cut. None pads to the longest row of the batch. A sequence
            has a length for each ragged level.
        lengths: Add a column ``<name>_length``: how many values of each row are not padding.
        mask: Add a column ``<name>_mask`` of bools: which values are not padding.

    Example:
        >>> ds[[1, 3]]["tokens"].to_list()
        [[0], [0, 1, 2]]
        >>> ds.select([1, 3]).batch(2, pad={"tokens": ps.Pad(-1, length=4)})[0]["tokens"]
        array([[ 0, -1, -1, -1],
               [ 0,  1,  2, -1]])
    """

    value: Any = None
    length: int | Sequence[int | None] | None = None
    lengths: bool = False
    mask: bool = False


Padding: TypeAlias = bool | Mapping[str, Any] | None
"""True pads all ragged columns with zeros or empty strings; a mapping names columns, each with a value or a Pad."""


def padded(batch: Any, padding: Padding) -> Any:
    """Return a batch with ragged columns padded to arrays."""
    if not padding:
        return batch
    if not isinstance(batch, Batch):
        raise TypeError(f"pad= names columns, so it needs elements that are dicts, not {type(batch).__name__}")
    columns = {name: plain(column) for name, column in batch.items()}
    if padding is True:
        padding = {name: Pad() for name, column in columns.items() if _is_ragged(column) or _holds_arrays(column)}
    missing = [name for name in padding if name not in batch]
    if missing:
        raise ValueError(f"no column {missing[0]!r} to pad: the columns are {', '.join(batch.column_names)}")
    made: dict[str, AnyColumn] = {}
    for name, pad in padding.items():
        made[name] = _padded(columns[name], pad)
        if isinstance(pad, Pad) and (pad.lengths or pad.mask):
            width = np.shape(made[name])[1]
            lengths = np.minimum(_lengths(name, columns[name]), width)
            if pad.lengths:
                made[f"{name}_length"] = lengths
            if pad.mask:
                made[f"{name}_mask"] = np.arange(width) < lengths[:, None]
    return batch | made


def describe_padding(padding: Padding) -> Any:
    """Return the padding in JSON, for saved states."""
    return (
        {name: _describe_pad(pad) for name, pad in padding.items()} if isinstance(padding, Mapping) else bool(padding)
    )


def _describe_pad(pad: Any) -> str:
    # Without what it adds, as in states that earlier versions saved.
    if isinstance(pad, Pad) and not (pad.lengths or pad.mask):
        return f"Pad(value={pad.value!r}, length={pad.length!r})"
    return repr(pad)


def _lengths(name: str, column: AnyColumn) -> NDArray[np.int64]:
    """Return how many values each row has."""
    if isinstance(column, Nullable):
        return np.where(column.valid, _lengths(name, column.values), 0)
    if isinstance(column, Ragged):
        return column.lengths
    if isinstance(column, np.ndarray) and column.ndim > 1:
        return np.full(len(column), column.shape[1], np.int64)
    raise ValueError(f"lengths and masks are for lists: the rows of {name!r} are arrays of any shape")


def _is_ragged(column: AnyColumn) -> bool:
    return isinstance(column.values if isinstance(column, Nullable) else column, Ragged)


def _holds_arrays(column: AnyColumn) -> bool:
    """Whether the rows are arrays that differ in more than their first dimension, such as images."""
    if not isinstance(column, np.ndarray) or column.dtype != object or not len(column):
        return False
    return isinstance(column[0], np.ndarray)


def _padded_arrays(rows: NDArray[Any], value: Any, lengths: Sequence[int | None]) -> NDArray[Any]:
    if len({row.ndim for row in rows}) > 1:
        raise ValueError("rows that are padded must have the same number of dimensions")
    longest = np.max([row.shape for row in rows], axis=0).tolist()
    asked = [*lengths, *[None] * len(longest)]
    sizes = [most if size is None else size for size, most in zip(asked, longest, strict=False)]
    column = np.full((len(rows), *sizes), value, rows[0].dtype)
    for target, row in zip(column, rows, strict=True):
        part = row[tuple(map(slice, sizes))]
        target[tuple(map(slice, part.shape))] = part
    return column


def _padded(column: AnyColumn, pad: Any) -> AnyColumn:
    value, length = (pad.value, pad.length) if isinstance(pad, Pad) else (pad, None)
    lengths = list(length) if isinstance(length, Sequence) else [length]
    if isinstance(column, np.ndarray) and _holds_arrays(column):
        return _padded_arrays(column, 0 if value is None else value, lengths)
    if isinstance(column, np.ndarray) and column.ndim > 1:
        # Rows that happen to have one length in this batch are padded like those of other batches.
        rows, width = column.shape[:2]
        column = Ragged.from_lengths(column.reshape(rows * width, *column.shape[2:]), np.full(rows, width))
    if not _is_ragged(column):
        raise ValueError("only columns of lists or arrays can be padded")
    return pad_column(column, padding_of(column) if value is None else value, lengths)
