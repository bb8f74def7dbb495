"""Types of Spark's columns and of the features that store them, by the table of spark-tfrecord."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import types

from penstock.errors import SchemaError
from penstock.manifest import Manifest
from penstock.schema import Feature, Schema


def spark_type(kind: Any) -> Any:
    """Return the Arrow type that Spark has for one: a list of no fixed size, numbers with a sign."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(spark_type(kind.value_type))
    if pa.types.is_dictionary(kind):
        return spark_type(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(spark_type(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(spark_type(kind.key_type), spark_type(kind.item_type))
    wider = {"uint8": pa.int16(), "uint16": pa.int32(), "uint32": pa.int64(), "halffloat": pa.float32()}
    if str(kind) == "uint64":
        return pa.decimal128(20, 0)
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.binary()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz and "UTC")
    if pa.types.is_date(kind):
        return pa.date32()
    return wider.get(str(kind), kind)


def cast_to(batch: Any, schema: Any) -> Any:
    """Return a batch with the types, and the marks of what may be absent, that Spark expects."""
    columns = [batch.column(field.name).cast(field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _feature(kind: types.DataType) -> Feature:
    """Return the feature of a type, as spark-tfrecord stores it."""
    scalars = {
        types.BooleanType: "bool",
        types.ByteType: "int8",
        types.ShortType: "int16",
        types.IntegerType: "int32",
        types.LongType: "int64",
        types.FloatType: "float32",
        types.DoubleType: "float32",
        types.DecimalType: "float32",
        types.StringType: "str",
        types.BinaryType: "bytes",
    }
    shape: tuple[None, ...] = ()
    while isinstance(kind, types.ArrayType):
        kind, shape = kind.elementType, (*shape, None)
    if type(kind) not in scalars:
        raise SchemaError(f"records hold no values of Spark's type {kind.simpleString()}: cast the column")
    return Feature(scalars[type(kind)], shape, optional=True)


def schema_to_read(schema: types.StructType, *, is_sequence: bool) -> Schema:
    """Return how records that nothing describes are decoded to the columns of a schema."""
    features = {field.name: _feature(field.dataType) for field in schema}
    return _schema_of(features, is_sequence)


def schema_to_write(schema: types.StructType, *, is_sequence: bool, float64: str) -> Schema:
    """Return how columns are stored. Doubles are rounded to floats unless ``float64`` is ``"raw"``."""
    features = {}
    for field in schema:
        feature = _feature(field.dataType)
        keeps = float64 == "raw" and isinstance(_innermost(field.dataType), types.DoubleType)
        features[field.name] = feature.replace(dtype="float64", encoding="raw") if keeps else feature
    return _schema_of(features, is_sequence)


def _innermost(kind: types.DataType) -> types.DataType:
    while isinstance(kind, types.ArrayType):
        kind = kind.elementType
    return kind


def _schema_of(features: dict[str, Feature], is_sequence: bool) -> Schema:
    """Return a schema: lists of lists are feature lists of SequenceExamples."""
    if not is_sequence:
        return Schema(features)
    context = {name: feature for name, feature in features.items() if len(feature.shape) < 2}
    lists = {name: f.replace(shape=f.shape[1:]) for name, f in features.items() if len(f.shape) == 2}
    return Schema(context, sequence=lists)


def schema_to_append(schema: Schema, before: Manifest) -> Schema:
    """Return the schema of a dataset that rows are appended to."""
    if set(schema) != set(before.schema):
        raise SchemaError(f"the dataset has the columns {', '.join(before.schema)}, the rows have {', '.join(schema)}")
    return before.schema


def narrowed(batch: Any, schema: Schema) -> Any:
    """Return a batch with numbers of the width that is stored: doubles and decimals as floats."""
    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        kept = schema[name].dtype == "float64" or schema[name].logical
        columns.append(column if kept else column.cast(_narrow(column.type)))
    return pa.record_batch(columns, names=batch.schema.names)


def _narrow(kind: Any) -> Any:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_narrow(kind.value_type))
    return pa.float32() if pa.types.is_decimal(kind) or pa.types.is_float64(kind) else kind
