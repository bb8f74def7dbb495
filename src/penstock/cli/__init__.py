"""The command ``penstock``: describe, show, summarize, compare, count, verify, repair, convert and index records.

One module per command, which parses and prints: the work is done by functions of :mod:`penstock.inspect`,
:mod:`penstock.integrity` and :mod:`penstock.conversion`. They share :mod:`options`, :mod:`schema_choice` (the options
that choose a schema), :mod:`problem_advice`, :mod:`display` (values as text) and :mod:`output`.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import importlib
import io
import os
import sys
import threading

import click

from penstock import __version__
from penstock.errors import MissingExtraError

__all__ = ["main"]

# Each in a module of its name, which is imported when the command is used.
_COMMANDS = ("cat", "convert", "count", "diff", "head", "index", "repair", "schema", "sql", "stats", "verify")


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"penstock.cli.{cmd_name}"), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            # click would exit with the status of a damaged file.
            click.echo("Aborted!", err=True)
            if threading.active_count() > 1:
                # Threads may be deep in a slow read, which nothing interrupts, and Python would wait for them. They
                # only read: nothing is lost by leaving.
                os._exit(130)
            ctx.exit(130)
        except MissingExtraError as error:
            raise click.ClickException(str(error)) from None
        except OSError as error:
            # Commands report errors about files: this one is about the output.
            if error.errno is None:
                raise
            _discard_output()
            if error.errno == errno.EPIPE:  # its reader has all that it wants, as head has
                ctx.exit(0)
            raise click.ClickException(f"the output cannot be written: {error.strerror}") from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        near = difflib.get_close_matches(args[0], _COMMANDS, 1)
        if near and near[0] != args[0]:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)


def _discard_output() -> None:
    """Keep Python from writing the rest of the output when it exits."""
    with contextlib.suppress(OSError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


_EXAMPLES = """\b
Examples:
  penstock schema data/                     what is in these files?
  penstock head train.tfrecord              the first examples, with images
  penstock count 'data/train-*.tfrecord'    how many records?
  penstock verify s3://bucket/train/        are they whole?
  penstock repair bad.tfrecord -o new.tfrecord
  penstock convert data/ -o train.parquet
  penstock diff data/old data/new --by id   what has changed?
"""


@click.group(
    cls=_Commands, epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="penstock")
def main() -> None:
    """Inspect, verify, repair and convert TFRecord files, without TensorFlow.

    PATH is a file, a glob pattern, a directory (the TFRecords below it), a dataset by its name (data/train) or its
    manifest, a URL (s3://, gs://, https:// ...) or - for standard input. Compression is detected.

    \b
    Exit status: 0 success, 1 a file is damaged, missing or unreadable, or diff found differences,
    2 the command was not understood, 130 it was interrupted.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Histograms and values have characters that a pipe on Windows cannot encode.
        sys.stdout.reconfigure(errors="backslashreplace")
