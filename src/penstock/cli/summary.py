"""Sums up columns batch by batch: how many values, from where to where, and how they are spread."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.cli.histogram import Histogram
from penstock.columns import AnyColumn, BytesColumn, Nullable, Ragged
from penstock.schema import Feature


@dataclass
class Extent:
    """The least, the most and the mean of numbers."""

    count: int = 0
    least: float | None = None
    most: float | None = None
    total: float = 0.0

    def add(self, numbers: NDArray[Any]) -> None:
        """Take in finite numbers."""
        if not len(numbers):
            return
        least, most = numbers.min().item(), numbers.max().item()
        self.least = least if self.least is None else min(self.least, least)
        self.most = most if self.most is None else max(self.most, most)
        self.count += len(numbers)
        self.total += float(numbers.sum(dtype=np.float64))

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self.count else None

    def as_json(self) -> dict[str, float | None]:
        return {"min": self.least, "mean": self.mean, "max": self.most}


@dataclass
class Summary:
    """What all records hold of one feature: of bytes, the sizes are summed up in place of the values."""

    feature: Feature
    rows: int = 0
    missing: int = 0
    lengths: Extent = field(default_factory=Extent)
    """Values in a record that has the feature."""
    steps: Extent = field(default_factory=Extent)
    """Of a sequence: steps in a record that has it."""
    values: Extent = field(default_factory=Extent)
    not_finite: int = 0

    def __post_init__(self) -> None:
        self.histogram = Histogram(integers=self.feature.dtype[:5] != "float" and self.feature.dtype != "bfloat16")

    def add(self, column: AnyColumn) -> None:
        """Take in the column of one batch."""
        self.rows += len(column)
        if isinstance(column, Nullable):
            self.missing += column.null_count
            column = column.values[column.valid] if column.null_count else column.values
        lengths, leaf = _flatten(column)
        self.lengths.add(lengths[-1])
        if len(lengths) > 1:
            self.steps.add(lengths[0])
        self._add_values(leaf)

    def _add_values(self, leaf: AnyColumn) -> None:
        if isinstance(leaf, BytesColumn):
            sizes = leaf.views[:, 0].astype(np.int64)
            self.values.add(sizes)
            self.histogram.add(sizes.astype(np.float64))
            return
        assert isinstance(leaf, np.ndarray)
        flat = leaf.reshape(-1)
        if flat.dtype.kind not in "iub":
            flat = flat.astype(np.float64)
            finite = np.isfinite(flat)
            self.not_finite += len(flat) - int(np.count_nonzero(finite))
            flat = flat[finite]
        self.values.add(flat)
        self.histogram.add(flat.astype(np.float64))

    def as_json(self) -> dict[str, Any]:
        """The same for programs."""
        what = "sizes" if self.feature.dtype == "bytes" else "values"
        return {
            "dtype": self.feature.dtype,
            "records": self.rows - self.missing,
            "missing": self.missing,
            "count": self.values.count + self.not_finite,
            "not_finite": self.not_finite,
            what: self.values.as_json(),
            "lengths": self.lengths.as_json(),
            **({"steps": self.steps.as_json()} if self.steps.count else {}),
            "histogram": self.histogram.as_json(),
        }


def _flatten(column: AnyColumn) -> tuple[list[NDArray[np.int64]], AnyColumn]:
    """Return the lengths of all ragged levels, with the number of values in each row last; and all values."""
    rows = len(column)
    bounds = np.arange(rows + 1)
    lengths = []
    while isinstance(column, Ragged):
        bounds = column.offsets[bounds]
        lengths.append(np.diff(bounds))
        column = column.values
    # A slice or a selection may look at a part of the values.
    column = column[int(bounds[0]) : int(bounds[-1])]
    if isinstance(column, np.ndarray) and column.ndim > 1:
        per_item = int(np.prod(column.shape[1:]))
        lengths.append(np.diff(bounds) * per_item)
    elif not lengths:
        lengths.append(np.ones(rows, np.int64))
    return lengths, column
