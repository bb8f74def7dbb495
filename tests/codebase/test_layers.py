"""Imports go down only, in Python and in C++."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "penstock"

# From the ground up. A module may import those in the lines before its own. The longest prefix that matches counts,
# so that a package can straddle layers. Within one line of LAYERS only a package may import from itself.
LAYERS = {
    "": """
        _core, errors
        arguments, format_header, html, image, progress, protobuf
        parallel
        compression
        storage
        schema
        columns
        expression
        manifest, records.read_options, records.damage
        records.salvage
        records.scanner
        codec, index
        records
        discovery
        integrity
        inspect, writing
        dataset
        conversion, engines, frameworks, tf, tfds, rlds
        beam, ray, spark
        inspect.diff_report
        inspect.diff
        cli
        __main__
    """,
    "dataset": """
        order, progress
        block
        stage
        workers
        source
        worker_processes, disk_cache, read_rows
        pipeline, fingerprint
        transforms
        carry_stored_bytes
        random_access, state, export_arrow
        stored_rows, summary
        iterator
        dataset
    """,
    "tf": """
        tensorflow_fallback
        errors, tensors.dtypes, tensors.shape
        tensorflow_dispatch
        registry
        tensors
        ops
        io
        tracing
        data
        image, math, train, compat
    """,
    "tf.data": """
        node, options
        error_recovery
        traced_functions, sources
        map_filter, batch, prefetch, take_skip_repeat, shuffle, save_load, cache_fingerprint
        combine, window_group, cache, stateful_functions, partial_trace
        rebatch_resample
        plan_map
        dataset
        readers, keras_feed
        experimental
    """,
}
LEVELS = {
    room: {name.strip(): level for level, line in enumerate(text.strip().splitlines()) for name in line.split(",")}
    for room, text in LAYERS.items()
}


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def name_of(path: Path) -> str:
    """Return the dotted name of a module below penstock."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(path) for path in modules()}


def imported(source: str) -> set[str]:
    """Return the modules of penstock that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole path"
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name.removeprefix("penstock.") in MODULES else node.module or "" for name in whole]
        else:
            continue
        found |= {name.removeprefix("penstock.") for name in names if name.startswith("penstock.")}
    return found - {"__version__"}


def level_in(room: str, name: str) -> tuple[str, int] | None:
    """Return the entry of LAYERS for a module, and its level; None where the module is outside of the room."""
    inner = name.removeprefix(f"{room}.") if room else name
    if room and inner == name:
        return None
    parts = inner.split(".")
    for size in range(len(parts), 0, -1):
        if (entry := ".".join(parts[:size])) in LEVELS[room]:
            return entry, LEVELS[room][entry]
    raise AssertionError(f"{name} is new: give it a place in LAYERS[{room!r}]")


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_python_imports_go_down(path: Path):
    own = name_of(path)
    for room in LAYERS:
        here = level_in(room, own)
        if here is None:
            continue
        for name in imported(path.read_text()):
            if (there := level_in(room, name)) is not None and there[0] != here[0]:
                assert there[1] < here[1], f"{own} must not import {name}"


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
        assert not FILES.fullmatch(name) or (path.name, name) == ("jpeg.cc", "cstdio"), name  # jpeglib.h needs FILE
    assert not re.search(r"\b(fopen|open|openat|pread|mmap)\s*\(", path.read_text())


@pytest.mark.parametrize("path", sources("io"), ids=lambda path: path.name)
def test_native_io_knows_no_python(path: Path):
    for name in includes(path):
        assert not name.startswith("bindings/"), name
        assert not PYTHON.search(name), name
