"""``penstock sql``: a query over files."""

from __future__ import annotations

import json
from typing import Any

import click

from penstock.cli.display import value_text
from penstock.cli.options import json_option
from penstock.cli.output import complain, exit_with, open_console, plain_table, print_table, printable, usage_errors
from penstock.conversion.table_stream import TABLES, table_format
from penstock.conversion.write_tables import json_value, write_table
from penstock.engines.sql import Query, open_query
from penstock.errors import PenstockError, import_extra
from penstock.integrity.problems import problem_among
from penstock.integrity.report import plural

_EXAMPLES = """\b
Examples:
  penstock sql "SELECT label, count(*) FROM 'train/*.tfrecord' GROUP BY 1"
  penstock sql "SELECT * FROM 'data/train' WHERE height > 1000" --output tall.parquet
  penstock sql "SELECT id FROM 'data/train' JOIN 'ids.csv' USING (id)" --json | wc -l
  penstock sql "DESCRIBE 'data/train'"
"""

_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "U")
_ROOM = 40


@click.command(epilog=_EXAMPLES)
@click.argument("query", metavar="QUERY")
@click.option("--output", "-o", metavar="FILE", help=f"Write the result to a table: {TABLES}.")
@click.option("--limit", "-n", type=click.IntRange(min=1), default=40, show_default=True, help="Rows to print.")
@click.option("--decode", is_flag=True, help="Decode images and tensors, which stay encoded otherwise.")
@json_option
def sql(query: str, output: str | None, limit: int, decode: bool, as_json: bool) -> None:
    """Run a SELECT statement over files and print its result.

    A table is a path in single quotes: a file, a pattern, a folder, a dataset, a URL; also Parquet, CSV and JSON files.
    The dialect is DuckDB's. Only the columns and rows that the query needs are decoded. With --json each row is an
    object on a line of its own; bytes are base64.
    """
    form = None if output is None else table_format(output)
    if output is not None and (as_json or form is None):
        raise click.UsageError(f"--output is a file with one of the extensions {TABLES}, and excludes --json.")
    duckdb = import_extra("duckdb", "sql", "SQL")
    opened = None
    try:
        with usage_errors():
            opened = open_query(query, {}, {}, decode=decode)
        if output is not None and form is not None:
            reader = _reader(opened)
            rows = write_table(reader.schema, reader, output, form)
            click.echo(f"{plural(rows, 'row')} written to {printable(output)}", err=True)
        elif as_json:
            _print_json(opened)
        else:
            _print_table(opened, limit)
    except (duckdb.Error, PenstockError, FileNotFoundError) as error:
        failure = opened.failure if isinstance(error, duckdb.Error) and opened is not None else error
        if failure is None or isinstance(failure, duckdb.Error):
            message = "\n".join(map(printable, str(error).splitlines()))
            raise click.UsageError(message) from None
        problem = problem_among([""], failure)
        complain(problem)
        exit_with([problem])


def _print_table(query: Query, limit: int) -> None:
    names = [printable(name) for name in query.relation.columns]
    kinds = [str(kind) for kind in query.relation.types]
    table = plain_table(*names, right={n for n, kind in zip(names, kinds, strict=True) if kind.startswith(_NUMBERS)})
    rows = query.relation.limit(limit + 1).fetchall()
    for row in rows[:limit]:
        table.add_row(*map(_text, row))
    print_table(table)
    if len(rows) > limit:
        note = f"the first {plural(limit, 'row')}: --limit prints more, --output and --json write all"
        open_console(stderr=True).print(note, style="dim")


def _reader(query: Query) -> Any:
    return import_extra("pyarrow", "arrow", "the result of a query").RecordBatchReader.from_stream(query.relation)


def _text(value: Any) -> str:
    return value_text(value, _ROOM) if value is None or isinstance(value, bytes | list) else printable(str(value))


def _print_json(query: Query) -> None:
    for batch in _reader(query):
        for row in batch.to_pylist():
            values = {name: json_value(value) for name, value in row.items()}
            click.echo(json.dumps(values, default=str))
