"""Every public name has an example in its docstring that runs and prints what it says.

Each runs in its own folder with a small dataset, ``train``, and one of episodes, ``robot``, in a namespace with ``ps``,
``np``, ``json``, ``ds`` and, for ``ps.rlds``, ``episodes``.
"""

from __future__ import annotations

import doctest
import inspect
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.support.episodes import image, robot_episodes, tensor, text, write_episodes

import penstock as ps


def documented() -> Iterator[tuple[str, Any]]:
    """Return public names with the public members of classes and modules; errors need no example."""
    public = {name: getattr(ps, name) for name in ps.__all__ if name != "__version__"}
    for name, value in public.items():
        if inspect.isclass(value) and issubclass(value, Exception):
            continue
        if isinstance(value, ModuleType):
            for member in value.__all__:
                yield from with_members(f"{name}.{member}", getattr(value, member))
            continue
        yield from with_members(name, value)


def with_members(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Return a name with the public members of a class."""
    yield name, value
    if inspect.isclass(value):
        yield from (
            (f"{name}.{member}", found)
            for member, found in inspect.getmembers_static(value)
            if is_ours(found) and (not member.startswith("_") or ">>>" in (found.__doc__ or ""))
        )


def is_ours(member: Any) -> bool:
    """Return whether a member of a class is a Python function of Penstock, also an inherited one."""
    function = member.fget if isinstance(member, property) else inspect.unwrap(getattr(member, "__func__", member))
    return inspect.isfunction(function) and function.__module__.startswith("penstock.")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("examples")
    rows = [{"x": np.float32(number), "label": number % 10, "tokens": np.arange(number % 5)} for number in range(100)]
    schema = ps.Schema(
        {"x": ps.Feature("float32"), "label": ps.Feature("int64"), "tokens": ps.Feature("int64", [None])}
    )
    ps.write(path / "train", rows, schema=schema, shards=4)
    features = {
        "observation/camera": image(8, 8, 3),
        "observation/state": tensor("float32", 3),
        "action": tensor("float32", 2),
        "reward": tensor("float32"),
        "language_instruction": text(),
    }
    episodes = robot_episodes([6, 7, 8, 9, 10, 10, 9, 8, 7, 6], decodable=True)
    for episode in episodes:
        for step in episode:
            step["reward"] = np.float32(step is episode[-1])
    write_episodes(path / "robot" / "1.0.0", episodes, features)
    return path


def examples_of(name: str, value: Any) -> doctest.DocTest:
    names = {"ps": ps, "np": np, "json": json}
    return doctest.DocTestParser().get_doctest(inspect.getdoc(value) or "", names, name, None, 0)


@pytest.mark.parametrize(("name", "value"), [pytest.param(*item, id=item[0]) for item in documented()])
def test_examples_in_docstrings_run(
    name: str, value: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    examples = examples_of(name, value)
    assert examples.examples, f"{name} has no example"
    examples.globs["ds"] = ps.Dataset("train")
    if name.startswith("rlds."):
        examples.globs["episodes"] = ps.rlds.open("robot")
    printed: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=printed.append)
    assert not printed, "".join(printed)
