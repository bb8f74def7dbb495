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
        ("class C: K = 1\ndef fn(x): return C.K", "class C: K = 2\ndef fn(x): return C.K"),
        (
            "class C:\n K = 1\n def __call__(self, x): return self.K\nfn = C()",
            "class C:\n K = 2\n def __call__(self, x): return self.K\nfn = C()",
        ),
        (
            "class C:\n @staticmethod\n def g(): return 1\ndef fn(x): return C.g()",
            "class C:\n @staticmethod\n def g(): return 2\ndef fn(x): return C.g()",
        ),
        (
            "class C:\n @classmethod\n def g(cls): return 1\ndef fn(x): return C.g()",
            "class C:\n @classmethod\n def g(cls): return 2\ndef fn(x): return C.g()",
        ),
        (
            "class C:\n @property\n def g(self): return 1\ndef fn(x): return C().g",
            "class C:\n @property\n def g(self): return 2\ndef fn(x): return C().g",
        ),
        (
            "import functools\nclass C:\n @functools.cached_property\n def g(self): return 1\ndef fn(x): return C().g",
            "import functools\nclass C:\n @functools.cached_property\n def g(self): return 2\ndef fn(x): return C().g",
        ),
        (
            "from enum import Enum\nclass C(Enum):\n A = 1\n def g(self): return 1\ndef fn(x): return C(x)",
            "from enum import Enum\nclass C(Enum):\n A = 2\n def g(self): return 1\ndef fn(x): return C(x)",
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
        (
            "from typing import NamedTuple\nclass C(NamedTuple):\n a: int = 1\ndef fn(x): return C()",
            "from typing import NamedTuple\nclass C(NamedTuple):\n a: int = 2\ndef fn(x): return C()",
        ),
        (
            "from abc import ABC\nclass C(ABC):\n __slots__ = ('a',)\n K = 1\ndef fn(x): return C.K",
            "from abc import ABC\nclass C(ABC):\n __slots__ = ('a',)\n K = 2\ndef fn(x): return C.K",
        ),
    ],
)
def test_it_changes_with_what_the_function_does(one: str, two: str):
    assert of(one) == of(one)
    assert of(one) != of(two)


def test_it_stays_where_only_the_place_changes():
    assert of(SAME) == of("\n\n# A comment.\n" + SAME)


def test_functions_that_call_themselves():
    assert of("def fn(x): return fn(x - 1) if x else 0") != of("def fn(x): return fn(x - 2) if x else 0")


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("helping", "import helping\ndef fn(x): return helping.h(x)"),
        ("helping", "def fn(x):\n from helping import h\n return h(x)"),
        ("helping", "def fn(x):\n import helping\n return [helping.h(y) for y in x]"),
        ("helpers.one", "import helpers.one\ndef fn(x): return helpers.one.h(x)"),
        ("helpers.one", "def fn(x):\n from helpers.one import h\n return h(x)"),
    ],
)
def test_a_module_beside_the_function_counts(module: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path.joinpath(*module.split(".")).with_suffix(".py")
    path.parent.mkdir(exist_ok=True)
    names = []
    for number in (1, 2):
        path.write_text(f"def h(x): return {number}  # {'longer' * number}\n")
        for name in ("helping", "helpers", "helpers.one"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        names.append(of(source))
    assert names[0] != names[1]


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_an_installed_module_counts_by_its_version(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Wherever it is installed: for one user, or by a distribution."""
    (tmp_path / folder).mkdir()
    monkeypatch.syspath_prepend(tmp_path / folder)
    names = []
    for version in ("1", "1", "2"):
        source = f"import threading\nlock = threading.Lock()  # {len(names) * 'longer'}\n__version__ = {version!r}\n"
        (tmp_path / folder / "helping.py").write_text(source)
        monkeypatch.delitem(sys.modules, "helping", raising=False)
        names.append(of("import helping\ndef fn(x): return helping.lock"))
    assert names[0] == names[1] != names[2]


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

    with pytest.raises(ValueError, match=r"cannot be detected, because it uses a .*key="):
        fingerprint([], [fn], None)
    assert fingerprint([], [fn], "1") != fingerprint([], [fn], "2")
