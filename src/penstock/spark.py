"""Spark over TFRecords: ``format("penstock")`` splits within files, and commits at the end of a write.

>>> import penstock.spark  # needs pip install 'penstock[spark]'
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

from penstock.codec.encode_values import Float64
from penstock.dataset.dataset import Dataset
from penstock.discovery.resolve import resolve
from penstock.engines.arrow_scan import ArrowScan
from penstock.engines.parts import check_path, commit_parts, name_of_key, rows_by_key
from penstock.engines.splits import Task, absolute, open_dataset, plan_tasks
from penstock.errors import SchemaError, import_extra
from penstock.manifest import SUFFIX, Manifest
from penstock.schema import Schema
from penstock.storage import StrPath, locate, path_text
from penstock.writing import Writer, abort
from penstock.writing.write import write as write_dataset

import_extra("pyspark.sql.datasource", "spark", "penstock.spark")

import pyarrow as pa  # noqa: E402
from pyspark import TaskContext  # noqa: E402
from pyspark.sql import DataFrame  # noqa: E402
from pyspark.sql.datasource import (  # noqa: E402
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema  # noqa: E402
from pyspark.sql.types import StructType  # noqa: E402

from penstock.engines.spark_types import (  # noqa: E402
    cast_to,
    narrowed,
    schema_to_append,
    schema_to_read,
    schema_to_write,
    spark_type,
)

__all__ = ["PenstockDataSource", "write"]

Mode: TypeAlias = Literal["error", "append", "overwrite"]
_TASK_BYTES = 128 << 20  # Spark's own default for files
_READ_OPTIONS = ("path", "paths", "recordType", "codec", "columns", "partitions", "onError", "index")
_WRITE_OPTIONS = ("path", "recordType", "codec", "level", "float64", "rowsPerShard", "shardBytes")
_CODECS = {
    "": "",
    "none": "",
    "uncompressed": "",
    "gzip": "GZIP",
    "zlib": "ZLIB",
    "deflate": "ZLIB",
    "snappy": "SNAPPY",
}
_HADOOP_CODECS = {"gzipcodec": "GZIP", "defaultcodec": "ZLIB", "deflatecodec": "ZLIB", "snappycodec": "SNAPPY"}


class PenstockDataSource(DataSource):
    """What ``spark.read.format("penstock")`` and ``df.write.format("penstock")`` use; docs/clusters.md has the options.

    Example:
        >>> spark.read.format("penstock").load(train).selectExpr("sum(x)").first()[0]
        4950.0
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "penstock"

    def schema(self) -> StructType:
        """Return what the manifest or a schema file describes, else what a sample of the records shows."""
        dataset = _open(self.options, None)
        _check_kind(self.options, dataset.schema)
        fields = ArrowScan(dataset).schema
        return from_arrow_schema(pa.schema([field.with_type(spark_type(field.type)) for field in fields]))

    def reader(self, schema: StructType) -> PenstockReader:
        """Return the reader of the columns of a schema."""
        return PenstockReader(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> PenstockWriter:
        """Return a writer that appends or replaces."""
        _check_options(self.options, _WRITE_OPTIONS)
        path = _path(self.options)
        float64 = self.options.get("float64") or "float32"
        features = schema_to_write(schema, is_sequence=_is_sequence(self.options), float64=float64)
        return PenstockWriter(path, features, "overwrite" if overwrite else "append", _write_options(self.options))


@dataclass
class _Partition(InputPartition):
    task: Task


class PenstockReader(DataSourceReader):
    """Reads a part of the rows in each partition."""

    def __init__(self, options: Any, schema: StructType) -> None:
        _check_options(options, _READ_OPTIONS)
        names = schema.fieldNames()
        described = bool(resolve(_paths(options)).schemas)
        self._dataset = _open(
            options, None if described else schema_to_read(schema, is_sequence=_is_sequence(options)), names
        )
        self._count = int(options.get("partitions") or 0)
        self._schema = to_arrow_schema(schema, timezone="UTC")
        self._names = names

    def partitions(self) -> list[InputPartition]:
        """Return partitions of about 128 MB, or as many as the option ``partitions`` says."""
        count = self._count
        if not count:
            num_bytes = sum(task.num_bytes for task in plan_tasks(self._dataset, 1))
            count = -(-num_bytes // _TASK_BYTES)
        return [_Partition(task) for task in plan_tasks(self._dataset, max(1, count))] or [
            _Partition(Task((), False, False))
        ]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield Arrow batches."""
        for batch in partition.task.batches(self._names):
            yield cast_to(batch, self._schema)


@dataclass
class PartMessage(WriterCommitMessage):
    """What a task reports: its part, or None where it had no rows."""

    manifest: str | None


class PenstockWriter(DataSourceArrowWriter):
    """Writes a part in each task, and commits one attempt of each."""

    def __init__(self, path: str, schema: Schema, mode: Mode, options: dict[str, Any]) -> None:
        self._path = check_path(path, can_exist=mode != "error")
        before = _existing(self._path) if mode == "append" else None
        self._schema = schema if before is None else schema_to_append(schema, before)
        self._mode, self._options = mode, options

    def write(self, iterator: Iterator[Any]) -> PartMessage:
        """Write the rows of one task as a part."""
        context = TaskContext.get()
        part = _write_part(self._path, self._schema, self._options, iterator, context.partitionId())
        return PartMessage(None if part is None else part.to_json())

    def commit(self, messages: list[Any]) -> None:
        """Commit the parts in the order of the partitions."""
        parts = [Manifest.from_json(m.manifest) for m in messages if m is not None and m.manifest is not None]
        _commit_all(self._path, self._schema, parts, self._mode)

    def abort(self, messages: list[Any]) -> None:
        """Remove the parts."""
        abort(self._path)


def _write_part(
    path: str, schema: Schema, options: dict[str, Any], batches: Iterator[Any], key: str | int
) -> Manifest | None:
    """Write batches as a part; return None where there are no rows."""
    writer = None
    for batch in batches:
        if batch.num_rows:
            writer = writer or Writer(path, schema=schema, part=key, progress=False, **options)
            writer.write_batch(narrowed(batch, schema))
    if writer is None:
        return None
    writer.close()
    return writer.manifest


def _commit_all(path: str, schema: Schema, parts: list[Manifest], mode: Mode) -> Manifest:
    """Commit parts; without any, write a dataset that has no rows."""
    before = _existing(path) if mode == "append" else None
    if parts:
        return commit_parts(path, parts, replace=mode == "overwrite", append=mode == "append")
    return before or write_dataset(path, [], schema=schema, replace=mode == "overwrite", progress=False)


def write(
    df: DataFrame,
    path: StrPath,
    *,
    schema: Schema | None = None,
    partition_by: str | None = None,
    mode: Mode = "error",
    compression: str | None = "",
    level: int = 2,
    rows_per_shard: int | None = None,
    shard_bytes: int | str | None = None,
    float64: Float64 = "float32",
) -> dict[str, Manifest] | Manifest:
    """Write a data frame as a dataset, or as one for each value of a column.

    Each partition becomes a shard: ``df.repartition(8)`` writes 8 of them. A job that fails leaves nothing that a
    reader sees, and a task that runs twice is written once.

    Args:
        df: The data frame.
        path: The name of the dataset, as for :func:`penstock.write`: a path that all executors reach, or a URL.
        schema: What the records hold. By default the types of the columns decide.
        partition_by: A column. Each of its values gets a dataset of its own, ``path/column=value``, with
            values escaped as Hive does; that of null is ``path/column=__HIVE_DEFAULT_PARTITION__``.
        mode: ``"error"`` if there is a dataset, ``"append"`` to it, or ``"overwrite"`` it.
        compression: As for :func:`penstock.write`.
        level: As for :func:`penstock.write`.
        rows_per_shard: As for :func:`penstock.write`, for each partition.
        shard_bytes: As for :func:`penstock.write`, for each partition.
        float64: How doubles and decimals are stored: ``"float32"`` rounds them, ``"raw"`` keeps doubles.

    Returns:
        The manifest of the dataset; with ``partition_by``, those of all datasets, by path.

    Example:
        >>> df = spark.range(0, 100, 1, 2)
        >>> penstock.spark.write(df, "numbers")
        <Manifest of 100 records in 2 shards, 3,100 bytes: id>
    """
    base = absolute(path_text(path))
    if partition_by is None:
        check_path(base, can_exist=mode != "error")
    features = schema or schema_to_write(df.schema, is_sequence=False, float64=float64)
    options = {
        "compression": compression,
        "level": level,
        "rows_per_shard": rows_per_shard,
        "shard_bytes": shard_bytes,
        "float64": float64,
    }
    before = _existing(base) if mode == "append" and partition_by is None else None
    features = features if before is None else schema_to_append(features, before)
    write_parts = partial(_write_parts, path=base, schema=features, options=options, by=partition_by)
    rows = df.mapInArrow(write_parts, "path string, task int, part string").collect()
    found: dict[str, list[Manifest]] = {} if partition_by else {base: []}
    for row in sorted(rows, key=lambda row: row.task):
        found.setdefault(row.path, []).append(Manifest.from_json(row.part))
    for name in found:
        check_path(name, can_exist=mode != "error")
    manifests = {name: _commit_all(name, features, parts, mode) for name, parts in found.items()}
    return manifests if partition_by else manifests[base]


def _write_parts(
    batches: Iterator[Any], *, path: str, schema: Schema, options: dict[str, Any], by: str | None
) -> Iterator[Any]:
    """Write the rows of one task: a part of each dataset that they belong to."""
    task = TaskContext.get().partitionId()
    if by is None:
        parts = {path: _write_part(path, schema, options, batches, task)}
    else:
        writers: dict[str, Writer] = {}
        for batch in batches:
            for key, chosen in rows_by_key(batch, batch.column(by)):
                name = f"{path}/{by}={name_of_key(key)}"
                if name not in writers:
                    writers[name] = Writer(name, schema=schema, part=task, progress=False, **options)
                writers[name].write_batch(narrowed(chosen, schema))
        for writer in writers.values():
            writer.close()
        parts = {name: writer.manifest for name, writer in writers.items()}
    for name, part in parts.items():
        if part is not None:
            yield pa.record_batch({"path": [name], "task": pa.array([task], pa.int32()), "part": [part.to_json()]})


# Options.


def _check_options(options: Any, known: tuple[str, ...]) -> None:
    names = {name.lower() for name in known}
    wrong = sorted(name for name in options if name.lower() not in names)
    if wrong:
        raise ValueError(f"format penstock has no option {wrong[0]!r}; it has {', '.join(known)}")


def _path(options: Any) -> str:
    path = options.get("path")
    if not path:
        raise ValueError("pass a path: load(path) or save(path)")
    return _without_scheme(path)


def _paths(options: Any) -> str | list[str]:
    several = options.get("paths")  # JSON, of load([...])
    return [_without_scheme(path) for path in json.loads(several)] if several else _path(options)


def _without_scheme(path: str) -> str:
    """Return a path as it is on a disk, which Spark also spells as a URL."""
    return re.sub("^file:(//)?", "", path)


def _open(options: Any, schema: Schema | None, columns: list[str] | None = None) -> Dataset[Any]:
    """Open what the options name; ``columns`` are those of a schema that the user gave."""
    if columns is None and (text := options.get("columns")):
        columns = [name.strip() for name in text.split(",")]
    codec = options.get("codec")
    chosen: dict[str, Any] = {"columns": columns, "schema": schema, "on_error": options.get("onError") or "raise"}
    if index := options.get("index"):
        chosen["index"] = index
    if codec is not None:
        chosen["compression"] = _compression(codec)
    return open_dataset(_paths(options), chosen)


def _compression(codec: str) -> str:
    name = codec.lower()
    found = _CODECS.get(name, _HADOOP_CODECS.get(name.rpartition(".")[2]))
    if found is None:
        raise ValueError(
            f"codec is one of {', '.join(filter(None, _CODECS))}, or the class of a Hadoop codec; found {codec!r}"
        )
    return found


def _write_options(options: Any) -> dict[str, Any]:
    shard_rows, shard_bytes = options.get("rowsPerShard"), options.get("shardBytes")
    return {
        "compression": _compression(options.get("codec") or ""),
        "level": int(options.get("level") or 2),
        "rows_per_shard": int(shard_rows) if shard_rows else None,
        "shard_bytes": shard_bytes,
        "float64": options.get("float64") or "float32",
    }


def _is_sequence(options: Any) -> bool:
    kind = options.get("recordType") or "Example"
    if kind.lower() not in ("example", "sequenceexample"):
        raise ValueError(f"recordType is Example or SequenceExample; found {kind!r}")
    return bool(kind.lower() == "sequenceexample")


def _check_kind(options: Any, schema: Schema) -> None:
    if options.get("recordType") and _is_sequence(options) != schema.is_sequence:
        found = "SequenceExample" if schema.is_sequence else "Example"
        raise SchemaError(f"recordType is {options.get('recordType')}, and the records are of type {found}")


def _existing(path: str) -> Manifest | None:
    store, base = locate(path)
    try:
        store.stat(base + SUFFIX)
    except FileNotFoundError:
        return None
    return Manifest.load(base + SUFFIX)
