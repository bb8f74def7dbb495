"""Every option of writing is in the documentation and in the docstrings."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import penstock as ps
from penstock.manifest import Finding

PAGE = (Path(__file__).parents[2] / "docs" / "write.md").read_text()


@pytest.mark.parametrize("documented", [ps.write, ps.Writer, ps.append])
def test_options(documented: Any):
    parameters = list(inspect.signature(documented).parameters)
    assert [name for name in parameters if f"\n| `{name}` |" not in PAGE] == []
    assert [name for name in parameters if f"\n    {name}: " not in (inspect.getdoc(documented) or "")] == []


def test_kinds_of_findings():
    kinds = get_args(get_type_hints(Finding)["kind"])
    assert [kind for kind in kinds if f"\n| `{kind}` |" not in PAGE] == []
