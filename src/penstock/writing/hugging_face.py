"""Pictures of Hugging Face datasets as the bytes that they hold: decoded, they would be many times as large.

Such a column is a struct of ``bytes`` and ``path``, of which one is enough. Its feature tells readers what the bytes
are. To know that of every picture, those of a dataset in files are looked at before they are written; of a stream,
nobody knows what comes, and ``encoding="image"`` stands for whatever Pillow reads.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from penstock.errors import import_extra
from penstock.schema import Feature, Schema
from penstock.schema.feature import IMAGES
from penstock.schema.recognize import recognize

# Rows that are converted together; pictures are large.
_ROWS = 256
_HEAD_BYTES = 26  # of a PNG file, up to its colours
_ANY_IMAGE = Feature("uint8", (None, None, None), encoding="image")


def encoded_pictures(data: Any, schema: Schema | None) -> tuple[Iterator[Any], dict[str, Feature]] | None:
    """Return rows or tables of a Hugging Face dataset in which pictures are bytes, and the features of these columns.

    None where the object is no such dataset, has no pictures, or is to be written as pixels by its ``schema``.
    """
    names = {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(data).__mro__}
    if not names & {("datasets", "Dataset"), ("datasets", "IterableDataset")}:
        return None
    features: Mapping[str, Any] = data.features or {}
    single = {name: feature for name, feature in features.items() if _is_picture(feature)}
    several = {name: feature for name, feature in features.items() if _is_picture(getattr(feature, "feature", None))}
    pictures = single | several
    if not pictures or (schema is not None and not all(_is_bytes(schema[name]) for name in pictures if name in schema)):
        return None
    if ("datasets", "IterableDataset") in names:
        if getattr(data, "_formatting", None) is not None:
            return None  # its author asked for arrays
        for name, feature in single.items():
            data = data.cast_column(name, replace(feature, decode=False))
        for name, feature in several.items():
            data = data.cast_column(name, replace(feature, feature=replace(feature.feature, decode=False)))
        return (_row(row, pictures) for row in data), dict.fromkeys(single, _ANY_IMAGE)
    if any(_is_decoded(feature) for name, feature in features.items() if name not in pictures):
        return None  # Arrow has not the values of the others
    return _tables(data, pictures), {} if schema is not None else _look_at_all(data, list(single))


def _is_picture(feature: Any) -> bool:
    return type(feature).__module__.startswith("datasets.") and type(feature).__name__ == "Image"


def _is_decoded(feature: Any) -> bool:
    return hasattr(feature, "decode_example") or type(feature).__name__.startswith("Array")


def _is_bytes(feature: Feature) -> bool:
    return feature.encoding in IMAGES or feature.dtype == "bytes"


def _row(row: Mapping[str, Any], pictures: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(value) if name in pictures else value for name, value in row.items()}


def _value(picture: Any) -> Any:
    if isinstance(picture, list | tuple):
        return [_value(one) for one in picture]
    if picture is None or picture["bytes"] is not None or picture["path"] is None:
        return picture and picture["bytes"]
    return _read(picture["path"])


def _read(path: str, size: int = -1) -> bytes:
    # Theirs opens what they name: files, URLs, and members of archives.
    with sys.modules["datasets"].utils.file_utils.xopen(path, "rb") as file:
        data: bytes = file.read(size)
        return data


def _tables(data: Any, pictures: Mapping[str, Any]) -> Iterator[Any]:
    for table in data.with_format("arrow").iter(_ROWS):
        for number, name in enumerate(table.column_names):
            if name in pictures:
                table = table.set_column(number, name, _column(table[name].combine_chunks()))
        yield table


def _column(stored: Any, size: int | None = None) -> Any:
    """Return an Arrow array of pictures, or of lists of them, as one of bytes: of all, or of their first ones."""
    pa = import_extra("pyarrow", "arrow", "writing Hugging Face datasets")
    pc = import_extra("pyarrow.compute", "arrow", "writing Hugging Face datasets")
    if not pa.types.is_struct(stored.type):
        lengths = pc.fill_null(pc.list_value_length(stored), 0)
        offsets = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(lengths.cast(pa.int64()))])
        return pa.LargeListArray.from_arrays(offsets, _column(stored.flatten(), size), mask=stored.is_null())
    data, paths = pc.struct_field(stored, "bytes"), pc.struct_field(stored, "path")
    found = data if size is None else pc.binary_slice(data, 0, size)
    elsewhere = pc.and_(pc.is_null(data), pc.is_valid(paths))
    if not pc.any(elsewhere).as_py():
        return found
    values = found.to_pylist()
    for row in pc.indices_nonzero(elsewhere).to_pylist():
        values[row] = _read(paths[row].as_py(), -1 if size is None else size)
    return pa.array(values, pa.large_binary())


def _look_at_all(data: Any, names: list[str]) -> dict[str, Feature]:
    """Return what fits every picture of each column, by its first bytes."""
    pc = import_extra("pyarrow.compute", "arrow", "writing Hugging Face datasets")
    seen: dict[str, set[Any]] = {name: set() for name in names}
    absent = set()
    for table in data.select_columns(names).with_format("arrow").iter(_ROWS) if names else ():
        for name in names:
            heads = _column(table[name].combine_chunks(), _HEAD_BYTES)
            absent |= {name} if heads.null_count else set()
            seen[name] |= {_format(head) for head in pc.unique(heads).to_pylist() if head is not None}
    return {name: _common(found).replace(optional=name in absent) for name, found in seen.items()}


def _format(head: bytes) -> Feature:
    if head.startswith(b"\xff\xd8\xff"):
        return _ANY_IMAGE.replace(encoding="jpeg")
    known = recognize(head)
    if known.form != "png":
        return _ANY_IMAGE
    # Of 16 bits in colour only 8 can be decoded.
    gray = known.shape[2] == 1
    return Feature(known.dtype if gray else "uint8", known.shape, encoding="png")


def _common(found: set[Feature]) -> Feature:
    encodings = {feature.encoding for feature in found}
    if len(encodings) != 1:
        return _ANY_IMAGE
    dtypes = {feature.dtype for feature in found}
    sizes = [set(size) for size in zip(*(feature.shape for feature in found), strict=True)]
    shape = tuple(size.pop() if len(size) == 1 else None for size in sizes)
    return Feature(dtypes.pop() if len(dtypes) == 1 else "uint8", shape, encoding=encodings.pop())
