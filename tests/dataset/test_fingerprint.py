"""Fingerprints change with what a function does, and with nothing else."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.dataset.fingerprint import fingerprint


def of(source: str, name: str = "fn") -> str:
    """The fingerprint of a function in a module of this source."""
    module = types.ModuleType("module_of_a_user")
    module.__file__ = "/home/user/module_of_a_user.py"
    sys.modules["module_of_a_user"] = module
    try:
        exec(compile(source, module.__file__, "exec"), vars(module))
        return fingerprint([], [vars(module)[name]], None)
    finally:
        del sys.modules["module_of_a_user"]


SAME = "def fn(x):\n    return x + 1\n"


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (SAME, "def fn(x):\n    return x + 2\n"),
        (SAME, "def fn(x):\n    return x - 1\n"),
        ("def fn(x, k=1): return k", "def fn(x, k=2): return k"),
        ("def fn(x, *, k=1): return k", "def fn(x, *, k=2): return k"),
        ("K = 1\ndef fn(x): return K", "K = 2\ndef fn(x): return K"),
        ("def g(x): return 1\ndef fn(x): return g(x)", "def g(x): return 2\ndef fn(x): return g(x)"),
        ("def fn(x): return [x + 1 for _ in x]", "def fn(x): return [x + 2 for _ in x]"),
        ("K = 1\ndef fn(x): return [K for _ in x]", "K = 2\ndef fn(x): return [K for _ in x]"),
        (
            "def m(k):\n def f(x): return k\n return f\nfn = m(1)",
            "def m(k):\n def f(x): return k\n return f\nfn = m(2)",
        ),
        (
            "class C:\n def g(self): return 1\ndef fn(x): return C().g()",
            "class C:\n def g(self): return 2\ndef fn(x): return C().g()",
        ),
        ("import numpy as np\ndef fn(x): return np.sin(x)", "import numpy as np\ndef fn(x): return np.cos(x)"),
        (
            "import numpy as np\nK = np.zeros(3)\ndef fn(x): return K",
            "import numpy as np\nK = np.ones(3)\ndef fn(x): return K",
        ),
        (
            "from os.path import join\ndef fn(x): return join(x)",
            "from os.path import split as join\ndef fn(x): return join(x)",
        ),
        ("def fn(x): return 1", "def fn(x): return True"),
        ("K = {1, 2}\ndef fn(x): return K", "K = {1, 3}\ndef fn(x): return K"),
    ],
)
def test_it_changes_with_what_the_function_does(one: str, two: str):
    assert of(one) == of(one)
    assert of(one) != of(two)


def test_it_stays_where_only_the_place_changes():
    assert of(SAME) == of("\n\n# A comment.\n" + SAME)


def test_functions_that_call_themselves():
    assert of("def fn(x): return fn(x - 1) if x else 0") != of("def fn(x): return fn(x - 2) if x else 0")


def test_a_module_beside_the_function_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(tmp_path)
    names = []
    for number in (1, 2):
        (tmp_path / "helping.py").write_text(f"def h(x): return {number}  # {'longer' * number}\n")
        monkeypatch.delitem(sys.modules, "helping", raising=False)
        names.append(of("import helping\ndef fn(x): return helping.h(x)"))
    assert names[0] != names[1]


@dataclass(frozen=True)
class Scale:
    by: float

    def __call__(self, element: Any) -> Any:
        return element * self.by

    def method(self, element: Any) -> Any:
        return element * self.by


def test_objects_that_are_called():
    assert fingerprint([], [Scale(1)], None) != fingerprint([], [Scale(2)], None)
    assert fingerprint([], [Scale(1).method], None) != fingerprint([], [Scale(2).method], None)
    assert fingerprint([], [partial(np.add, 1)], None) != fingerprint([], [partial(np.add, 2)], None)
    assert fingerprint([], [np.sin], None) != fingerprint([], [np.cos], None)
    assert fingerprint([], [len], None) != fingerprint([], [sum], None)


def test_the_description_counts():
    assert fingerprint(["a"], [], None) != fingerprint(["b"], [], None)


def test_what_nobody_can_know_asks_for_a_key():
    def fn(element: Any, lock: Any = sys.stdout) -> Any:
        return element

    with pytest.raises(ValueError, match=r"stays the same: it uses a .*key="):
        fingerprint([], [fn], None)
    assert fingerprint([], [fn], "1") != fingerprint([], [fn], "2")
