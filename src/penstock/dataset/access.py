"""Single elements of a pipeline, by their positions in the first epoch."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from penstock.columns import collate
from penstock.dataset.block import Block, Flow
from penstock.dataset.joining import Zipped
from penstock.dataset.meter import Meter
from penstock.dataset.order import Ints, Keys, Pass
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.reads import Reads
from penstock.dataset.stages.elements import each


def element_at(pipeline: Pipeline, position: int) -> Any:
    """Answer one element."""
    if isinstance(pipeline.start, Zipped) and not pipeline.stages:
        return tuple(element_at(child, position) for child in pipeline.start.children)
    reads = _reads(pipeline)
    keys = reads.keys(position, 1, Pass())
    if not pipeline.stages:
        return reads.fetch(keys.rows).row(0)
    return _through_stages(pipeline, reads, keys)[0]


def elements_at(pipeline: Pipeline, positions: Ints) -> Any:
    """Answer many elements at once: rows as a batch, others as a list."""
    reads = _reads(pipeline)
    if reads.batches is not None:
        return [element_at(pipeline, int(position)) for position in positions]
    keys = reads.rows.at(positions, Pass())
    if not pipeline.stages:
        return reads.fetch(keys.rows)
    return collate(_through_stages(pipeline, reads, keys))


def record_at(pipeline: Pipeline, position: int) -> bytes:
    """Answer the record that an element is made of, as it is stored."""
    reads = _rows(pipeline)
    row = position if reads.rows.whole else int(reads.keys(position, 1, Pass()).rows[0])
    return reads.source.record(row)


def records_at(pipeline: Pipeline, positions: Ints) -> list[bytes]:
    """Answer the records that elements are made of, as they are stored."""
    reads = _rows(pipeline)
    return reads.source.records(reads.rows.at(positions, Pass()).rows)


def _rows(pipeline: Pipeline) -> Reads:
    reads = _reads(pipeline)
    if reads.batches is not None:
        raise TypeError("a batch is made of many records: ask for them before batch()")
    return reads


def _reads(pipeline: Pipeline) -> Reads:
    if pipeline.reads is None:
        raise TypeError("elements behind filter(), bucket(), cache() and the like have no index: iterate them")
    pipeline.reads.check_seeks()
    return pipeline.reads


def _through_stages(pipeline: Pipeline, reads: Reads, keys: Keys) -> list[Any]:
    block = Block(reads.fetch(keys.rows), keys, None, None)

    def alone(cursor: Any) -> Flow:
        yield block

    flow = alone(None)
    meter = Meter()
    for stage in pipeline.stages:
        flow = stage.open(_opened(flow), None, meter)
    with closing(flow):
        return [element for done in flow for element in each(done.elements)]


def _opened(flow: Flow) -> Any:
    return lambda cursor: flow
