"""Exports datasets to Arrow, and copies them without decoding images."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from penstock.codec.decode_blobs import BlobDecoder
from penstock.columns import Batch, BytesColumn, Nullable, as_nested_lists, collate, is_object_column
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.read_rows import ReadRows
from penstock.dataset.transforms.batch import batch
from penstock.dataset.transforms.filter import FilterStage
from penstock.dataset.transforms.take_skip import take
from penstock.errors import import_extra
from penstock.schema import Feature, Schema
from penstock.schema.arrow_metadata import attach_schema
from penstock.schema.arrow_types import restored
from penstock.schema.dtype import TEXT
from penstock.schema.feature import IMAGES
from penstock.schema.schema import keep_images_encoded, keep_stored

_BATCH_ROWS = 1024


Iterate: TypeAlias = Callable[[Pipeline], Iterator[Any]]
"""Iterates over the elements of a pipeline, in the epoch that is exported."""


def read_table(pipeline: Pipeline, iterate: Iterate) -> Any:
    """Return a ``pyarrow.Table`` of all elements."""
    return open_plain_arrow(pipeline, iterate).read_all()


def open_plain_arrow(pipeline: Pipeline, iterate: Iterate) -> Any:
    """Return a ``pyarrow.RecordBatchReader`` of one epoch, without types that pandas does not know."""
    reader = open_arrow(pipeline, iterate)
    schema = without_views(reader.schema)
    batches = (batch.cast(schema) for batch in reader)
    return import_extra("pyarrow", "arrow", "Arrow data").RecordBatchReader.from_batches(schema, batches)


def read_pandas(table: Any) -> Any:
    """Return a ``pandas.DataFrame`` of an Arrow table. Integers and bools with absent values do not become floats."""
    pa = import_extra("pyarrow", "arrow", "Arrow data")
    pd = import_extra("pandas", "pandas", "data frames of pandas")
    nullable = {pa.bool_(): pd.BooleanDtype()}
    for bits in (8, 16, 32, 64):
        nullable[getattr(pa, f"int{bits}")()] = getattr(pd, f"Int{bits}Dtype")()
        nullable[getattr(pa, f"uint{bits}")()] = getattr(pd, f"UInt{bits}Dtype")()
    absent = [name for name in table.column_names if table[name].null_count and table[name].type in nullable]
    frame = table.to_pandas()
    exact = table.select(absent).to_pandas(types_mapper=nullable.get)
    for name in absent:
        frame[name] = exact[name]
    return frame


def open_arrow(pipeline: Pipeline, iterate: Iterate) -> Any:
    """Return a ``pyarrow.RecordBatchReader`` of one epoch."""
    pa = import_extra("pyarrow", "arrow", "Arrow data")
    stored = keep_encoded(pipeline)
    features = Schema({})
    if stored is not None:
        pipeline, schema = stored
        features = keep_images_encoded(schema)
    batches = (arrow_batch(batch, features) for batch in _batches(pipeline, iterate))
    first = next(batches, None)
    if first is None:
        empty = pa.schema([]) if stored is None else attach_schema(arrow_schema(features), schema)
        return pa.RecordBatchReader.from_batches(empty, iter(()))
    # A later batch may have absent values.
    fields = pa.schema([field.with_nullable(True) for field in first.schema])
    fields = fields if stored is None else attach_schema(fields, schema)
    return pa.RecordBatchReader.from_batches(fields, (batch.cast(fields) for batch in chain([first], batches)))


def arrow_schema(features: Schema) -> Any:
    """Return the ``pyarrow.Schema`` of what :func:`arrow_batch` returns for rows of these features."""
    pa = import_extra("pyarrow", "arrow", "Arrow data")
    plain = features.to_arrow()
    columns = restored({field.name: pa.array([], field.type) for field in plain}, features)
    fields = [
        plain.field(name)
        if name in plain.names and plain.field(name).type == array.type
        else pa.field(name, array.type)
        for name, array in columns.items()
    ]
    return pa.schema(fields)


def without_views(schema: Any) -> Any:
    """Return an Arrow schema without view types, which many of Arrow's compute functions and pandas do not support."""
    pa = import_extra("pyarrow", "arrow", "Arrow data")

    def plain(kind: Any) -> Any:
        if pa.types.is_string_view(kind):
            return pa.large_string()
        if pa.types.is_binary_view(kind):
            return pa.large_binary()
        if pa.types.is_fixed_size_list(kind):
            return pa.list_(plain(kind.value_type), kind.list_size)
        if pa.types.is_struct(kind):
            return pa.struct([field.with_type(plain(field.type)) for field in kind])
        if pa.types.is_map(kind):
            return pa.map_(plain(kind.key_type), plain(kind.item_type))
        return pa.large_list(plain(kind.value_type)) if pa.types.is_large_list(kind) else kind

    return pa.schema([field.with_type(plain(field.type)) for field in schema], schema.metadata)


def arrow_batch(batch: Batch, features: Mapping[str, Feature]) -> Any:
    """Return a ``pyarrow.RecordBatch`` with the types that the features mean; tensors of several shapes are lists."""
    pa = import_extra("pyarrow", "arrow", "Arrow data")
    lists = {
        name: as_nested_lists(column, _empty_row(features[name]) if name in features else None)
        for name, column in batch.items()
        if is_object_column(column)
    }
    plain = pa.record_batch(batch | lists if lists else batch)
    if not any(feature.logical for feature in features.values()):
        return plain
    columns = restored(dict(zip(plain.schema.names, plain.columns, strict=True)), features)
    return pa.record_batch(list(columns.values()), names=list(columns))


def _empty_row(feature: Feature) -> NDArray[Any]:
    return np.empty((0,) * len(feature.shape), object if feature.dtype in TEXT else feature.numpy_dtype)


def _batches(pipeline: Pipeline, iterate: Iterate) -> Iterator[Batch]:
    for first in iterate(take(pipeline, 1)):
        is_batch = isinstance(first, Batch)
        for element in iterate(pipeline if is_batch else batch(pipeline, _BATCH_ROWS, drop_last=False, pad=None)):
            if not isinstance(element, Batch):
                raise TypeError(
                    f"an Arrow table needs named columns: map() elements of type {type(first).__name__} to dicts"
                )
            yield element


def keep_encoded(pipeline: Pipeline, *, tensors: bool = False) -> tuple[Pipeline, Schema] | None:
    """Return a pipeline whose images stay encoded, and the schema to write it with; None if functions change rows.

    Functions of ``filter()`` still get pixels. With ``tensors``, TensorProtos stay encoded, too.
    """
    start = pipeline.start
    if not isinstance(start, ReadRows) or not pipeline.keeps_rows:
        return None
    decoded = start.source.schema
    schema = keep_stored(decoded)
    filters = [stage for stage in pipeline.stages if isinstance(stage, FilterStage)]
    if filters and schema is not decoded:
        return None  # functions get what connectors of TFDS decode
    encodings = IMAGES | {"tensor"} if tensors else IMAGES
    images = {name: feature for name, feature in schema.items() if feature.encoding in encodings}
    if filters and any(name in schema.sequence for name in images):
        return None
    stages = [
        replace(stage, fn=_WithPixels(stage.fn, images)) if images and stage in filters else stage
        for stage in pipeline.stages
    ]
    stored = start.source.with_schema(keep_images_encoded(schema, tensors=tensors))
    to_write = pipeline.schema
    assert to_write is not None
    return Pipeline(replace(start, source=stored), tuple(stages)), keep_stored(to_write)


@dataclass(frozen=True)
class _WithPixels:
    """Calls a function with decoded images."""

    fn: Any
    images: dict[str, Feature]

    def __call__(self, element: Any, *generator: Any) -> Any:
        decode = _column if isinstance(element, Batch) else _row
        pixels = {name: decode(feature, element[name]) for name, feature in self.images.items() if name in element}
        return self.fn(element | pixels, *generator)


def _column(feature: Feature, column: Any) -> Any:
    if not isinstance(column, Nullable):
        return BlobDecoder(feature)(column, None)
    pixels = BlobDecoder(feature)(cast(BytesColumn, column.values), column.valid)
    return Nullable(pixels, column.valid) if feature.optional else pixels


def _row(feature: Feature, data: bytes | None) -> Any:
    if data is None:
        return np.asarray(feature.default, feature.numpy_dtype) if feature.has_default else None
    return BlobDecoder(feature)(cast(BytesColumn, collate([data])), None)[0]
