"""split(): rows divided into parts by a hash of their keys, or by position."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import _core
from penstock.arguments import seed_of
from penstock.columns import AnyColumn, Batch, BytesColumn, Nullable
from penstock.dataset.order import Ints, call_text
from penstock.dataset.transforms.key_order import Arrangement


@dataclass(frozen=True)
class SplitArrangement(Arrangement):
    """Parts of the rows, each in the order of the rows. With key columns, rows of equal keys are in the same part."""

    names: tuple[str, ...]
    fractions: tuple[float, ...]
    columns: tuple[str, ...]
    seed: int | None

    @classmethod
    def of(cls, fractions: Mapping[str, float], columns: tuple[str, ...], seed: int | None) -> SplitArrangement:
        """Check the arguments of split()."""
        if not isinstance(fractions, Mapping) or not fractions:
            raise TypeError('split() takes the share of each part: {"train": 0.8, "test": 0.2}')
        shares = tuple(float(share) for share in fractions.values())
        if not all(share > 0 for share in shares) or not math.isclose(sum(shares), 1, abs_tol=1e-6):
            raise ValueError(f"the shares of split() are greater than 0 and add up to 1, not to {sum(shares):g}")
        if not columns and seed is None:
            raise TypeError(
                'split() needs by="id", to divide rows by a hash of a column, or seed=, to divide positions'
            )
        return cls(tuple(fractions), shares, columns, None if seed is None else seed_of(seed))

    def positions(self, keys: Batch) -> list[Ints]:
        bounds = np.cumsum(self.fractions[:-1])
        if not self.columns:
            rows = keys.num_rows
            assert self.seed is not None
            order = _core.permute(np.arange(rows), rows, seed=self.seed)
            return [np.sort(part) for part in np.split(order, np.rint(bounds * rows).astype(np.int64))]
        hashes = key_hashes([keys[name] for name in self.columns], self.seed, "split()")
        # Exactly the integers below the share of 2**64.
        limits = np.array([min(int(bound * 2.0**64), 2**64 - 1) for bound in bounds.tolist()], np.uint64)
        part = np.searchsorted(limits, hashes, side="right")
        return [np.flatnonzero(part == number).astype(np.int64) for number in range(len(self.names))]

    @property
    def is_fixed(self) -> bool:  # type: ignore[override]
        return not self.columns

    @property
    def call(self) -> str:  # type: ignore[override]
        shares = dict(zip(self.names, self.fractions, strict=True))
        by = None if not self.columns else self.columns[0] if len(self.columns) == 1 else list(self.columns)
        return call_text("split", shares, by=by, seed=self.seed)

    def describe(self) -> list[Any]:
        return ["split", list(self.names), list(self.fractions), list(self.columns), self.seed]


def key_hashes(columns: list[AnyColumn], seed: int | None, verb: str) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return the hash of the keys of each row, from 0 to 2**64 - 1.

    BLAKE2b with a digest of 8 bytes, read as a little-endian integer, of these bytes for each column: ``i`` and 8 bytes
    of an integer or bool in two's complement, ``f`` and 8 bytes of a float64 (-0.0 as 0.0, every NaN as the bits
    0x7ff8000000000000), ``t`` and the length in 8 bytes of a text and its UTF-8 or bytes, or ``n`` for an absent value.
    Numbers are little-endian. A seed is the key of BLAKE2b, in 8 bytes. All of this never changes: which part a row
    belongs to depends on it.
    """
    key = b"" if seed is None else seed.to_bytes(8, "little")
    return _core.key_hashes([_key_column(column, verb) for column in columns], len(columns[0]), key)


def _key_column(column: AnyColumn, verb: str) -> tuple[str, object, tuple[object, ...], object]:
    if isinstance(column, Nullable):
        return *_key_column(column.values, verb)[:3], np.ascontiguousarray(column.valid)
    if isinstance(column, BytesColumn) and not column.shape:
        return "t", column.views, tuple(column.buffers), None
    if isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in "iubfV":
        is_float = column.dtype.kind in "fV"
        numbers = column.astype("<f8" if is_float else "<u8" if column.dtype.kind == "u" else "<i8")
        if is_float:
            numbers[np.isnan(numbers)] = np.nan
            numbers[numbers == 0] = 0.0  # also -0.0
        return "f" if is_float else "i", numbers.tobytes(), (), None
    raise TypeError(f"{verb} needs columns of single values as keys: the rows of one hold several")
