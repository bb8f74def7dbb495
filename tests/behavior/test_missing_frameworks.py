"""A framework that is not installed is named, with what to install."""

from __future__ import annotations

import importlib
import sys

import pytest

import penstock as ps


@pytest.mark.parametrize("name", ["torch", "jax", "tensorflow", "keras"])
def test_the_extra_is_named(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ps.MissingExtraError, match=rf"penstock\[{name}\]"):
        importlib.import_module(f"penstock.frameworks.{name}")
