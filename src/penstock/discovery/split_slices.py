"""The slicing language of TFDS: ``"train[:90%]"``, ``"train[10:20]+test"``, even splits, to ranges of rows.

A :class:`Split` knows no dataset; :meth:`Split.ranges` applies it to the shard lengths of one.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias, get_args

Unit: TypeAlias = Literal["abs", "%", "shard"]
Rounding: TypeAlias = Literal["closest", "pct1_dropremainder"]
Lengths: TypeAlias = Mapping[str, Sequence[int]]
"""The number of rows of each shard, by split."""

_PART = re.compile(r"(?P<name>[\w-]+)(?:\[(?P<slice>[^\[\]]*)\])?", re.ASCII)
# As many digits as a number of rows can have.
_BOUND = re.compile(r"(?:(?P<value>-?\d[\d_]{0,19}(?:\.\d{0,20})?)(?P<unit>%|shard)?)?", re.ASCII)
_MOST_PARTS = 100
_EXAMPLES = 'such as "train", "train[:90%]", "train[10:20]+test" or "train[3shard]"'


class RowRange(NamedTuple):
    """Successive rows of a split."""

    split: str
    start: int
    stop: int


class Split(ABC):
    """Which rows of a dataset to read. ``+`` reads one after another."""

    @abstractmethod
    def ranges(self, lengths: Lengths) -> list[RowRange]:
        """Return the rows, in order.

        Raises:
            ValueError: The dataset has no such split, or not as many rows.
        """

    def __add__(self, other: Split | str) -> Split:
        return JoinedSplits((self, parse_split(other)))

    def __radd__(self, other: str) -> Split:
        return JoinedSplits((parse_split(other), self))


@dataclass(frozen=True)
class JoinedSplits(Split):
    """Several parts, one after another."""

    parts: tuple[Split, ...]

    def ranges(self, lengths: Lengths) -> list[RowRange]:
        return list(chain.from_iterable(part.ranges(lengths) for part in self.parts))


@dataclass(frozen=True)
class AllSplits(Split):
    """All splits of a dataset."""

    def ranges(self, lengths: Lengths) -> list[RowRange]:
        return [RowRange(name, 0, sum(shards)) for name, shards in lengths.items()]


@dataclass(frozen=True)
class ReadInstruction(Split):
    """A slice of one split, with TFDS's arguments.

    Args:
        split_name: The split.
        from_: The first row; None is the start, a negative number counts from the end.
        to: The row after the last one; None is the end.
        unit: What the bounds count: rows (``"abs"``), percent (``"%"``) or shards (``"shard"``).
        rounding: How percents become rows: ``"closest"`` rounds; ``"pct1_dropremainder"`` makes every percent
            equally large and drops what is left.

    Example:
        >>> ps.Dataset("robot", split=ps.tfds.ReadInstruction("train", to=50, unit="%"))
        <Dataset of robot/1.0.0/robot-train.tfrecord-00000-of-00001, 10 records: ...; take(5)>
    """

    split_name: str
    from_: float | None = None
    to: float | None = None
    unit: Unit = "abs"
    rounding: Rounding = "closest"

    def __post_init__(self) -> None:
        if self.unit not in get_args(Unit) or self.rounding not in get_args(Rounding):
            raise ValueError(f"no such unit or rounding: {self.unit!r}, {self.rounding!r}")
        if self.unit == "%" and any(abs(bound or 0) > 100 for bound in (self.from_, self.to)):
            raise ValueError(f"percents are from -100 to 100, not {self.from_} to {self.to}")

    def ranges(self, lengths: Lengths) -> list[RowRange]:
        """Return the rows of each split, for splits with shards of these lengths.

        Example:
            >>> ps.tfds.ReadInstruction("train", to=50, unit="%").ranges({"train": [3]})
            [RowRange(split='train', start=0, stop=2)]
        """
        name = self.split_name
        if name not in lengths:
            raise ValueError(f"no split {name!r}: the dataset has {', '.join(map(repr, lengths)) or 'none'}")
        shards = lengths[name]
        rows = sum(shards)
        start, stop = (self._rows(bound, shards) for bound in (self.from_, self.to))
        start, stop = 0 if start is None else start, rows if stop is None else stop
        if self.unit == "shard" and self.to is not None and self.to <= 0:
            stop = sum(shards[: int(self.to) + len(shards)])
        if max(abs(start), abs(stop)) > rows:
            raise ValueError(f"the rows {start} to {stop} are asked for, and the split {name!r} has {rows}")
        start, stop = (bound + rows if bound < 0 else bound for bound in (start, stop))
        return [RowRange(name, start, max(start, stop))]

    def _rows(self, bound: float | None, shards: Sequence[int]) -> int | None:
        if bound is None:
            return None
        if self.unit == "shard":
            return sum(shards[: int(bound)])
        if self.unit == "abs":
            return int(bound)
        rows = sum(shards)
        if self.rounding == "closest":
            return round(bound * rows / 100)
        if rows < 100:
            raise ValueError("pct1_dropremainder needs a split of at least 100 rows: use rounding='closest'")
        return int(bound * math.trunc(rows / 100))


@dataclass(frozen=True)
class EvenSplit(Split):
    """One of several parts of equal size."""

    split: Split
    index: int
    count: int
    drop_remainder: bool = False

    def ranges(self, lengths: Lengths) -> list[RowRange]:
        return [self._part(whole) for whole in self.split.ranges(lengths)]

    def _part(self, whole: RowRange) -> RowRange:
        size, left = divmod(whole.stop - whole.start, self.count)
        extra = (0, 0) if self.drop_remainder else (min(self.index, left), min(self.index + 1, left))
        return RowRange(
            whole.split, whole.start + size * self.index + extra[0], whole.start + size * (self.index + 1) + extra[1]
        )


def even_splits(split: Split | str, n: int, *, drop_remainder: bool = False) -> list[Split]:
    """Divide a split into ``n`` parts of equal size.

    Args:
        split: The split.
        n: The number of parts.
        drop_remainder: Drop rows that cannot be divided. Otherwise the first parts have one more.

    Example:
        >>> first, second = ps.tfds.even_splits("train", 2)
        >>> second.ranges({"train": [5]})
        [RowRange(split='train', start=3, stop=5)]
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, not {n}")
    whole = parse_split(split)
    return [EvenSplit(whole, index, n, drop_remainder) for index in range(n)]


def parse_split(text: Split | str) -> Split:
    """Return the split that a text describes.

    Raises:
        ValueError: The text is not in the language.
    """
    if isinstance(text, Split):
        return text
    parts = re.split(r"\s*\+\s*", text)
    if len(parts) > _MOST_PARTS:
        raise ValueError(f"a split has at most {_MOST_PARTS} parts")
    found = tuple(map(_part, parts))
    return found[0] if len(found) == 1 else JoinedSplits(found)


def _part(text: str) -> Split:
    unknown = ValueError(f"not a split: {text[:80]!r}; write one {_EXAMPLES}")
    found = _PART.fullmatch(text)
    if found is None:
        raise unknown
    name, slice_text = found["name"], found["slice"]
    if name == "all":
        if slice_text is not None:
            raise ValueError('"all" cannot be sliced: slice the splits, as in "train[:75%]+test[:75%]"')
        return AllSplits()
    if slice_text is None:
        return ReadInstruction(name)
    bounds = [_BOUND.fullmatch(bound) for bound in slice_text.split(":")]
    given = [bound for bound in bounds if bound is not None]
    values = [bound["value"] or "" for bound in given]
    # A bound without a unit takes that of the other: [10:20%] is [10%:20%].
    units = {bound["unit"] for bound in given if bound["unit"]} or {"abs"}
    if len(given) < len(bounds) or len(given) > 2 or not any(values):
        raise unknown
    if len(units) > 1:
        raise ValueError(f"{text[:80]!r}: both bounds count rows, percent or shards, not one this and one that")
    unit: Unit = units.pop()  # type: ignore[assignment]
    if unit != "%" and any("." in value for value in values):
        raise unknown
    if len(given) == 1:
        if unit != "shard":
            raise ValueError(f"{text[:80]!r}: a single row or percent is a slice too, as in {name}[3:4]")
        return ReadInstruction(name, int(values[0]), int(values[0]) + 1 or None, unit)
    start, stop = (None if not value else float(value) if unit == "%" else int(value) for value in values)
    return ReadInstruction(name, start, stop, unit)
