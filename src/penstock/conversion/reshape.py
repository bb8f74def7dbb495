"""Choose, order and rename rows and columns on their way from one format to another.

First rows are chosen (``where``, ``unique``), then ordered (``sort``, ``shuffle``), then cut (``skip``, ``limit``); all
by the names of the source. At last, columns are selected, dropped and renamed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.columns import from_arrow
from penstock.conversion.table_stream import ArrowBatches, TableStream
from penstock.dataset.dataset import Dataset
from penstock.errors import SchemaError, import_extra
from penstock.expression import RowCondition
from penstock.schema import Schema
from penstock.schema.logical import nested_levels
from penstock.schema.schema import unknown_feature

_PART_NAMES = {2: ("train", "test"), 3: ("train", "val", "test")}


@dataclass(frozen=True)
class Reshape:
    """What changes between the source and the output."""

    where: RowCondition | None = None
    unique: Sequence[str] | None = None
    """The columns of the key; none are all."""
    sort: Sequence[str] = ()
    descending: bool = False
    shuffle: int | None = None
    skip: int = 0
    limit: int | None = None
    columns: Sequence[str] | None = None
    drop: Sequence[str] = ()
    rename: Mapping[str, str] = field(default_factory=dict)

    @property
    def needs_all_rows(self) -> bool:
        """Whether the place of a row depends on other rows, so that they must be read in any order."""
        return self.unique is not None or bool(self.sort) or self.shuffle is not None

    @property
    def keeps_records(self) -> bool:
        """Whether most rows are written, and as they are stored."""
        is_all = self.where is None and self.limit is None and self.columns is None
        return is_all and not self.drop and not self.rename

    def of_dataset(self, dataset: Dataset[Any]) -> Dataset[Any]:
        """Return a dataset of what is chosen."""
        schema = dataset.schema
        if self.where is not None:
            dataset = dataset.filter(self.where)
        if self.unique is not None:
            dataset = dataset.unique(_known(self.unique, schema) or None)
        if self.sort:
            dataset = dataset.sort(_known(self.sort, schema), descending=self.descending)
        if self.shuffle is not None:
            dataset = dataset.shuffle(seed=self.shuffle)
        if self.skip:
            dataset = dataset.skip(self.skip)
        return dataset if self.limit is None else dataset.take(self.limit)

    def columns_of(self, dataset: Dataset[Any]) -> Dataset[Any]:
        """Return a dataset with the columns that are chosen, under their new names."""
        schema = dataset.schema
        if self.columns is not None:
            dataset = dataset.select_columns(_with_fields(self.columns, schema))
        if self.drop:
            dataset = dataset.drop_columns(_with_fields(self.drop, schema))
        renamed = {
            name: new + name.removeprefix(old)
            for old, new in self.rename.items()
            for name in _with_fields([old], schema)
        }
        return dataset.rename_columns(renamed) if renamed else dataset

    def of_stream(self, stream: TableStream) -> TableStream:
        """Return what is chosen of a table, row by row.

        Raises:
            SchemaError: The table has no such column.
        """
        pa = import_extra("pyarrow", "arrow", "reading tables")
        known = stream.reader.schema
        names = [name for name in _of_table(self.columns, known) if name not in _of_table(self.drop, known)]
        new = {name: self.rename.get(name, name) for name in names}
        _of_table(list(self.rename), known)
        if len(set(new.values())) < len(new):
            raise SchemaError(f"two columns would have the same name: {', '.join(map(repr, new.values()))}")
        fields = pa.schema([known.field(name).with_name(new[name]) for name in names], known.metadata)
        return TableStream(
            ArrowBatches(fields, self._chosen(stream.reader.batches, names, fields)),
            schema=None if stream.schema is None else _renamed(stream.schema, new),
            rows=self._count(stream.rows),
            absent=None if stream.absent is None else frozenset(new[name] for name in stream.absent if name in new),
            features={new[name]: feature for name, feature in stream.features.items() if name in new},
            categories={new[name]: facts for name, facts in stream.categories.items() if name in new},
        )

    def _count(self, rows: int | None) -> int | None:
        if rows is None or self.where is not None:
            return None
        left = max(0, rows - self.skip)
        return left if self.limit is None else min(left, self.limit)

    def _chosen(self, batches: Iterator[Any], names: list[str], fields: Any) -> Iterator[Any]:
        import pyarrow as pa

        skip, limit = self.skip, self.limit
        for found in batches:
            if limit == 0:
                return
            batch = found if self.where is None else _matching(found, self.where)
            start = min(skip, batch.num_rows)
            skip -= start
            rows = batch.num_rows - start if limit is None else min(limit, batch.num_rows - start)
            limit = None if limit is None else limit - rows
            if rows:
                columns = batch.slice(start, rows).select(names).columns
                yield pa.record_batch(columns, schema=fields)


def _matching(batch: Any, condition: RowCondition) -> Any:
    import pyarrow as pa

    # A name may be that of a field of a struct.
    read = [name for name in batch.schema.names if any(f"{used}/".startswith(f"{name}/") for used in condition.names)]
    columns = from_arrow(pa.table(batch.select(read))) if read else from_arrow(pa.table(batch))
    return batch.filter(pa.array(condition.matches(columns)))


def _of_table(names: Sequence[str] | None, fields: Any) -> list[str]:
    for name in names or ():
        if name not in fields.names:
            raise unknown_feature(name, fields.names, "the table has no column")
    return list(fields.names if names is None else names)


def _known(names: Iterable[str], schema: Schema) -> list[str]:
    for name in (found := list(names)):
        if name not in schema:
            raise unknown_feature(name, schema)
    return found


def _with_fields(names: Iterable[str], schema: Schema) -> list[str]:
    """Return the names of features; that of a struct stands for its fields, too."""
    found: list[str] = []
    for name in _known(names, schema):
        found.append(name)
        if nested_levels(schema[name].logical) is not None:
            found += [other for other in schema if other.startswith(f"{name}/") and other not in found]
    return found


def _renamed(schema: Schema, names: Mapping[str, str]) -> Schema:
    return Schema(
        {
            new + name.removeprefix(old): schema[name]
            for old, new in names.items()
            if old in schema
            for name in _with_fields([old], schema)
        }
    )


def parse_split(text: str) -> tuple[dict[str, float], str | None]:
    """Return the shares of a split by their names, and the column that decides: ``id:80/10/10``, ``a=9/b=1``.

    Raises:
        ValueError: The text is no split.
    """
    key, _, shares = text.rpartition(":")
    found = [re.fullmatch(r"(?:([^=/]+)=)?(\d+(?:\.\d+)?)", share.strip()) for share in shares.split("/")]
    if len(found) < 2 or not all(found):
        raise ValueError(f"a split is COLUMN:80/10/10, 80/20, or COLUMN:train=80/val=20, not {text!r}")
    default = _PART_NAMES.get(len(found), ())
    names = [share[1] or (default[number] if default else None) for number, share in enumerate(found) if share]
    if None in names or len(set(names)) < len(names):
        raise ValueError(f"name each part once: COLUMN:train=80/val=10/test=5/rest=5, not {text!r}")
    sizes = [float(share[2]) for share in found if share]
    if not sum(sizes):
        raise ValueError(f"the shares of a split add up to more than 0, not {text!r}")
    parts = {str(name): size / sum(sizes) for name, size in zip(names, sizes, strict=True)}
    return parts, key or None
