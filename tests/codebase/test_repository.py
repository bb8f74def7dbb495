"""The repository keeps its own promises: stubs, names, versions, sizes, a light import."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

import penstock as ps

ROOT = Path(__file__).parents[2]
MOST_LINES = 400


def test_the_stub_of_the_native_module_is_fresh(tmp_path: Path):
    fresh = tmp_path / "_core.pyi"
    subprocess.run(
        [sys.executable, "-m", "nanobind.stubgen", "-q", "-D", "-m", "penstock._core", "-o", str(fresh)], check=True
    )
    assert fresh.read_text() == (ROOT / "src/penstock/_core.pyi").read_text(), "run: make stubs"


def test_type_checkers_see_the_names_that_exist():
    tree = ast.parse((ROOT / "src/penstock/__init__.py").read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 0]
    declared = {
        alias.name: (node.module or "").removeprefix("penstock").removeprefix(".")
        for node in imports
        for alias in node.names
        if (node.module or "").startswith("penstock")
    }
    assert declared == ps._HOMES
    assert list(ps._HOMES) == sorted(ps._HOMES)
    assert set(ps.__all__) == {"__version__", *ps._HOMES}
    in_plain_sight = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert "__getattr__" not in in_plain_sight, "type checkers would take any name for one that is there"


def test_a_misspelt_name_raises_with_a_suggestion():
    result = subprocess.run([sys.executable, "-c", "import penstock as ps; ps.Datset"], capture_output=True, text=True)
    assert "'Datset'. Did you mean: 'Dataset'?" in result.stderr


def test_no_module_hides_a_public_function():
    """Importing penstock.verify, if there were such a module, would replace the function ps.verify."""
    modules = {path.stem for path in (ROOT / "src/penstock").iterdir()}
    assert {name for name in modules & ps._HOMES.keys() if ps._HOMES[name]} == set()


def test_every_public_name_is_explained():
    assert [name for name in ps.__all__ if name != "__version__" and not getattr(ps, name).__doc__] == []


def test_the_version_is_the_same_everywhere():
    assert importlib.metadata.version("penstock") == ps.__version__
    assert f"## {ps.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def texts() -> list[Path]:
    folders = ("src", "cpp", "tests", "interop", "benchmarks", "examples", "reliability")
    return [
        path
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".py", ".cc", ".h", ".inl"}
        and not any(part.startswith(".") for part in path.relative_to(ROOT).parts)  # what the benchmarks install
    ]


# A public class stays in one file.
PUBLIC_CLASSES = {
    "src/penstock/dataset/dataset.py",
    "src/penstock/schema/schema.py",
    "src/penstock/writing/writer.py",
    "src/penstock/tf/data/dataset.py",
    "src/penstock/tf/tensors/ragged_tensor.py",
}


def test_no_file_is_long():
    lines = {str(path.relative_to(ROOT)): path.read_text().count("\n") for path in texts()}
    long = {name: count for name, count in lines.items() if count > MOST_LINES and name not in PUBLIC_CLASSES}
    assert long == {}


def test_no_file_is_named_for_nothing_in_particular():
    vague = re.compile(r"(^|_)(utils?|helpers?|manager|base|common|misc)$")
    assert [str(path) for path in texts() if vague.search(path.stem)] == []


@pytest.mark.parametrize(
    "heavy", ["numpy", "isal", "click", "rich", "typer", "fsspec", "cramjam", "tensorflow", "torch", "penstock.cli"]
)
def test_import_is_light(heavy: str, loaded_by_import: set[str]):
    assert heavy not in loaded_by_import


@pytest.fixture(scope="module")
def loaded_by_import() -> set[str]:
    code = "import sys, penstock; print('\\n'.join(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(result.stdout.split())


def test_bindings_release_the_gil_in_the_one_way_that_survives_the_end_of_the_interpreter():
    sources = [path for path in (ROOT / "cpp").rglob("*.*") if path.stem != "released_gil"]
    assert [path.name for path in sources if "nb::gil_scoped_release" in path.read_text()] == []


def test_the_worst_retired_words_stay_out():
    """The glossary in CONTRIBUTING.md has the words to use."""
    found = []
    for path in texts():
        text = path.read_text()
        found += [f"{path.relative_to(ROOT)}: {line.strip()}" for line in text.splitlines() if '"""' + "Answer" in line]
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    for path in [*texts(), *pages]:
        if path.name not in {"CONTRIBUTING.md", Path(__file__).name} and re.search(r"\bdata sets?\b", path.read_text()):
            found.append(f"{path.relative_to(ROOT)}: say dataset")
    assert found == []


# One concept at two levels: Penstock's API and TensorFlow's, or two levels of TensorFlow's API.
SAME_CONCEPT = {
    "Dataset": {"dataset/dataset.py", "tf/data/dataset.py"},
    "DatasetIterator": {"dataset/iterator.py", "tf/data/dataset.py"},
    "ResizeMethod": {"tf/ops/images.py", "tf/compat/v1/operations.py"},  # tf.image, tf.compat.v1.image
    "TFRecordWriter": {"tf/io/records.py", "tf/data/experimental.py"},  # of records, of whole datasets
}


def test_no_two_classes_share_a_name_but_for_one_concept_at_two_levels():
    homes: dict[str, set[str]] = {}
    for path in sorted((ROOT / "src/penstock").rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, set()).add(path.relative_to(ROOT / "src/penstock").as_posix())
    assert {name: found for name, found in homes.items() if len(found) > 1} == SAME_CONCEPT
