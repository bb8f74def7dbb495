"""A dataset in one line, for its repr. Nothing is read for it."""

from __future__ import annotations

from penstock.dataset.pipeline import JoinStart, Pipeline
from penstock.dataset.read_rows import ReadRows
from penstock.dataset.transforms.batch import PackStage

_COLUMNS_SHOWN = 8


def summary(pipeline: Pipeline) -> str:
    """Return files, columns and calls: "<Dataset of 4 files, 60 records: image, label; shuffle(seed=7)>"."""
    calls = ", ".join(calls_of(pipeline))
    start = pipeline.start
    if not isinstance(start, ReadRows):
        return f"<Dataset of {calls}>"
    shards, names = start.source.shards, list(start.source.schema)
    files = shards.paths[0] if len(shards.paths) == 1 else f"{len(shards.paths)} files"
    records = "" if shards.known_rows is None else f", {shards.known_rows:,} records"
    more = [f"and {len(names) - _COLUMNS_SHOWN} more"] if len(names) > _COLUMNS_SHOWN else []
    columns = ", ".join(names[:_COLUMNS_SHOWN] + more)
    return f"<Dataset of {files}{records}: {columns}{'; ' if calls else ''}{calls}>"


def calls_of(pipeline: Pipeline) -> list[str]:
    """Return the method calls that made a pipeline, in their order."""
    start, calls, batch_calls = pipeline.start, [], []
    if isinstance(start, ReadRows):
        calls = [*start.rows.calls, *(call for filter_ in start.filters for call in filter_.test.calls)]
        batch_calls = [] if start.batches is None else start.batches.calls
    elif isinstance(start, JoinStart):
        calls = [start.call([calls_of(child) for child in start.children])]
    for stage in pipeline.stages:
        # Functions on rows come before the stage that packs rows into batches, though rows are read as batches.
        calls = [*calls, *(batch_calls if isinstance(stage, PackStage) else stage.calls)]
    return calls
