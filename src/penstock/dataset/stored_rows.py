"""Which records of which files a dataset has, in its order: for copying them as they are stored."""

from __future__ import annotations

import numpy as np

from penstock.dataset.export_arrow import keep_encoded
from penstock.dataset.order import Epoch
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.read_rows import ReadRows
from penstock.writing.rewrite import StoredRows


def stored_rows(pipeline: Pipeline, epoch: int) -> StoredRows:
    """Return the records of an epoch.

    Raises:
        TypeError: Elements are not records as they are stored.
        ValueError: A record comes twice.
    """
    reads, stored = pipeline.start, keep_encoded(pipeline)
    is_plain = isinstance(reads, ReadRows) and reads.batches is None and not reads.filters and not pipeline.stages
    if not is_plain or stored is None or not isinstance(reads, ReadRows) or not reads.source.has_all_columns:
        raise TypeError(
            "memory= copies records as they are stored: without functions, conditions, batches, joined datasets and "
            "a choice of columns"
        )
    source, shards = reads.source, reads.source.shards
    if source.on_error != "raise":
        raise TypeError('memory= copies whole files: repair them first, or open the dataset with on_error="raise"')
    rows = None
    if not reads.rows.whole:
        which = Epoch(epoch)
        length = reads.rows.length(which)
        if length is None:
            raise ValueError("memory= needs a dataset that ends")
        rows = reads.rows.at(np.arange(length), which).rows
        taken = np.zeros(shards.rows, np.bool_)
        taken[rows] = True
        if np.count_nonzero(taken) != length:
            raise ValueError("memory= copies each record once at most, and repeat() or select() took one twice")
    indexes = [shards.index(number) for number in range(len(shards.paths))]
    lengths = [index.locations(np.arange(index.records))[1] for index in indexes]
    return StoredRows(
        shards.paths,
        shards.counts,
        np.concatenate([np.zeros(0, np.uint64), *lengths]),
        rows,
        shards.options,
        stored[1],
    )
