"""``penstock head``: the values of the first examples."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.text import Text

from penstock.cli.display import draw, is_picture, save, value_text
from penstock.cli.options import ReadingArguments, Window, feature_option, json_option, reading_options
from penstock.cli.output import exit_with, open_console, printable, reporting
from penstock.cli.problem_advice import LOOK_AT_BYTES
from penstock.cli.schema_choice import SchemaChoice, advice_on_schema, open_or_complain, schema_options
from penstock.codec.decoder import Decoder
from penstock.columns import Batch
from penstock.columns.column import Column
from penstock.conversion.write_tables import json_value
from penstock.errors import MalformedExampleError, MissingExtraError
from penstock.inspect.schema import group_alike
from penstock.integrity.problems import Problem
from penstock.records.reader import RecordReader
from penstock.schema import Feature, Schema
from penstock.schema.schema import keep_images_encoded

_EXAMPLES = """\b
Examples:
  penstock head train.tfrecord
  penstock head train.tfrecord --skip 812 --limit 1
  penstock head 'data/train-*.tfrecord' --limit 100 --save-images pictures/
  penstock head train.tfrecord --feature label --json | jq .example.label
"""

_LINE_IN_PIPE = 100


@click.command(epilog=_EXAMPLES)
@reading_options
@schema_options
@click.option(
    "--limit", "-n", type=click.IntRange(min=0), default=5, show_default=True, help="Examples, of all files together."
)
@click.option("--skip", type=click.IntRange(min=0), default=0, help="Records to skip, of all files together.")
@feature_option
@click.option(
    "--save-images",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write images to files in DIR, instead of drawing them.",
)
@click.option(
    "--image-width", type=click.IntRange(0, 400), default=32, show_default=True, help="Widest drawing; 0 draws none."
)
@json_option
def head(
    paths: tuple[str, ...],
    reading: ReadingArguments,
    choice: SchemaChoice,
    limit: int,
    skip: int,
    features: tuple[str, ...],
    save_images: Path | None,
    image_width: int,
    as_json: bool,
) -> None:
    """Show the values of the first examples.

    Long values are shortened. Images are drawn in a terminal that has colors. With --json one object a line: path,
    record, and the whole example; bytes and encoded images are base64.
    """
    if as_json and save_images is not None:
        raise click.UsageError("--json and --save-images exclude each other: the images are in the JSON.")
    problems: list[Problem] = []
    readers = open_or_complain(paths, reading, problems)
    window = Window(skip, limit)
    for group in group_alike(readers) if choice.file is None else [readers]:
        with reporting([reader.path for reader in group], problems, malformed_advice=LOOK_AT_BYTES):
            described = choice.find(group)
            decoder = Decoder(
                keep_images_encoded(described.schema),
                columns=features or None,
                strict=described.inferred is not None,
                threads=1,
            )
            printer = _JsonPrinter() if as_json else _Printer(described.schema, image_width, save_images)
            for example in _examples(group, decoder, window, problems, advice_on_schema(described)):
                printer.show(*example)
        if window.limit == 0:
            break
    exit_with(problems)


def _examples(
    readers: Sequence[RecordReader], decoder: Decoder, window: Window, problems: list[Problem], advice: str
) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield the examples of the window, each with its place; a file ends at the first that does not decode."""
    for reader in readers:
        with reporting([reader.path], problems, malformed_advice=advice):
            for chunk in window.cut(reader.chunks()):
                for i in range(len(chunk)):
                    # One at a time, so that those before a bad one are shown.
                    values = _row(decoder.decode(chunk[i : i + 1]), reader.path, chunk.first_record + i)
                    yield reader.path, chunk.first_record + i, values
        if window.limit == 0:
            return


def _row(batch: Batch, path: str, record: int) -> dict[str, Any]:
    values = {}
    for name, column in batch.items():
        try:
            value = column[0]
            values[name] = value.to_list() if isinstance(value, Column) else value
        except UnicodeDecodeError:
            where = f'{path}, record {record}, feature "{name}"'
            message = f"expected UTF-8 text, found other bytes: {where}"
            raise MalformedExampleError(message, path=path, record=record, feature=name) from None
    return values


def _class_name(value: Any, feature: Feature) -> str:
    """Return the name of a class, to be shown after its number; "" for other values."""
    if not feature.names or not isinstance(value, np.integer | int) or not 0 <= value < len(feature.names):
        return ""
    return f" ({printable(feature.names[value])})"


class _JsonPrinter:
    """Prints one object a line."""

    def show(self, path: str, record: int, values: dict[str, Any]) -> None:
        example = {name: json_value(value) for name, value in values.items()}
        click.echo(json.dumps({"path": path, "record": record, "example": example}))


class _Printer:
    """Prints a title, a line for each feature, and the images."""

    def __init__(self, schema: Schema, image_width: int, save_images: Path | None) -> None:
        self._schema = schema
        self._console = open_console()
        self._room = self._console.width if self._console.is_terminal else _LINE_IN_PIPE
        can_draw = self._console.is_terminal and self._console.color_system is not None and not self._console.no_color
        self._image_width = min(image_width, self._room - 4) if can_draw and save_images is None else 0
        self._folder = save_images
        if save_images is not None:
            save_images.mkdir(parents=True, exist_ok=True)

    def show(self, path: str, record: int, values: dict[str, Any]) -> None:
        names = {name: printable(name) for name in values}
        indent = max(map(len, names.values()), default=0) + 4
        self._print(Text(f"{printable(path)}, record {record}", "bold"))
        for name, value in values.items():
            text = value_text(value, max(20, self._room - indent)) + _class_name(value, self._schema[name])
            self._print(Text.assemble("  ", (names[name].ljust(indent - 2), "cyan"), (text, "dim" * (value is None))))
            if is_picture(value, self._schema[name].encoding):
                self._picture(value, f"{Path(path).stem}-{record}-{name}")

    def _picture(self, value: Any, name: str) -> None:
        try:
            if self._folder is not None:
                file = save(value, self._folder / re.sub(r"[^\w.-]+", "_", name))
                self._print(Text(f"    saved as {printable(str(file))}", "dim"))
            elif self._image_width:
                for line in draw(value, self._image_width):
                    self._console.print(Text("    ") + line, soft_wrap=True)
        except (MalformedExampleError, MissingExtraError) as error:
            self._print(Text(f"    not drawn: {printable(str(error))}", "yellow"))

    def _print(self, line: Text) -> None:
        self._console.print(line, soft_wrap=True)
