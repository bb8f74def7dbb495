"""pack(): rows of one length from lists of any length, such as tokens of documents, without padding."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.columns import Batch, Nullable, Ragged, unchecked_batch
from penstock.columns.stored_column import plain
from penstock.dataset.block import Block, Cursor, Flow, OpenFlow, is_start, iter_elements, truncated
from penstock.dataset.order import Ints, RowKeys, call_text
from penstock.dataset.progress import Meter
from penstock.dataset.stage import ElementSupply, Stage
from penstock.dataset.transforms.unbatch import BATCH_ROW
from penstock.schema import Feature, Schema

# Values that make a block of rows.
_BLOCK_VALUES = 1 << 16


class _Part(NamedTuple):
    """Successive lists that are not all in rows yet."""

    up: Cursor
    skips: Ints
    """How many elements come between the cursor ``up`` and each list."""
    lengths: Ints
    values: tuple[NDArray[Any], ...]
    """The values of each column, one list after another."""
    keys: RowKeys

    def since(self, first: int) -> _Part:
        """Return the lists from one on."""
        begin = int(self.lengths[:first].sum())
        keys = RowKeys(self.keys.rows[first:], self.keys.epochs[first:])
        values = tuple(column[begin:] for column in self.values)
        return _Part(self.up, self.skips[first:], self.lengths[first:], values, keys)


@dataclass(frozen=True)
class PackListsStage(Stage):
    """Concatenates lists and cuts them into rows of ``size`` values; a list goes on in the next row."""

    groups_rows = False

    size: int
    columns: tuple[str, ...]
    drop_last: bool

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        most = max(1, _BLOCK_VALUES // self.size)
        used = 0 if is_start(cursor) else cursor["used"]  # values of the first list that are in earlier rows
        failure: Exception | None = None
        held: list[_Part] = []
        start, ended = cursor, False
        with closing(ElementSupply(upstream, cursor)) as supply:
            while not ended and failure is None:
                count = _count(held) - used
                while count < most * self.size and not ended and failure is None:
                    try:
                        ready = supply.ready()
                    except Exception as error:  # raised after the rows before it
                        failure = error
                        break
                    ended = not ready
                    if ready:
                        held.append(self._read(supply.cursor, supply.take_ready(ready)))
                        count = _count(held) - used
                made = min(most, count // self.size)
                if ended and made < most and count % self.size and not self.drop_last:
                    made += 1
                if not made:
                    continue
                elements, keys, held, used = self._rows(held, used, made)
                place = {"up": held[0].up, "skip": int(held[0].skips[0])} if held else supply.cursor
                stop = place | {"used": used}
                block = Block(elements, keys, start, stop)
                yield block if failure is None else truncated(block)
                start, ended = stop, ended and not held
        if failure is not None:
            raise failure

    def _read(self, cursor: Cursor, block: Block) -> _Part:
        """Return the lists of elements, without empty ones."""
        columns = [_lists(block, name) for name in self.columns]
        for name, column in zip(self.columns, columns, strict=True):
            if not np.array_equal(column.lengths, columns[0].lengths):
                row = int(np.argmax(column.lengths != columns[0].lengths))
                raise ValueError(
                    f"pack(): row {row} of a block has lists of unequal length in {self.columns[0]!r} and {name!r}"
                )
        lengths = columns[0].lengths
        chosen = np.flatnonzero(lengths)
        values = tuple(np.asarray(column.values)[column.offsets[0] : column.offsets[-1]] for column in columns)
        keys = RowKeys(block.keys.rows[chosen], block.keys.epochs[chosen])
        return _Part(cursor["up"], cursor["skip"] + chosen, lengths[chosen], values, keys)

    def _rows(self, parts: Sequence[_Part], used: int, rows: int) -> tuple[Batch, RowKeys, list[_Part], int]:
        """Return rows, their keys, the lists that are left, and how many values of the first one are used."""
        lengths = np.concatenate([part.lengths for part in parts])
        ends = np.cumsum(lengths)
        starts = ends - lengths
        stop = min(int(ends[-1]), used + rows * self.size)
        at = np.arange(used, stop)
        which = np.searchsorted(ends, at, side="right")
        row_starts = np.arange(used, stop, self.size)
        firsts = which[:: self.size]
        row = (at - used) // self.size
        columns: dict[str, Any] = {}
        for number, name in enumerate(self.columns):
            values = np.concatenate([part.values[number] for part in parts])[used:stop]
            columns[name] = self._reshaped(values, rows)
        columns[f"{self.columns[0]}_segment_ids"] = self._reshaped((which - firsts[row] + 1).astype(np.int32), rows)
        positions = at - np.maximum(starts[which], row_starts[row])
        columns[f"{self.columns[0]}_positions"] = self._reshaped(positions.astype(np.int32), rows)
        # Several rows that start in one list need distinct keys.
        later = (row_starts - starts[firsts]) // self.size
        found = RowKeys(*(np.concatenate(arrays) for arrays in zip(*(part.keys for part in parts), strict=True)))
        keys = RowKeys(found.rows[firsts] + later * BATCH_ROW, found.epochs[firsts])
        left, first = list[_Part](), int(np.searchsorted(ends, stop, side="right"))
        used = stop - int(starts[first]) if first < len(lengths) else 0
        for part in parts:
            if first < len(part.lengths):
                left.append(part.since(max(0, first)))
            first -= len(part.lengths)
        return unchecked_batch(columns, rows), keys, left, used

    def _reshaped(self, values: NDArray[Any], rows: int) -> NDArray[Any]:
        full = np.zeros(rows * self.size, values.dtype)
        full[: len(values)] = values
        return full.reshape(rows, self.size)

    def schema_after(self, schema: Schema) -> Schema | None:
        if not all(name in schema and schema[name].kind != "bytes" for name in self.columns):
            return None
        rows = {name: Feature(schema[name].dtype, (self.size,)) for name in self.columns}
        numbers = Feature("int32", (self.size,))
        return Schema(rows | {f"{self.columns[0]}_{name}": numbers for name in ("segment_ids", "positions")})

    @property
    def calls(self) -> list[str]:
        key = self.columns[0] if len(self.columns) == 1 else list(self.columns)
        return [call_text("pack", self.size, key=key, drop_last=self.drop_last)]

    def describe(self) -> list[Any]:
        return ["pack lists", self.size, list(self.columns), self.drop_last]


def _count(parts: Sequence[_Part]) -> int:
    return sum(int(part.lengths.sum()) for part in parts)


def _lists(block: Block, name: str) -> Ragged:
    """Return a column of lists of numbers; an absent list is empty."""
    elements = block.elements
    column = plain(elements[name]) if isinstance(elements, Batch) else None
    if column is None or isinstance(column, Nullable):
        found = [_value_of(row, name) for row in iter_elements(elements)] if column is None else list(column)
        rows = [_array(value, name) for value in found]
        dtypes = [row.dtype for row in rows if len(row)]
        values = np.concatenate([row for row in rows if len(row)] or [np.zeros(0, np.int64)])
        if any(dtype != values.dtype for dtype in dtypes):
            raise TypeError(
                f"pack() needs lists of one dtype; {name!r} holds {', '.join(sorted({str(d) for d in dtypes}))}"
            )
        return Ragged.from_lengths(values, [len(row) for row in rows])
    if isinstance(column, np.ndarray) and column.ndim == 2 and column.dtype != object:
        column = Ragged.from_lengths(column.reshape(-1), np.full(len(column), column.shape[1]))
    if not isinstance(column, Ragged) or not isinstance(column.values, np.ndarray) or column.values.ndim != 1:
        raise TypeError(f"pack() needs lists of numbers, which {name!r} does not hold")
    return column


def _value_of(element: Any, name: str) -> Any:
    if isinstance(element, Batch):
        raise TypeError("pack() comes before batch()")
    return element[name]


def _array(value: Any, name: str) -> NDArray[Any]:
    row = np.asarray(() if value is None else value)
    if row.ndim != 1 or row.dtype.kind not in "iubfV":
        raise TypeError(f"pack() needs lists of numbers, which {name!r} does not hold")
    return row
