"""Every public option is in the documentation."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import click
import pytest

import penstock as ps
from penstock.cli import main
from penstock.index import open_index

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("cls", [ps.RecordReader, ps.RecordWriter])
def test_options_of_reader_and_writer(cls: type):
    parameters = list(inspect.signature(cls).parameters)[1:]
    page = (DOCS / "records.md").read_text()
    table = page.partition(f"| Option of `{cls.__name__}` |")[2].partition("\n\n")[0]
    assert [name for name in parameters if f"\n| `{name}` |" not in table] == []
    assert [name for name in parameters if f"\n    {name}: " not in (inspect.getdoc(cls) or "")] == []


def test_options_of_open_index():
    parameters = list(inspect.signature(open_index).parameters)
    table = (DOCS / "record-index.md").read_text().partition("| Option of `open_index` |")[2].partition("\n\n")[0]
    assert [name for name in parameters if f"\n| `{name}` |" not in table] == []
    assert [name for name in parameters if f"\n    {name}: " not in (inspect.getdoc(open_index) or "")] == []


@pytest.mark.parametrize(
    ("function", "page"),
    [
        (ps.verify, "integrity.md"),
        (ps.repair, "integrity.md"),
        (ps.count, "commands.md"),
        (ps.stats, "commands.md"),
        (ps.diff, "commands.md"),
        (ps.convert, "commands.md"),
    ],
)
def test_options_of_functions(function: Callable[..., object], page: str):
    check_options(function, f"ps.{function.__name__}", page)


def test_options_of_episodes():
    check_options(ps.rlds.open, "ps.rlds.open", "robot-data.md")
    check_options(ps.rlds.Episodes.steps, "Episodes.steps", "robot-data.md")
    check_options(ps.rlds.mix, "ps.rlds.mix", "robot-data.md")


def check_options(function: Callable[..., object], name: str, page: str) -> None:
    parameters = [parameter for parameter in inspect.signature(function).parameters if parameter != "self"]
    table = (DOCS / page).read_text().partition(f"| Option of `{name}` |")[2].partition("\n\n")[0]
    assert [name for name in parameters if f"\n| `{name}` |" not in table] == []
    assert [name for name in parameters if f"\n    {name}: " not in (inspect.getdoc(function) or "")] == []


@pytest.mark.parametrize("cls", [ps.RecordReader, ps.RecordWriter, ps.RecordChunk])
def test_public_methods(cls: type):
    page = (DOCS / "records.md").read_text()
    names = [name for name in vars(cls) if not name.startswith("_")]
    assert [name for name in names if f"{name}" not in page] == []


@pytest.mark.parametrize(
    ("cls", "page"),
    [
        (ps.Batch, "columns.md"),
        (ps.BytesColumn, "columns.md"),
        (ps.Dataset, "datasets.md"),
        (ps.rlds.Episodes, "robot-data.md"),
        (ps.rlds.FeatureStatistics, "robot-data.md"),
        (ps.Decoder, "examples.md"),
        (ps.Encoder, "schema.md"),
        (ps.Feature, "schema.md"),
        (ps.Manifest, "write.md"),
        (ps.Nullable, "columns.md"),
        (ps.Ragged, "columns.md"),
        (ps.Schema, "schema.md"),
        (ps.Writer, "write.md"),
    ],
)
def test_what_help_shows_is_documented(cls: type, page: str):
    text = (DOCS / page).read_text() + (DOCS / "examples.md").read_text()
    names = [name for name in dir(cls) if not name.startswith("_") and not hasattr(Mapping, name)]
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []


def test_errors_about_records():
    page = (DOCS / "records.md").read_text()
    # Those of penstock.tf, where it is imported, are on a page of their own.
    kinds = [cls for cls in ps.CorruptDataError.__subclasses__() if not cls.__module__.startswith("penstock.tf")]
    classes = [ps.PenstockError, ps.MissingExtraError, ps.CorruptDataError, *kinds]
    assert [cls.__name__ for cls in classes if f"`{cls.__name__}`" not in page] == []


@pytest.mark.parametrize("name", main.list_commands(click.Context(main)))
def test_options_of_commands(name: str):
    command = main.get_command(click.Context(main), name)
    assert command is not None
    page = (DOCS / "commands.md").read_text()
    shown = [option for option in command.params if isinstance(option, click.Option) and not option.hidden]
    options = [name for option in shown for name in option.opts]
    assert [name for name in options if f"`{name}`" not in page] == []
    for parameter in command.params:
        if isinstance(parameter.type, click.Choice):
            assert [choice for choice in parameter.type.choices if f"`{choice}`" not in page] == []


def test_kinds_of_damage_are_explained_on_the_command_line_and_in_the_docs():
    from penstock.integrity.problems import MEANINGS

    page = (DOCS / "records.md").read_text()
    assert [kind for kind in MEANINGS if f"`{kind}`" not in page] == []
