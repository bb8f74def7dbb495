"""Nested dicts, lists and tuples of tensors: what functions take and answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any


def map_structure(function: Callable[[Any], Any], structure: Any) -> Any:
    """Apply a function to all leaves; slices count as structures too."""
    if isinstance(structure, Mapping):
        return {key: map_structure(function, item) for key, item in structure.items()}
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*(map_structure(function, item) for item in structure))
    if isinstance(structure, list | tuple):
        return type(structure)(map_structure(function, item) for item in structure)
    if isinstance(structure, slice):
        return slice(*(map_structure(function, bound) for bound in (structure.start, structure.stop, structure.step)))
    return function(structure)


def leaves(structure: Any) -> Iterator[Any]:
    """Iterate over all leaves."""
    if isinstance(structure, Mapping):
        for item in structure.values():
            yield from leaves(item)
    elif isinstance(structure, list | tuple):
        for item in structure:
            yield from leaves(item)
    elif isinstance(structure, slice):
        yield from leaves((structure.start, structure.stop, structure.step))
    else:
        yield structure
