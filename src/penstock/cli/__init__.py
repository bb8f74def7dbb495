"""The command ``penstock``: describe, show, sum up, count, verify, copy and index the records of files.

One file per command; what they share is here beside them: :mod:`options` (what is asked), :mod:`described` (the schema
that counts), :mod:`work` (files in parallel), :mod:`problems` (what went wrong, and what to do) and :mod:`output`
(tables for people, lines for pipes).
"""

from __future__ import annotations

import click

from penstock import __version__
from penstock.cli.cat import cat
from penstock.cli.count import count
from penstock.cli.head import head
from penstock.cli.index import index
from penstock.cli.repair import repair
from penstock.cli.schema import schema
from penstock.cli.stats import stats
from penstock.cli.verify import verify

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="penstock")
def main() -> None:
    """Look into TFRecord files, without TensorFlow.

    PATH is a file, a glob pattern, a directory (the TFRecords below it), a URL (s3://, gs://, https:// ...) or - for
    standard input. Compression is told by content.

    \b
    Exit status: 0 all is well, 1 a file is damaged or missing, 2 the command was not understood.
    """


for command in (schema, head, stats, count, index, verify, repair, cat):
    main.add_command(command)
