"""select_columns(), drop_columns(), rename_columns(): fewer columns, or other names for them."""

from __future__ import annotations

import difflib
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from penstock.columns import Batch
from penstock.columns.batch import unchecked_batch
from penstock.dataset.block import Cursor, Elements, Flow, OpenFlow
from penstock.dataset.order import call_text
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.progress import Meter
from penstock.dataset.stage import Stage
from penstock.errors import SchemaError
from penstock.schema import Schema
from penstock.schema.schema import rename_features


def select_columns(pipeline: Pipeline, names: tuple[str, ...]) -> Pipeline:
    """Return a pipeline with some of the columns; where rows are read, the others are not decoded."""
    selected = pipeline.change_source(lambda source: source.with_columns(names))
    return selected or pipeline.then(ColumnNamesStage("select_columns", tuple((name, name) for name in names)))


def drop_columns(pipeline: Pipeline, names: tuple[str, ...]) -> Pipeline:
    """Return a pipeline without some of the columns."""

    dropped = pipeline.change_source(lambda source: source.without_columns(names))
    return dropped or pipeline.then(ColumnNamesStage("drop_columns", tuple((name, "") for name in names)))


def rename_columns(pipeline: Pipeline, names: Mapping[str, str]) -> Pipeline:
    """Return a pipeline with other names for some of the columns."""
    if not isinstance(names, Mapping) or not all(isinstance(name, str) for pair in names.items() for name in pair):
        raise TypeError('rename_columns() takes a mapping of old names to new names: {"old": "new"}')
    renamed = pipeline.change_source(lambda source: source.with_names(names))
    return renamed or pipeline.then(ColumnNamesStage("rename_columns", tuple(names.items())))


class ColumnStage(Stage):
    """A stage that changes columns: those of batches, and those of rows, which travel together as a batch."""

    one_to_one = True
    keeps_rows = True

    @abstractmethod
    def change(self, batch: Batch) -> Batch:
        """Return a batch with changed columns."""

    @abstractmethod
    def change_row(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row, or a dict of columns, with changed columns."""

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        with closing(upstream(cursor)) as blocks:
            for block in blocks:
                yield replace(block, elements=self._changed(block.elements))

    def _changed(self, elements: Elements) -> Elements:
        if isinstance(elements, Batch):
            return self.change(elements)
        return [self._changed_element(element) for element in elements]

    def _changed_element(self, element: Any) -> Any:
        if isinstance(element, Batch):
            return self.change(element)
        if isinstance(element, Mapping):
            return self.change_row(dict(element))
        raise TypeError(f"{self.calls[0]} needs elements with names, such as dicts, not {type(element).__name__}")


@dataclass(frozen=True)
class ColumnNamesStage(ColumnStage):
    """Selects, drops or renames the columns of elements that earlier stages made."""

    verb: str
    names: tuple[tuple[str, str], ...]
    """Each column that is named in the call, and its new name."""

    def change(self, batch: Batch) -> Batch:
        return unchecked_batch({new: batch[old] for old, new in self._pairs(batch.column_names)}, batch.num_rows)

    def change_row(self, row: dict[str, Any]) -> dict[str, Any]:
        return {new: row[old] for old, new in self._pairs(row)}

    def schema_after(self, schema: Schema) -> Schema:
        pairs = self._pairs(schema)
        renamed = {old: new for old, new in pairs if old != new}
        return rename_features(schema.select([old for old, _ in pairs]), renamed, keep_keys=False)

    def _pairs(self, found: Iterable[str]) -> Sequence[tuple[str, str]]:
        """Return the columns that stay, each with its new name."""
        found, given = list(found), dict(self.names)
        for name in given:
            if name not in found:
                close = difflib.get_close_matches(name, found, 1) or found[:8]
                raise SchemaError(f"{self.verb}(): there is no column {name!r}, but {', '.join(map(repr, close))}")
        if self.verb == "select_columns":
            return self.names
        if self.verb == "drop_columns":
            return [(name, name) for name in found if name not in given]
        pairs = [(name, given.get(name, name)) for name in found]
        if len({new for _, new in pairs}) < len(pairs):
            raise SchemaError(f"{self.calls[0]} would give two columns the same name: drop or rename the other one")
        return pairs

    @property
    def calls(self) -> list[str]:
        shown = dict(self.names) if self.verb == "rename_columns" else [name for name, _ in self.names]
        return [call_text(self.verb, shown)]

    def describe(self) -> list[Any]:
        return [self.verb, [list(pair) for pair in self.names]]
