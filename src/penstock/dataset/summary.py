"""A dataset in one line, for its repr; in a line for each step; or with its first rows, for notebooks."""

from __future__ import annotations

from html import escape

from penstock import html
from penstock.dataset.export_arrow import Iterate, keep_encoded
from penstock.dataset.pipeline import JoinStart, Pipeline
from penstock.dataset.read_rows import ReadRows
from penstock.dataset.transforms.batch import PackStage
from penstock.dataset.transforms.take_skip import take
from penstock.errors import PenstockError

_COLUMNS_SHOWN = 8


def summary(pipeline: Pipeline) -> str:
    """Return files, columns and calls: "<Dataset of 4 files, 60 records: image, label; shuffle(seed=7)>"."""
    calls = ", ".join(calls_of(pipeline))
    start = pipeline.start
    if not isinstance(start, ReadRows):
        return f"<Dataset of {calls}>"
    return f"<Dataset of {_files_and_columns(start, _COLUMNS_SHOWN)}{'; ' if calls else ''}{calls}>"


def html_summary(pipeline: Pipeline, iterate: Iterate) -> str:
    """Return a table of the first rows; only the summary where reading them would call functions or take long."""
    caption = summary(pipeline)
    stored = None if pipeline.is_remote or pipeline.yields_batches else keep_encoded(pipeline)
    if stored is None:
        return f"<pre>{escape(caption)}</pre>"
    try:
        rows = list(iterate(take(stored[0], html.ROWS)))
    except (PenstockError, OSError) as error:
        return f"<pre>{escape(caption)}\n{escape(str(error))}</pre>"
    names = list(rows[0]) if rows else []
    return html.table(names, (list(row.values()) for row in rows), caption=caption)


def explain(pipeline: Pipeline) -> str:
    """Return what is read and decoded, each step, and what can be done with the elements, a line for each."""
    start = pipeline.start
    if isinstance(start, ReadRows):
        lines = [f"read {_files_and_columns(start, None)}"]
    else:
        children = start.children if isinstance(start, JoinStart) else ()
        lines = [f"  {line}" for child in children for line in explain(child).splitlines()[:-1]]
    tests = {
        call: filter_
        for filter_ in (start.filters if isinstance(start, ReadRows) else ())
        for call in filter_.test.calls
    }
    for call in calls_of(pipeline):
        tested = tests.get(call)
        decoded = (
            "" if tested is None else f"  decodes {', '.join(tested.source.schema)}, and the rest of rows that pass"
        )
        lines.append(f"{call}{decoded}")
    if pipeline.is_indexed:
        return "\n".join(
            [*lines, "elements have an index: a length, random access, exact shuffles and shares of ranks"]
        )
    return "\n".join([*lines, "elements come one after another: shuffle them with a window"])


def _files_and_columns(start: ReadRows, most: int | None) -> str:
    shards, names = start.source.shards, list(start.source.schema)
    files = shards.paths[0] if len(shards.paths) == 1 else f"{len(shards.paths)} files"
    records = "" if shards.known_rows is None else f", {shards.known_rows:,} records"
    more = [f"and {len(names) - most} more"] if most is not None and len(names) > most else []
    return f"{files}{records}: {', '.join(names[:most] + more)}"


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
