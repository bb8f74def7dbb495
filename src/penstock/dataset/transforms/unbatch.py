"""unbatch(): the rows of batches as elements."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.columns import Batch
from penstock.dataset.block import Cursor, Elements, Flow, OpenFlow, concat_elements
from penstock.dataset.order import RowKeys, call_text
from penstock.dataset.progress import Meter
from penstock.dataset.stage import Stage

# A batch has the key of its first row. Its rows need distinct keys: their position in the batch is added above any
# number of rows.
BATCH_ROW = 2**40


@dataclass(frozen=True)
class UnbatchStage(Stage):
    """Returns the rows of each batch: a Batch or dict of columns, a tuple of columns, or one column."""

    keeps_rows = True
    ignores_columns = True
    groups_rows = False

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        with closing(upstream(cursor)) as blocks:
            for block in blocks:
                if isinstance(block.elements, Batch):
                    raise TypeError("unbatch() takes batches apart, but these elements are examples")
                parts = [_rows(batch) for batch in block.elements]
                lengths = np.array([part.num_rows if isinstance(part, Batch) else len(part) for part in parts])
                if lengths.any():
                    yield replace(block, elements=concat_elements(parts), keys=keys_within(block.keys, lengths))

    @property
    def calls(self) -> list[str]:
        return [call_text("unbatch")]

    def describe(self) -> list[Any]:
        return ["unbatch"]


def keys_within(keys: RowKeys, lengths: NDArray[np.int64]) -> RowKeys:
    """Return distinct keys for several elements that are made of each one; ``lengths`` says of how many."""
    within = np.concatenate([np.arange(length) for length in lengths])
    rows, epochs = (np.repeat(part, lengths) for part in keys)
    return RowKeys(rows + within * BATCH_ROW, epochs)


def _rows(batch: Any) -> Elements:
    if isinstance(batch, (Batch, Mapping)):
        return batch if isinstance(batch, Batch) else Batch(batch)
    if isinstance(batch, tuple):
        return list(zip(*batch, strict=True))
    return list(batch)
