"""Imports go down only, in Python and in C++."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "penstock"

# From the ground up. A module may import those in lines above its own, and its own package.
LAYERS = [
    ["_core", "arguments", "cpus", "errors", "image", "progress_bar"],
    ["compression", "protobuf"],
    ["files"],
    ["damage"],
    ["schema", "columns", "codec"],
    ["salvage"],
    ["record_events", "manifest"],
    ["appending", "index"],
    ["reader", "writer"],
    ["infer"],
    ["integrity"],
    ["beside", "dataset_writer"],
    ["dataset"],
    ["frameworks", "tf"],
    ["cli"],
    ["__main__"],
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

# Neighbours on one level that may know each other, in this direction alone.
NEIGHBOURS = {("codec", "columns"), ("codec", "schema")}


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def part_of(path: Path) -> str:
    """The module or package at the top, right below penstock, that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_parts(source: str) -> set[str]:
    """The parts of penstock that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "penstock":
            names = [f"penstock.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole path"
            names = [node.module or ""]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("penstock.")}
    return {name for name in found if not name.startswith("__")}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_python_imports_go_down(path: Path):
    own = part_of(path)
    assert own in LEVEL, f"{own} is new: give it a place in LAYERS"
    for name in imported_parts(path.read_text()) - {own}:
        assert LEVEL[name] < LEVEL[own] or (own, name) in NEIGHBOURS, f"{own} must not import {name}"


def includes(path: Path) -> list[str]:
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text(), re.MULTILINE)


def sources(folder: str) -> list[Path]:
    found = sorted(path for path in (ROOT / "cpp" / folder).rglob("*") if path.suffix in {".cc", ".h", ".inl"})
    assert found
    return found


PYTHON = re.compile(r"Python\.h|nanobind|pybind")
FILES = re.compile(r"fstream|unistd\.h|fcntl\.h|cstdio|stdio\.h|filesystem|sys/stat\.h|windows\.h")


@pytest.mark.parametrize("path", sources("core"), ids=lambda path: path.name)
def test_the_core_knows_neither_python_nor_files(path: Path):
    for name in includes(path):
        assert not name.startswith(("io/", "bindings/")), name
        assert not PYTHON.search(name), name
        assert not FILES.fullmatch(name), name
    assert not re.search(r"\b(fopen|open|openat|pread|mmap)\s*\(", path.read_text())


@pytest.mark.parametrize("path", sources("io"), ids=lambda path: path.name)
def test_native_io_knows_no_python(path: Path):
    for name in includes(path):
        assert not name.startswith("bindings/"), name
        assert not PYTHON.search(name), name
