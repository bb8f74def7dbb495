"""Ray Data over TFRecords: a source that also splits within files, and a sink that commits at the end.

>>> import penstock.ray  # needs pip install 'penstock[ray]'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from typing import Any

from penstock.codec.encode_values import Float64
from penstock.dataset.dataset import Dataset
from penstock.engines.arrow_scan import ArrowScan
from penstock.engines.parts import PartOptions, check_path, commit_parts, write_part
from penstock.engines.splits import Task, open_dataset, plan_tasks
from penstock.errors import import_extra
from penstock.manifest import Manifest
from penstock.records.read_options import OnBadRecord
from penstock.schema import Schema
from penstock.storage import StrPath
from penstock.writing import abort
from penstock.writing.write import write as write_dataset

import_extra("ray.data", "ray", "penstock.ray")

import ray.data  # noqa: E402
from ray.data.block import Block, BlockAccessor, BlockMetadata  # noqa: E402
from ray.data.datasource import Datasink, Datasource, ReadTask  # noqa: E402

__all__ = ["PenstockDatasink", "PenstockDatasource", "read", "write"]


class PenstockDatasource(Datasource):
    """What :func:`read` reads: for ``ray.data.read_datasource``, with the options that it has for tasks.

    Args:
        data: What :class:`penstock.Dataset` opens, or a dataset before ``batch()``.
        decode: Decode images and tensors. By default they stay encoded, as bytes.
        options: Those of :class:`penstock.Dataset`.

    Example:
        >>> source = penstock.ray.PenstockDatasource("train")
        >>> len(source.get_read_tasks(3))
        3
    """

    def __init__(
        self, data: StrPath | Iterable[StrPath] | Dataset[Any], *, decode: bool = False, **options: Any
    ) -> None:
        super().__init__()
        self._projection_map: dict[str, str] | None = None
        self._dataset = open_dataset(data, options)
        self._decode = decode

    @cached_property
    def _schema(self) -> Any:
        return ArrowScan(self._dataset, decode=self._decode, tensors=True).schema

    @cached_property
    def _num_bytes(self) -> int:
        return sum(task.num_bytes for task in plan_tasks(self._dataset, 1))

    def get_name(self) -> str:
        """Return the name that Ray shows."""
        return "Penstock"

    def estimate_inmemory_data_size(self) -> int | None:
        """Return about how many bytes the rows have: those that are stored."""
        return self._num_bytes

    def supports_projection_pushdown(self) -> bool:
        """Return True: columns that are not selected are not decoded."""
        return True

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None
    ) -> list[ReadTask]:
        """Return about ``parallelism`` tasks of about equal size, also of one file."""
        columns = self._get_data_columns()
        schema = self._schema if columns is None else _selected(self._schema, columns)
        tasks = plan_tasks(self._dataset, max(1, parallelism), decode=self._decode, tensors=True)
        return [
            ReadTask(
                partial(_read, task, columns, per_task_row_limit),
                BlockMetadata(num_rows=task.rows, size_bytes=task.num_bytes, input_files=task.paths, exec_stats=None),
                schema=schema,
                per_task_row_limit=per_task_row_limit,
            )
            for task in tasks
        ]


def _selected(schema: Any, columns: list[str]) -> Any:
    return import_extra("pyarrow", "ray", "Ray Data").schema([schema.field(name) for name in columns])


def _read(task: Task, columns: list[str] | None, limit: int | None) -> Iterator[Block]:
    pa = import_extra("pyarrow", "ray", "Ray Data")
    for batch in task.batches(columns, limit):
        yield pa.Table.from_batches([batch])


def read(
    data: StrPath | Iterable[StrPath] | Dataset[Any],
    *,
    columns: Iterable[str] | None = None,
    schema: Schema | None = None,
    on_error: OnBadRecord = "raise",
    decode: bool = False,
    parallelism: int | None = None,
    ray_remote_args: dict[str, Any] | None = None,
    **options: Any,
) -> ray.data.Dataset:
    """Return a ``ray.data.Dataset`` over TFRecords.

    A file is read by several tasks where it can be split: plain files, gzip that Penstock wrote, and other gzip and
    zlib files whose index has restart points. ``select_columns()`` is pushed down into the reader. Numbers of a dense
    shape are tensors: NumPy batches have arrays of shape ``(rows, *shape)``.

    Args:
        data: What :class:`penstock.Dataset` opens, or a dataset before ``batch()``.
        columns: The columns to decode; None decodes all.
        schema: What the records hold; see :class:`penstock.Dataset`.
        on_error: ``"raise"`` or ``"skip"``; see :class:`penstock.Dataset`.
        decode: Decode images and tensors. By default they stay encoded, as bytes.
        parallelism: The number of tasks. By default Ray chooses it, by the size of the data and the cluster.
        ray_remote_args: What ``ray.remote`` takes for the tasks, such as ``{"num_cpus": 2}``.
        options: Further ones of :class:`penstock.Dataset`.

    Example:
        >>> rows = penstock.ray.read("train", columns=["x"], parallelism=4)
        >>> rows.sum("x")
        4950.0
    """
    if not isinstance(data, Dataset):
        options |= {"schema": schema, "on_error": on_error}
    elif schema is not None or on_error != "raise":
        raise TypeError("pass schema and on_error to the Dataset")
    source = PenstockDatasource(data, decode=decode, **options)
    if columns is not None:
        names = list(columns)
        _selected(source._schema, names)
        source = source.apply_projection({name: name for name in names})
    return ray.data.read_datasource(source, override_num_blocks=parallelism, **(ray_remote_args or {}))


class PenstockDatasink(Datasink[tuple[int, Manifest]]):
    """What :func:`write` writes to, for ``Dataset.write_datasink``; ``manifest`` is the result.

    Each task writes a part. Of a task that runs twice, one attempt is committed; a job that fails leaves nothing that
    a reader sees.

    Args:
        path: The name of the dataset, as for :func:`penstock.write`.
        schema: What the records hold; None: what the types of the columns mean.
        replace: Replace a dataset of the same name.
        options: Those of :func:`penstock.write` about files.

    Example:
        >>> sink = penstock.ray.PenstockDatasink("copy", compression="GZIP")
        >>> sink.get_name()
        'Penstock'
    """

    def __init__(self, path: StrPath, *, schema: Schema | None = None, replace: bool = False, **options: Any) -> None:
        defaults = PartOptions(compression="", level=2, rows_per_shard=None, shard_bytes=None, float64=None, sync=False)
        self._path = check_path(path, can_exist=replace)
        self._schema, self._replace = schema, replace
        self._options: PartOptions = defaults | options  # type: ignore[assignment]
        self.manifest: Manifest | None = None

    def get_name(self) -> str:
        """Return the name that Ray shows."""
        return "Penstock"

    def write(self, blocks: Iterable[Block], ctx: Any) -> tuple[int, Manifest | None]:
        """Write the blocks of one task as a part."""
        pa = import_extra("pyarrow", "ray", "Ray Data")
        tables = [BlockAccessor.for_block(block).to_arrow() for block in blocks]
        tables = [table for table in tables if table.num_rows] or tables[:1]
        if not tables or not tables[0].num_columns:
            return ctx.task_idx, None
        table = pa.concat_tables(tables, promote_options="permissive")
        return ctx.task_idx, write_part(self._path, table, ctx.task_idx, self._schema, self._options)

    def on_write_complete(self, write_result: Any) -> None:
        """Commit one attempt of each task, in their order."""
        found = sorted((number, part) for number, part in write_result.write_returns if part is not None)
        if found:
            parts = [part for _, part in found]
            self.manifest = commit_parts(self._path, parts, replace=self._replace, sync=self._options["sync"])
        elif self._schema is None:
            raise ValueError("the dataset to write has no rows: pass schema=... to write one without rows")
        else:
            self.manifest = write_dataset(self._path, [], schema=self._schema, replace=self._replace, progress=False)

    def on_write_failed(self, error: Exception) -> None:
        """Remove the parts."""
        abort(self._path)


def write(
    ds: ray.data.Dataset,
    path: StrPath,
    *,
    schema: Schema | None = None,
    compression: str | None = "",
    level: int = 2,
    rows_per_shard: int | None = None,
    shard_bytes: int | str | None = None,
    float64: Float64 | None = None,
    replace: bool = False,
    sync: bool = False,
    concurrency: int | None = None,
    ray_remote_args: dict[str, Any] | None = None,
) -> Manifest:
    """Write a ``ray.data.Dataset``: shards, and a manifest that is written when all of them are complete.

    Each block becomes a shard: ``ds.repartition(8)`` writes 8 of them. A job that fails leaves nothing that a reader
    sees, and a task that runs twice writes its rows once.

    Args:
        ds: The dataset.
        path: The name of the dataset, as for :func:`penstock.write`: a path that all machines reach, or a URL.
        schema: What the records hold. By default the types of the columns decide; tensors of one shape are dense.
        compression: As for :func:`penstock.write`.
        level: As for :func:`penstock.write`.
        rows_per_shard: As for :func:`penstock.write`, for each block.
        shard_bytes: As for :func:`penstock.write`, for each block.
        float64: As for :func:`penstock.write`.
        replace: Replace a dataset of the same name; without, it is an error if there is one.
        sync: Wait until the files are on the disk.
        concurrency: The number of tasks that write at the same time.
        ray_remote_args: What ``ray.remote`` takes for the tasks, such as ``{"max_retries": 5}``.

    Returns:
        The manifest of the dataset.

    Example:
        >>> rows = ray.data.range(100).repartition(4)
        >>> penstock.ray.write(rows, "numbers")
        <Manifest of 100 records in 4 shards, 3,100 bytes: id>
    """
    sink = PenstockDatasink(
        path,
        schema=schema,
        replace=replace,
        compression=compression,
        level=level,
        rows_per_shard=rows_per_shard,
        shard_bytes=shard_bytes,
        float64=float64,
        sync=sync,
    )
    ds.write_datasink(sink, concurrency=concurrency, ray_remote_args=ray_remote_args)
    assert sink.manifest is not None
    return sink.manifest
