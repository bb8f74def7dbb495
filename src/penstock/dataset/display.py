"""A dataset in one line, for whoever looks at it in a notebook; nothing is read for it."""

from __future__ import annotations

from typing import Any

from penstock.dataset.pipeline import Pipeline
from penstock.dataset.read_rows import ReadRows

_COLUMNS_SHOWN = 8


def summary(pipeline: Pipeline) -> str:
    """Return files, columns and steps: "<Dataset of 4 files, 60 records: image, label; shuffle(7)>"."""
    return f"<Dataset of {_contents(pipeline)}>"


def _contents(pipeline: Pipeline) -> str:
    steps = _steps(pipeline.describe())
    start = pipeline.start
    if not isinstance(start, ReadRows):
        return steps
    shards, names = start.source.shards, list(start.source.schema)
    files = shards.paths[0] if len(shards.paths) == 1 else f"{len(shards.paths)} files"
    records = "" if shards.known_rows is None else f", {shards.known_rows:,} records"
    more = [f"and {len(names) - _COLUMNS_SHOWN} more"] if len(names) > _COLUMNS_SHOWN else []
    return f"{files}{records}: {', '.join(names[:_COLUMNS_SHOWN] + more)}" + (f"; {steps}" if steps else "")


def _steps(described: list[Any]) -> str:
    shown = []
    for what, *details in _as_called(described):
        if what == "picked":
            what, details = "select", details[:1]  # how many; the rest is for states alone
        arguments = ", ".join(_argument(detail) for detail in details if detail is not None and detail is not False)
        shown.append(f"{what}({arguments})")
    return ", ".join(shown)


def _as_called(described: list[Any]) -> list[Any]:
    """Put the steps into the order of the calls: rows are read as batches, so that what maps rows is told behind."""
    names = [what for what, *_ in described]
    if "pack" not in names:
        return described
    batch, pack = names.index("batch"), names.index("pack")
    on_rows = [step for step in described[batch:pack] if step[0] == "map"]
    on_batches = [step for step in described[batch:pack] if step[0] != "map"]  # the batch itself is the first of them
    return [*described[:batch], *on_rows, *on_batches, *described[pack + 1 :]]


def _argument(detail: Any) -> str:
    if isinstance(detail, list) and all(isinstance(step, list) for step in detail):
        return f"[{_steps(detail)}]"
    return detail.rpartition(".")[2] if isinstance(detail, str) else str(detail)
