"""sort(): rows in the order of key columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.columns import Batch
from penstock.dataset.order import Ints, call_text
from penstock.dataset.transforms.key_order import Arrangement, scalar_codes


@dataclass(frozen=True)
class SortArrangement(Arrangement):
    """All rows by their keys; those with equal keys stay in their order, and absent keys come last."""

    columns: tuple[str, ...]
    descending: bool

    def __post_init__(self) -> None:
        if not self.columns:
            raise ValueError('sort() needs a column: sort("id")')

    def positions(self, keys: Batch) -> list[Ints]:
        codes = [scalar_codes(name, keys[name], "sort()") for name in self.columns]
        if self.descending:
            largest = np.iinfo(np.int64).max
            codes = [np.where(code == largest, code, -code) for code in codes]
        return [np.lexsort(codes[::-1]).astype(np.int64)]

    @property
    def call(self) -> str:  # type: ignore[override]
        return call_text("sort", *map(repr, self.columns), descending=self.descending)

    def describe(self) -> list[Any]:
        return ["sort", list(self.columns), self.descending]
