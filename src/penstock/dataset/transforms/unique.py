"""unique(): the first row of each key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.columns import Batch
from penstock.dataset.order import Ints, call_text
from penstock.dataset.transforms.key_order import Arrangement, value_codes


@dataclass(frozen=True)
class UniqueArrangement(Arrangement):
    """The first row of each key, in the order of the rows; absent keys are one key."""

    columns: tuple[str, ...] | None

    def positions(self, keys: Batch) -> list[Ints]:
        codes = [value_codes(name, keys[name]) for name in keys.column_names]
        if not codes:
            return [np.arange(min(1, keys.num_rows))]
        together = codes[0]
        for more in codes[1:]:
            _, together = np.unique(np.stack([together, more]), axis=1, return_inverse=True)
            together = together.reshape(-1)
        _, first = np.unique(together, return_index=True)
        return [np.sort(first).astype(np.int64)]

    @property
    def call(self) -> str:  # type: ignore[override]
        return call_text("unique", *map(repr, self.columns or ()))

    def describe(self) -> list[Any]:
        return ["unique", None if self.columns is None else list(self.columns)]
