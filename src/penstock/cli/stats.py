"""``penstock stats``: the values of all records, in numbers."""

from __future__ import annotations

import functools

import click
from rich.text import Text

from penstock.cli.options import ReadingArguments, feature_option, json_option, reading_options
from penstock.cli.output import (
    complain,
    exit_with,
    open_console,
    plain_table,
    print_table,
    printable,
    reporting,
    usage_errors,
    write_report,
)
from penstock.cli.problem_advice import advice_for
from penstock.cli.schema_choice import SchemaChoice, advice_on_schema, schema_options, title_of
from penstock.inspect.feature_stats import ValueRange
from penstock.inspect.stats import StatsReport, stats_by_content
from penstock.inspect.stats import stats as stats_of_files
from penstock.integrity.problems import Problem
from penstock.integrity.report import plural, size_text

_EXAMPLES = """\b
Examples:
  penstock stats train.tfrecord
  penstock stats 'data/train-*.tfrecord' --feature label --feature score
  penstock stats data/ --json | jq .features.label.values
"""


@click.command(epilog=_EXAMPLES)
@reading_options
@schema_options
@feature_option
@json_option
def stats(
    paths: tuple[str, ...], reading: ReadingArguments, choice: SchemaChoice, features: tuple[str, ...], as_json: bool
) -> None:
    """Summarize all records of files, in numbers and histograms.

    Counts, missing values, min, mean and max, histograms, frequent and distinct values of labels and names, formats
    and sizes of pictures, and the largest records.

    Files that have little in common are summarized separately, except with --json.

    Features are taken as the lists that they are stored in, of any length; of bytes, and so of encoded images, the
    sizes are summarized. Raw arrays have values.
    """
    problems: list[Problem] = []
    with reporting([choice.file or ""], problems), usage_errors():
        function = stats_of_files if as_json else stats_by_content
        found = function(paths, **reading, **choice.arguments, columns=features or None, progress=True)
        reports = [found] if isinstance(found, StatsReport) else found
        for number, report in enumerate(reports):
            problems += report.problems
            advise = functools.partial(advice_for, malformed=advice_on_schema(report.described))
            for problem in report.problems:
                complain(problem, advise(problem))
            if as_json:
                write_report(report, advise)
            elif report.described is not None and report.paths:
                if len(reports) > 1:
                    open_console().print(Text(("\n" if number else "") + title_of(report.paths), "bold"))
                _print(report, report.described.origin)
    exit_with(problems)


def _print(report: StatsReport, origin: str) -> None:
    console = open_console()
    sizes = f", each {_range(report.sizes)} bytes" if report.records else ""
    records = f"{plural(report.records, 'record')} in {plural(report.files, 'file')}"
    console.print(Text(f"{records}, {size_text(report.bytes)}{sizes}"))
    console.print(Text(printable(f"schema: {origin}"), "dim"))
    console.print()
    numbers = ("missing", "per record", "min", "mean", "max")
    table = plain_table("feature", "type", *numbers, "histogram", "values", right=numbers)
    for name, found in report.features.items():
        unit = " B" if found.feature.dtype == "bytes" else ""
        steps = f"{_range(found.steps)} steps, " if found.steps.count else ""
        values = (found.values.min, found.values.mean, found.values.max)
        notes = f"  {plural(found.not_finite, 'value')} not finite" if found.not_finite else ""
        what = "  ".join(str(part) for part in (found.pictures, found.frequencies) if part is not None)
        table.add_row(
            Text(printable(name), "cyan"),
            printable(found.kind),
            f"{found.missing:,}" if found.missing else "",
            f"{steps}{_range(found.lengths)}",
            *("" if value is None else f"{_number(value)}{unit}" for value in values),
            Text.assemble((str(found.histogram), "green"), (notes, "yellow")),
            Text(printable(what)),
        )
    print_table(table, extra=("values", "histogram", "per record", "missing"))
    if report.largest:
        console.print()
    for record in report.largest:
        console.print(Text(printable(f"largest: {record.path}, record {record.record}: {record.bytes:,} bytes")))


def _range(values: ValueRange) -> str:
    if values.min is None or values.max is None:
        return ""
    return f"{values.min:,}" if values.min == values.max else f"{values.min:,} to {values.max:,}"


def _number(value: float) -> str:
    if isinstance(value, int) and abs(value) < 10**9:
        return f"{value:,}"
    return f"{value:,.1f}".removesuffix(".0") if 1000 <= abs(value) < 10**9 else f"{value:.4g}"  # not 1e+04
