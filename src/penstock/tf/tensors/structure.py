"""Nested dicts, lists, tuples, attrs classes and dataclasses of tensors: the arguments and results of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any


class _Kinds(dict[type, str]):
    """The kind of structure of each type; cached, because checks against abstract classes are slow."""

    def __missing__(self, kind: type) -> str:
        if issubclass(kind, Mapping):
            found = "mapping"
        elif issubclass(kind, list | tuple):
            found = "record" if issubclass(kind, tuple) and hasattr(kind, "_fields") else "sequence"
        else:
            found = "slice" if issubclass(kind, slice) else "leaf"
            if hasattr(kind, "__attrs_attrs__"):
                found = "attrs"
            elif hasattr(kind, "__tf_flatten__") and hasattr(kind, "__tf_unflatten__"):
                found = "flattenable"
        self[kind] = found
        return found


_KIND = _Kinds()


def map_structure(function: Callable[[Any], Any], structure: Any) -> Any:
    """Apply a function to all leaves; slices are structures, too."""
    match _KIND[type(structure)]:
        case "leaf":
            return function(structure)
        case "mapping":
            return {key: map_structure(function, item) for key, item in structure.items()}
        case "record":
            return type(structure)(*(map_structure(function, item) for item in structure))
        case "sequence":
            return type(structure)([map_structure(function, item) for item in structure])
        case "attrs" | "flattenable":
            return with_parts(structure, [map_structure(function, item) for item in parts_of(structure)])
    return slice(*(map_structure(function, bound) for bound in (structure.start, structure.stop, structure.step)))


def parts_of(structure: Any) -> list[Any]:
    """Return the components of an attrs class or a flattenable dataclass."""
    if _KIND[type(structure)] == "attrs":
        return [getattr(structure, field.name) for field in type(structure).__attrs_attrs__]
    return list(structure.__tf_flatten__()[1])


def with_parts(structure: Any, parts: list[Any]) -> Any:
    """Return an attrs class or a flattenable dataclass with other components."""
    if _KIND[type(structure)] == "attrs":
        return type(structure)(*parts)
    return structure.__tf_unflatten__(structure.__tf_flatten__()[0], tuple(parts))


def is_class_of_parts(value: Any) -> bool:
    """Return whether a value is an attrs class or a flattenable dataclass."""
    return _KIND[type(value)] in ("attrs", "flattenable")


def leaves(structure: Any) -> Iterator[Any]:
    """Iterate over all leaves."""
    found: list[Any] = []
    _collect(structure, found)
    return iter(found)


def _collect(structure: Any, found: list[Any]) -> None:
    match _KIND[type(structure)]:
        case "leaf":
            found.append(structure)
            return
        case "mapping":
            items = structure.values()
        case "slice":
            items = (structure.start, structure.stop, structure.step)
        case "attrs" | "flattenable":
            items = parts_of(structure)
        case _:
            items = structure
    for item in items:
        if _KIND[type(item)] == "leaf":
            found.append(item)
        else:
            _collect(item, found)


def filled(structure: Any, values: Iterable[Any]) -> Any:
    """Replace the leaves of a structure by values, in order."""
    following = iter(values)
    return map_structure(lambda _: next(following), structure)
