"""Fingerprints of pipelines, which change with the data, the stages and the code of functions."""

from __future__ import annotations

import dis
import hashlib
import importlib.util
import json
import sys
import sysconfig
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property, partial
from pathlib import PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from penstock.dataset.workers import name_of

# Descriptors of slots and of the items of named tuples: they follow from the rest of the class.
_DESCRIPTORS = (MemberDescriptorType, type(vars(namedtuple("_", "item"))["item"]))

_PYTHON_FOLDERS = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib"))

# Where packages are installed, also by Linux distributions.
_PACKAGE_FOLDERS = {"site-packages", "dist-packages"}


def fingerprint(description: Any, functions: Iterable[Callable[..., Any]], key: str | None) -> str:
    """Hash a description in JSON and the code of functions, or a ``key`` that stands for the code."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(json.dumps(description, sort_keys=True).encode())
    if key is not None:
        digest.update(f"key {key}".encode())
        return digest.hexdigest()
    for fn in functions:
        try:
            for part in FingerprintInput().of(fn):
                digest.update(f"{len(part)} ".encode() + part)
        except UnknownContentError as unknown:
            raise ValueError(
                f"changes of {name_of(fn)} cannot be detected, because it uses {unknown}. "
                'Pass a version of the function, cache(path, key="1"), and change it when the function changes'
            ) from None
    return digest.hexdigest()


class UnknownContentError(Exception):
    """A value whose content cannot be hashed."""


class FingerprintInput:
    """The bytes that identify a function: its code, constants and references; packages count by name and version."""

    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}

    def of(self, value: Any) -> Iterator[bytes]:
        """Yield the bytes that identify a value."""
        yield type(value).__qualname__.encode()
        if value is None or isinstance(value, bool | int | float | complex | str | bytes | PurePath):
            yield repr(value).encode()
            return
        if id(value) in self._seen:
            return
        self._seen[id(value)] = value  # kept alive, so that no other value gets its id
        yield from self._of_object(value)

    def _of_object(self, value: Any) -> Iterator[bytes]:
        if isinstance(value, tuple | list):
            yield from self._of_all(value)
        elif isinstance(value, dict):
            yield from self._of_all([item for pair in value.items() for item in pair])
        elif isinstance(value, set | frozenset):
            yield from sorted(b"".join(FingerprintInput().of(item)) for item in value)
        elif isinstance(value, np.ndarray | np.generic):
            yield from self._of_array(np.asarray(value))
        elif isinstance(value, np.dtype | range | slice | Enum) or value is Ellipsis:
            yield repr(value).encode()
        elif isinstance(value, ModuleType):
            yield _name_and_version(value.__name__)
        elif isinstance(value, CodeType):
            yield value.co_code
            yield from self._of_all([value.co_consts, value.co_names, value.co_varnames, value.co_flags])
        elif isinstance(value, partial):
            yield from self._of_all([value.func, value.args, value.keywords])
        elif isinstance(value, MethodType):
            yield from self._of_all([value.__func__, value.__self__])
        elif isinstance(value, staticmethod | classmethod):
            yield from self.of(value.__func__)
        elif isinstance(value, property):
            yield from self._of_all([value.fget, value.fset, value.fdel])
        elif isinstance(value, cached_property):
            yield from self.of(value.func)
        elif isinstance(value, FunctionType | BuiltinFunctionType | type | np.ufunc):
            yield from self._of_code(value)
        elif is_dataclass(value):
            yield from self._of_all([type(value), *(getattr(value, field.name) for field in fields(value))])
        elif callable(value) and hasattr(value, "__dict__"):
            yield from self._of_all([type(value), vars(value)])
        else:
            raise UnknownContentError(f"a {type(value).__module__}.{type(value).__qualname__}")

    def _of_all(self, values: Iterable[Any]) -> Iterator[bytes]:
        for value in values:
            yield from self.of(value)

    def _of_array(self, array: np.ndarray[Any, Any]) -> Iterator[bytes]:
        if array.dtype.hasobject:
            raise UnknownContentError("an array of objects")
        yield f"{array.dtype} {array.shape}".encode()
        yield array.tobytes()

    def _of_code(self, value: Any) -> Iterator[bytes]:
        module = getattr(value, "__module__", None) or "builtins"
        yield f"{_name_and_version(module).decode()}.{getattr(value, '__qualname__', value)}".encode()
        if _is_installed(module):
            return
        if isinstance(value, type):
            yield from self._of_all([value.__bases__, _attributes_of(value)])
        elif isinstance(value, FunctionType):
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            yield from self._of_all([value.__code__, value.__defaults__, value.__kwdefaults__, cells])
            yield from self._of_all(_globals_of(value))


def _attributes_of(value: type) -> dict[str, Any]:
    """Return the functions and constants that a class defines, without what Python adds."""
    if issubclass(value, Enum):
        items: dict[str, Any] = {name: member.value for name, member in value.__members__.items()}
    else:
        items = {name: item for name, item in vars(value).items() if not name.startswith("__") and name != "_abc_impl"}
    functions = {name: item for name, item in vars(value).items() if isinstance(item, FunctionType)}
    return {name: item for name, item in items.items() if not isinstance(item, _DESCRIPTORS)} | functions


def _globals_of(fn: FunctionType) -> list[Any]:
    """Return the globals that a function refers to, and what it may use of modules that are not installed."""
    names = sorted({name for code in _codes_in(fn.__code__) for name in code.co_names})
    found: list[Any] = []
    spaces, modules = [fn.__globals__, _imported_by(fn)], set()
    for space in spaces:  # grows in the loop
        used = [space[name] for name in names if name in space]
        found += used
        for module in used:
            if isinstance(module, ModuleType) and module not in modules and not _is_installed(module.__name__):
                modules.add(module)
                spaces.append(vars(module))
    return found


def _imported_by(fn: FunctionType) -> dict[str, Any]:
    """Return the modules that a function imports when it is called, except installed ones."""
    imported: dict[str, Any] = {}
    for code in _codes_in(fn.__code__):
        steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
        for level, _, step in zip(steps, steps[1:], steps[2:], strict=False):
            if step.opname == "IMPORT_NAME":
                with suppress(Exception):  # raised when the function is called
                    imported[step.argval] = _imported(step.argval, level.argval, fn.__globals__.get("__package__"))
    return imported


def _imported(name: str, level: int, package: str | None) -> ModuleType | None:
    if not level:
        found = importlib.util.find_spec(name.partition(".")[0])
        if found is None or found.origin in ("built-in", "frozen") or _is_in_package(found.origin or ""):
            return None  # it counts by its version, and may take long to import
    return importlib.import_module("." * level + name, package)


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes_in(constant)


def _is_installed(module: str) -> bool:
    """Return whether a module belongs to an installed package or to Python."""
    if module.partition(".")[0] == "penstock":
        return True
    found = sys.modules.get(module)
    # A namespace package has folders, but no file.
    file = getattr(found, "__file__", None) or next(iter(getattr(found, "__path__", ())), None)
    return module != "__main__" and (file is None or _is_in_package(file))


def _is_in_package(file: str) -> bool:
    return file.startswith(_PYTHON_FOLDERS) or not _PACKAGE_FOLDERS.isdisjoint(PurePath(file).parts)


def _name_and_version(module: str) -> bytes:
    package = sys.modules.get(module.partition(".")[0])
    return f"{module} {getattr(package, '__version__', '')}".encode()
