"""Turns one record at a time into a row: the same values as a batch of it would hold, at less cost."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.codec.plan import Plan
from penstock.columns import row_value

DecodedRow: TypeAlias = tuple[list[NDArray[Any]], list[Any], list[NDArray[np.uint8]]]
"""What :class:`penstock._core.NativeRowDecoder` makes of a record."""


class RowDecoder:
    """Decode rows one by one. Scalars of a type come in one array: with one each, a row of many would be slow."""

    def __init__(self, plan: Plan, native: _core.NativeDecoder) -> None:
        self._names = [planned.name for planned in plan.features]
        groups: dict[np.dtype[Any], dict[str, int]] = {}
        for planned in plan.features:
            if planned.build is None and not planned.feature.shape:
                groups.setdefault(planned.feature.numpy_dtype, {})[planned.name] = planned.native[0]
        self._scalars = [name for group in groups.values() for name in group]
        self._others = [planned for planned in plan.features if planned.name not in self._scalars]
        self.native = _core.NativeRowDecoder(native, [list(group.values()) for group in groups.values()])
        """For native readers that decode what they read; :meth:`row_of` takes their answers."""

    def row_of(self, decoded: DecodedRow) -> dict[str, Any]:
        """Make a row of what the native decoder answered: as :meth:`penstock.Batch.row` does."""
        groups, columns, buffers = decoded
        row = dict.fromkeys(self._names)
        row.update(zip(self._scalars, (value for group in groups for value in group), strict=True))
        for planned in self._others:
            native = [columns[i] for i in planned.native]
            column = native[0] if planned.build is None else planned.build(native, buffers)
            row[planned.name] = row_value(column, 0)
        return row
