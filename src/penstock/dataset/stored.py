"""A data set with its images as they are stored, for whoever copies them: packed anew they would lose, or grow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from penstock.codec.blobs import decode_blobs
from penstock.columns import Batch, BytesColumn, Nullable, collate
from penstock.dataset import stages
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.reads import Reads
from penstock.schema import Feature, Schema
from penstock.schema.feature import IMAGES
from penstock.schema.stored import keep_images_encoded

# What leaves elements as they are.
_CHOOSING = (
    stages.Filter,
    stages.Taken,
    stages.Skipped,
    stages.Strided,
    stages.RepeatedFlow,
    stages.WindowShuffled,
    stages.Prefetched,
    stages.Unbatched,
)
_GROUPING = (stages.Batched, stages.Packed, stages.Bucketed)


def as_stored(pipeline: Pipeline) -> tuple[Pipeline, Schema] | None:
    """Answer a pipeline whose images are bytes, and the schema to write it by; None where rows are made anew.

    Functions that choose elements are given pixels all the same.
    """
    start = pipeline.start
    if not isinstance(start, Reads) or not all(map(_keeps_rows, pipeline.stages)):
        return None
    schema = start.source.schema
    images = {name: feature for name, feature in schema.items() if feature.encoding in IMAGES}
    chosen = [stage for stage in pipeline.stages if isinstance(stage, stages.Filter)]
    if chosen and any(name in schema.sequence for name in images):
        return None
    seeing = [
        replace(stage, fn=_WithPixels(stage.fn, images)) if images and stage in chosen else stage
        for stage in pipeline.stages
    ]
    stored = start.source.with_schema(keep_images_encoded(schema))
    return Pipeline(replace(start, source=stored), tuple(seeing)), schema


def _keeps_rows(stage: stages.Stage) -> bool:
    return isinstance(stage, _CHOOSING) or (isinstance(stage, _GROUPING) and not stage.pad)


@dataclass(frozen=True)
class _WithPixels:
    """Calls a function with elements as its author knows them: images decoded."""

    fn: Any
    images: dict[str, Feature]

    def __call__(self, element: Any, *generator: Any) -> Any:
        decode = _column if isinstance(element, Batch) else _row
        pixels = {name: decode(feature, element[name]) for name, feature in self.images.items()}
        return self.fn(element | pixels, *generator)


def _column(feature: Feature, column: Any) -> Any:
    if not isinstance(column, Nullable):
        return decode_blobs(feature, column, None)
    pixels = decode_blobs(feature, cast(BytesColumn, column.values), column.valid)
    return Nullable(pixels, column.valid) if feature.optional else pixels


def _row(feature: Feature, data: bytes | None) -> Any:
    if data is None:
        return np.asarray(feature.default, feature.numpy_dtype) if feature.has_default else None
    return decode_blobs(feature, cast(BytesColumn, collate([data])), None)[0]
