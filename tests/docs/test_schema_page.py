"""The page on schemas names all that there is."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import get_args

import pytest

import penstock as ps
from penstock.schema import Encoding
from penstock.schema.dtype import DTYPES
from penstock.schema.inference import Certainty

PAGE = (Path(__file__).parents[2] / "docs" / "schema.md").read_text(encoding="utf-8")


def test_every_method_of_a_schema_is_named() -> None:
    assert [name for name in vars(ps.Schema) if not name.startswith("_") and name not in PAGE] == []


@pytest.mark.parametrize("name", list(inspect.signature(ps.Feature).parameters))
def test_every_argument_of_a_feature_is_explained(name: str) -> None:
    assert f"\n- `{name}`: " in PAGE
    assert f"\n    {name}: " in (inspect.getdoc(ps.Feature) or "")


def test_every_encoding_and_certainty_is_explained() -> None:
    words = [*get_args(Encoding), *get_args(Certainty)]
    assert [word for word in words if f"`{word}`" not in PAGE] == []


def test_every_dtype_is_named() -> None:
    within_a_range = {"int16", "int32", "uint16", "uint32"}
    assert [dtype for dtype in DTYPES - within_a_range if f"`{dtype}`" not in PAGE] == []
