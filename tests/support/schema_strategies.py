"""Random features and schemas."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from penstock import Feature, Schema
from penstock.schema.dtype import DTYPES, FLOATS, INTEGERS, TEXT

NAMES = st.text(max_size=8)
SIZES = st.integers(0, 3)


@st.composite
def features(draw: st.DrawFn, step: bool = False) -> Feature:
    """Draw any feature that a schema takes: as one of the context, or as a step of a sequence."""
    encoding = draw(st.sampled_from(["list", "raw", "jpeg", "png", "image", "tensor"]))
    dtype = draw(st.sampled_from(sorted(_dtypes(encoding))))
    shape = draw(_shapes(encoding, 1 if step or encoding == "raw" else 3))
    arguments: dict[str, Any] = {"encoding": encoding, "optional": draw(st.booleans())}
    if None not in shape and not arguments["optional"] and not step and draw(st.booleans()):
        count = int(np.prod(shape, dtype=int))
        flat = draw(st.lists(_scalars(dtype), min_size=count, max_size=count))
        arguments["default"] = _nest(iter(flat), shape)
    return Feature(dtype, shape, **arguments)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """Draw any schema."""
    names = draw(st.lists(NAMES, unique=True, max_size=5))
    cut = draw(st.integers(0, len(names)))
    context = {name: draw(features()) for name in names[:cut]}
    sequence = {name: draw(features(step=True)) for name in names[cut:]}
    return Schema(context, sequence=sequence if sequence or draw(st.booleans()) else None)


def _dtypes(encoding: str) -> frozenset[str]:
    match encoding:
        case "list":
            return DTYPES - {"uint64"}
        case "raw":
            return DTYPES - TEXT
        case "jpeg":
            return frozenset({"uint8"})
        case "png" | "image":
            return frozenset({"uint8", "uint16"})
        case _:
            return DTYPES


def _shapes(encoding: str, levels: int) -> st.SearchStrategy[tuple[int | None, ...]]:
    if encoding == "tensor":
        return st.lists(st.none() | SIZES, max_size=3).map(tuple)
    if encoding in ("jpeg", "png", "image"):
        size = st.none() | st.integers(1, 2)
        return st.tuples(size, size, st.none() | st.integers(1, 4))
    ragged = st.tuples(st.integers(1, levels), st.lists(st.integers(1, 3), max_size=2))
    return st.lists(SIZES, max_size=3).map(tuple) | ragged.map(lambda drawn: (None,) * drawn[0] + tuple(drawn[1]))


def _scalars(dtype: str) -> st.SearchStrategy[Any]:
    if dtype in INTEGERS:
        return st.integers(int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    if dtype in FLOATS:
        width = {"float16": 16, "float64": 64}.get(dtype, 32)
        return st.floats(width=width)  # type: ignore[arg-type]
    return {"bool": st.booleans(), "bytes": st.binary(max_size=4), "str": st.text(max_size=4)}[dtype]


def _nest(flat: Any, shape: tuple[int | None, ...]) -> Any:
    if not shape:
        return next(flat)
    return [_nest(flat, shape[1:]) for _ in range(shape[0] or 0)]
