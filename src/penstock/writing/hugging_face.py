"""Images of Hugging Face datasets, written as the files that they are: decoded, they would be many times as large.

A column of images is a struct of ``bytes`` and ``path``, of which one is set. The feature that is written says how the
bytes are encoded. Of a dataset in files, the first bytes of all images are looked at before; of a stream that is not
possible, so its feature has ``encoding="image"``: anything that Pillow reads.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from penstock.errors import import_extra
from penstock.schema import Feature, Schema
from penstock.schema.feature import IMAGES
from penstock.writing.image_features import ANY_IMAGE, HEAD_BYTES, common_feature, feature_of_image

# Rows that are converted together; images are large.
_ROWS = 256


def encoded_images(data: Any, schema: Schema | None) -> tuple[Iterator[Any], dict[str, Feature]] | None:
    """Return the rows or tables of a Hugging Face dataset with images as bytes, and the features of these columns.

    None where the object is no such dataset, has no images, or has a ``schema`` that stores pixels.
    """
    names = {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(data).__mro__}
    if not names & {("datasets", "Dataset"), ("datasets", "IterableDataset")}:
        return None
    features: Mapping[str, Any] = data.features or {}
    single = {name: feature for name, feature in features.items() if _is_image(feature)}
    several = {name: feature for name, feature in features.items() if _is_image(getattr(feature, "feature", None))}
    images = single | several
    if not images or (schema is not None and not all(_is_bytes(schema[name]) for name in images if name in schema)):
        return None
    if ("datasets", "IterableDataset") in names:
        if getattr(data, "_formatting", None) is not None:
            return None  # the user asked for arrays
        for name, feature in single.items():
            data = data.cast_column(name, replace(feature, decode=False))
        for name, feature in several.items():
            data = data.cast_column(name, replace(feature, feature=replace(feature.feature, decode=False)))
        return (_row(row, images) for row in data), dict.fromkeys(single, ANY_IMAGE)
    if any(_is_decoded(feature) for name, feature in features.items() if name not in images):
        return None  # the Arrow table does not have the decoded values of the others
    return _tables(data, images), {} if schema is not None else _features_of_images(data, list(single))


def class_labels(data: Any) -> dict[str, Feature]:
    """Return the features of the class labels of a Hugging Face dataset; none for other objects."""
    if not type(data).__module__.startswith("datasets."):
        return {}
    return {
        name: Feature("int64", names=feature.names)
        for name, feature in (getattr(data, "features", None) or {}).items()
        if type(feature).__name__ == "ClassLabel" and feature.names
    }


def _is_image(feature: Any) -> bool:
    return type(feature).__module__.startswith("datasets.") and type(feature).__name__ == "Image"


def _is_decoded(feature: Any) -> bool:
    return hasattr(feature, "decode_example") or type(feature).__name__.startswith("Array")


def _is_bytes(feature: Feature) -> bool:
    return feature.encoding in IMAGES or feature.dtype == "bytes"


def _row(row: Mapping[str, Any], images: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(value) if name in images else value for name, value in row.items()}


def _value(image: Any) -> Any:
    if isinstance(image, list | tuple):
        return [_value(one) for one in image]
    if image is None or image["bytes"] is not None or image["path"] is None:
        return image and image["bytes"]
    return _read(image["path"])


def _read(path: str, size: int = -1) -> bytes:
    # A path may name a file, a URL, or a member of an archive: the user loaded the dataset.
    datasets: Any = sys.modules.get("datasets")
    with open(path, "rb") if datasets is None else datasets.utils.file_utils.xopen(path, "rb") as file:
        data: bytes = file.read(size)
        return data


def _tables(data: Any, images: Mapping[str, Any]) -> Iterator[Any]:
    for table in data.with_format("arrow").iter(_ROWS):
        for number, name in enumerate(table.column_names):
            if name in images:
                table = table.set_column(number, name, images_as_bytes(table[name].combine_chunks(), _read))
        yield table


def images_as_bytes(stored: Any, read: Callable[[str], bytes], size: int | None = None) -> Any:
    """Return an Arrow array of images, or of lists of them, as one of bytes; with ``size``, of their first bytes.

    ``read`` returns the bytes of an image that has only a path, and decides which paths are read.
    """
    pa = import_extra("pyarrow", "arrow", "writing Hugging Face datasets")
    pc = import_extra("pyarrow.compute", "arrow", "writing Hugging Face datasets")
    if not pa.types.is_struct(stored.type):
        lengths = pc.fill_null(pc.list_value_length(stored), 0)
        offsets = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(lengths.cast(pa.int64()))])
        images = images_as_bytes(stored.flatten(), read, size)
        return pa.LargeListArray.from_arrays(offsets, images, mask=stored.is_null())
    data, paths = pc.struct_field(stored, "bytes"), pc.struct_field(stored, "path")
    found = data if size is None else pc.binary_slice(data, 0, size)
    elsewhere = pc.and_(pc.is_null(data), pc.is_valid(paths))
    if not pc.any(elsewhere).as_py():
        return found
    values = found.to_pylist()
    for row in pc.indices_nonzero(elsewhere).to_pylist():
        values[row] = read(paths[row].as_py())
    return pa.array(values, pa.large_binary())


def _features_of_images(data: Any, names: list[str]) -> dict[str, Feature]:
    """Return a feature for each column that fits all of its images, by their first bytes."""
    pc = import_extra("pyarrow.compute", "arrow", "writing Hugging Face datasets")
    seen: dict[str, set[Any]] = {name: set() for name in names}
    absent = set()
    for table in data.select_columns(names).with_format("arrow").iter(_ROWS) if names else ():
        for name in names:
            heads = images_as_bytes(table[name].combine_chunks(), partial(_read, size=HEAD_BYTES), HEAD_BYTES)
            absent |= {name} if heads.null_count else set()
            seen[name] |= {feature_of_image(head) for head in pc.unique(heads).to_pylist() if head is not None}
    return {name: common_feature(found).replace(optional=name in absent) for name, found in seen.items()}
