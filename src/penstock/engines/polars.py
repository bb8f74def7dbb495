"""Lazy frames of Polars over TFRecords: it asks for the columns and rows that a query needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.dataset.dataset import Dataset
from penstock.engines.arrow_scan import ArrowScan
from penstock.errors import import_extra
from penstock.storage import StrPath

if TYPE_CHECKING:
    import polars


def scan(data: StrPath | Iterable[StrPath] | Dataset[Any], *, decode: bool = False, **options: Any) -> polars.LazyFrame:
    """Return a ``polars.LazyFrame`` over TFRecords. Polars pushes columns, filters and ``head()`` into the reader.

    Args:
        data: What :class:`penstock.Dataset` opens, or a dataset before ``batch()``.
        decode: Decode images and tensors to nested lists. By default they stay encoded, as bytes.
        options: Those of :class:`penstock.Dataset`.

    Example:
        >>> import polars as pl
        >>> ps.scan("train").filter(pl.col("label") == 3).select(pl.col("x").sum()).collect().item()
        480.0
    """
    pl = import_extra("polars", "polars", "a lazy frame")
    plugins = import_extra("polars.io.plugins", "polars", "a lazy frame")
    dataset = data if isinstance(data, Dataset) else Dataset(data, **options)
    read = ArrowScan(dataset, decode=decode)

    def batches(
        columns: list[str] | None, predicate: polars.Expr | None, rows: int | None, size: int | None
    ) -> Iterator[polars.DataFrame]:
        def choose(tested: Any) -> NDArray[np.bool_]:
            chosen = pl.from_arrow(tested).select(chosen=predicate)["chosen"].fill_null(False)
            return np.asarray(chosen.to_numpy())

        condition = None
        if predicate is not None:
            condition = read.condition(str(predicate), predicate.meta.root_names(), choose)
        for batch in read.batches(columns, condition=condition, limit=rows):
            yield pl.from_arrow(batch)

    schema = pl.from_arrow(read.schema.empty_table()).schema
    frame: polars.LazyFrame = plugins.register_io_source(batches, schema=schema, is_pure=True)
    return frame
