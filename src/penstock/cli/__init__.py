"""The command ``penstock``: describe, show, sum up, count, verify, convert, copy and index the records of files.

One file per command; what they share is here beside them: :mod:`options` (what is asked), :mod:`described` (the schema
that counts), :mod:`work` (files in parallel), :mod:`problems` (what went wrong, and what to do) and :mod:`output`
(tables for people, lines for pipes).
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import importlib
import io
import os
import sys

import click

from penstock import __version__

__all__ = ["main"]

# Each in a file of its name, which is imported when the command is asked for.
_COMMANDS = ("cat", "convert", "count", "head", "index", "repair", "schema", "stats", "verify")


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
            # click would say so, too, with the status of a damaged file.
            click.echo("Aborted!", err=True)
            ctx.exit(130)
        except OSError as error:
            # Commands report what is wrong with files: this is about the output. Whoever left it is click's business.
            if error.errno in (None, errno.EPIPE):
                raise
            _forget_output()
            raise click.ClickException(f"the output cannot be written: {error.strerror}") from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        near = difflib.get_close_matches(args[0], _COMMANDS, 1)
        if near and near[0] != args[0]:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)


def _forget_output() -> None:
    """Have Python not try to write once more, when it ends, what could not be written."""
    with contextlib.suppress(OSError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


_EXAMPLES = """\b
Examples:
  penstock schema data/                     what is in these files?
  penstock head train.tfrecord              the first examples, pictures too
  penstock count 'data/train-*.tfrecord'    how many records?
  penstock verify s3://bucket/train/        are they whole?
  penstock repair bad.tfrecord -o new.tfrecord
  penstock convert data/ -o train.parquet
"""


@click.group(
    cls=_Commands, epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="penstock")
def main() -> None:
    """Look into TFRecord files, check, mend and convert them, without TensorFlow.

    PATH is a file, a glob pattern, a directory (the TFRecords below it), a dataset by its name (data/train) or its
    manifest, a URL (s3://, gs://, https:// ...) or - for standard input. Compression is told by content.

    \b
    Exit status: 0 all is well, 1 a file is damaged, missing or unreadable,
    2 the command was not understood, 130 it was interrupted.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Histograms and values have letters that a pipe of Windows has not.
        sys.stdout.reconfigure(errors="backslashreplace")
