"""SQL over TFRecords, with DuckDB: its scans become reads of the columns and rows that a query needs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.dataset.dataset import Dataset
from penstock.engines.arrow_scan import ArrowScan
from penstock.errors import import_extra

if TYPE_CHECKING:
    import duckdb

# What DuckDB reads itself.
_FOREIGN = (".parquet", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".arrow", ".xlsx", ".db", ".duckdb")


def sql(query: str, *, decode: bool = False, **tables: Any) -> duckdb.DuckDBPyRelation:
    """Run a query over TFRecords and return DuckDB's relation: ``.show()``, ``.df()``, ``.pl()``, ``.fetchall()``.

    A table is a path in quotes (a file, a pattern, a folder, the name of a dataset, a URL), or the name of a variable
    of the caller: a :class:`penstock.Dataset`, or anything that DuckDB reads. Only the columns that the query needs are
    decoded, ``LIMIT`` stops reading, and ``SELECT count(*)`` alone reads no record where the number is known.

    Args:
        query: One SELECT statement in DuckDB's dialect. Parquet, CSV and JSON files can be joined.
        decode: Decode images and tensors to nested lists. By default they stay encoded, as bytes.
        tables: Tables by name, instead of variables.

    Raises:
        ValueError: The query is no SELECT statement.

    Example:
        >>> ps.sql("SELECT label, count(*) AS n FROM 'train' WHERE x < 50 GROUP BY label ORDER BY label").fetchall()[:2]
        [(0, 5), (1, 5)]
        >>> ps.sql("SELECT max(x) FROM ds").fetchall()
        [(99.0,)]
    """
    caller = sys._getframe(1)
    return open_query(query, caller.f_globals | caller.f_locals, tables, decode=decode).relation


class Query(NamedTuple):
    """A query that has been checked, and the tables of it that are read by us."""

    relation: duckdb.DuckDBPyRelation
    scans: tuple[ArrowScan, ...]

    @property
    def failure(self) -> Exception | None:
        """The error of a scan that failed; DuckDB raises one of its own, with this one as text."""
        return next((scan.failure for scan in self.scans if scan.failure is not None), None)


def open_query(query: str, variables: Mapping[str, Any], tables: Mapping[str, Any], *, decode: bool) -> Query:
    """Check a query and connect its tables: ``tables``, then paths, then ``variables``."""
    duckdb = import_extra("duckdb", "sql", "SQL")
    connection = duckdb.connect()
    found = _tables_in(connection, query)
    scans = []
    for name in found.names:
        table = tables[name] if name in tables else variables.get(name)
        if table is None and not name.lower().endswith(_FOREIGN):
            table = _open(name)
        if not isinstance(table, Dataset):
            if name in tables or hasattr(table, "__arrow_c_stream__"):
                connection.register(name, table)
        elif name in found.only_counted and table._pipeline.is_indexed:
            connection.register(name, _rows_of(table))
        else:
            scans.append(ArrowScan(table, decode=decode))
            connection.register(name, _scanned(scans[-1]))
    return Query(connection.sql(query), tuple(scans))


class _Tables(NamedTuple):
    names: set[str]
    only_counted: set[str]
    """Those of which the query needs the number of rows and nothing else."""


def _tables_in(connection: Any, query: str) -> _Tables:
    """Return the tables of a SELECT statement that are not defined by itself."""
    parsed = json.loads(connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()[0][0])
    if parsed["error"] or len(parsed["statements"]) != 1:
        if parsed.get("error_type") == "parser":
            connection.sql(query)  # raises with the place
        raise ValueError("sql() runs one SELECT statement: to write its result, use the methods of what it returns")
    every: list[str] = []
    counted: list[str] = []
    defined: set[str] = set()
    nodes: list[Any] = [parsed["statements"]]
    while nodes:
        node = nodes.pop()
        if isinstance(node, list):
            nodes += node
        elif isinstance(node, dict):
            nodes += node.values()
            if node.get("type") == "BASE_TABLE" and not node["schema_name"]:
                every.append(node["table_name"])
            elif node.get("type") == "SELECT_NODE" and _only_counts(node):
                counted.append(node["from_table"]["table_name"])
            if isinstance(node.get("cte_map"), dict):
                defined |= {entry["key"] for entry in node["cte_map"]["map"]}
    names = set(every) - defined
    return _Tables(names, {name for name in names if every.count(name) == counted.count(name)})


def _only_counts(select: dict[str, Any]) -> bool:
    """Return whether a query is ``SELECT count(*) FROM one table``."""
    source = select["from_table"]
    return (
        source.get("type") == "BASE_TABLE"
        and source["sample"] is None
        and not any(select[part] for part in ("where_clause", "group_expressions", "having", "sample", "qualify"))
        and all(
            item.get("function_name") == "count_star" and not item.get("filter") and item["class"] == "FUNCTION"
            for item in select["select_list"]
        )
    )


def _open(name: str) -> Dataset[Any] | None:
    """Open a table as a path; return None where it is no path, but a name that DuckDB may know."""
    try:
        return Dataset(name)
    except FileNotFoundError:
        if name.isidentifier():
            return None
        raise


def _rows_of(dataset: Dataset[Any]) -> Any:
    """Return a table of as many rows as a dataset; it has no values, and takes no memory."""
    pa = import_extra("pyarrow", "arrow", "Arrow data")
    return pa.table({"row": pa.nulls(len(dataset))})


@dataclass(frozen=True)
class _Scanner:
    """What DuckDB uses of a pyarrow scanner. One of pyarrow would run our reader on threads that outlive Python."""

    reader: Any

    def to_reader(self) -> Any:
        return self.reader


def _scanned(scan: ArrowScan) -> Any:
    """Return a scan as a ``pyarrow.dataset.Dataset``, of which DuckDB asks for columns and rows."""
    pa = import_extra("pyarrow", "arrow", "Arrow data")
    import_extra("pyarrow.dataset", "arrow", "Arrow data")

    class Scanned(pa.dataset.Dataset):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            """Do not call the constructor of the base, which only pyarrow itself may do."""

        @property
        def schema(self) -> Any:
            return scan.schema

        def scanner(self, columns: list[str] | None = None, filter: Any = None, **options: Any) -> Any:
            names = scan.schema.names if columns is None else columns
            fields = pa.schema([scan.schema.field(name) for name in names])
            condition = None
            if filter is not None:
                condition = scan.condition(str(filter), _columns_of(filter, scan.schema), _choose(filter))
            batches = scan.batches(names, condition=condition)
            return _Scanner(pa.RecordBatchReader.from_batches(fields, batches))

    return Scanned()


def _columns_of(expression: Any, schema: Any) -> list[str]:
    """Return the columns that a pyarrow expression reads: without one of them it cannot be evaluated."""
    empty = schema.empty_table()

    def is_read(name: str) -> bool:
        try:
            empty.drop_columns([name]).filter(expression)
        except (ValueError, KeyError):
            return True
        return False

    return [name for name in schema.names if is_read(name)]


def _choose(expression: Any) -> Callable[[Any], NDArray[np.bool_]]:
    """Return a function that evaluates a pyarrow expression on batches; a null chooses nothing."""
    datasets = import_extra("pyarrow.dataset", "arrow", "Arrow data")

    def choose(rows: Any) -> NDArray[np.bool_]:
        scanner = datasets.Scanner.from_batches(
            [rows], schema=rows.schema, columns={"chosen": expression}, use_threads=False
        )
        chosen: NDArray[np.bool_] = scanner.to_table()["chosen"].fill_null(False).to_numpy()
        return chosen

    return choose
