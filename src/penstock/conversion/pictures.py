"""Read a folder of pictures: by class, one folder each, or with a table that describes them.

Pictures are copied byte for byte. The table is ``metadata.csv``, ``.tsv``, ``.jsonl`` or ``.parquet`` next to them, and
its column ``file_name`` names the picture of each row, as Hugging Face has it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from penstock.conversion.table_stream import ArrowBatches, TableStream
from penstock.conversion.tables import open_tables
from penstock.errors import CorruptDataError, SchemaError, import_extra
from penstock.parallel import available_cpus
from penstock.schema import Feature, Schema
from penstock.writing.image_features import HEAD_BYTES, common_feature, feature_of_image

EXTENSIONS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff")
"""The extensions of pictures."""
_FILE_NAME = "file_name"
_METADATA = tuple(f"metadata{extension}" for extension in (".csv", ".tsv", ".jsonl", ".parquet"))
_SPLITS = frozenset({"train", "test", "val", "valid", "validation", "dev", "eval"})
# Pictures that are read together.
_BLOCK_BYTES, _BLOCK_ROWS = 16 << 20, 256


def is_picture(path: str) -> bool:
    """Whether a file is a picture by its extension."""
    return path.lower().endswith(EXTENSIONS)


def metadata_of(folder: str) -> str | None:
    """Return the table that describes the pictures of a folder; None if there is none."""
    return next((path for name in _METADATA if os.path.isfile(path := os.path.join(folder, name))), None)


def open_pictures(folder: str, files: Sequence[str]) -> TableStream:
    """Return the pictures of a folder: their bytes as ``image``, their names, and their classes or descriptions.

    Args:
        folder: The folder.
        files: All files below it, in order.

    Raises:
        SchemaError: It is not clear which class a picture has, or which row of the table.
    """
    pictures = {os.path.relpath(path, folder).replace(os.sep, "/"): path for path in files if is_picture(path)}
    metadata = metadata_of(folder)
    if metadata is not None:
        return _described_pictures(metadata, pictures)
    pa = import_extra("pyarrow", "arrow", "converting pictures")
    names = list(pictures)
    classes = _classes(folder, names)
    features = {"image": _feature(list(pictures.values())), _FILE_NAME: Feature("str")}
    columns = {_FILE_NAME: pa.array(names, pa.string())}
    if classes:
        number = {name: value for value, name in enumerate(classes)}
        features["label"] = Feature("int64", names=classes)
        columns["label"] = pa.array([number[name.split("/")[0]] for name in names], pa.int64())
    table = pa.table(columns)
    stream = _with_pictures(table, list(pictures.values()), len(names))
    return replace(stream, schema=Schema(features))


def _classes(folder: str, names: Sequence[str]) -> list[str]:
    """Return the names of the classes: the folders that hold the pictures; none if all are in one folder."""
    inside = [name for name in names if "/" in name]
    if not inside:
        return []
    if len(inside) < len(names):
        loose = next(name for name in names if "/" not in name)
        raise SchemaError(
            f"{folder}: some pictures are in folders, which are their classes, and others are not, such as {loose}: "
            "move them, or describe all pictures in metadata.csv with the column file_name"
        )
    classes = sorted({name.split("/")[0] for name in names})
    if len(classes) > 1 and _SPLITS.issuperset(name.lower() for name in classes):
        found = ", ".join(os.path.join(folder, name) for name in classes)
        raise SchemaError(f"{folder} holds several datasets: convert each by itself: {found}")
    return classes


def _described_pictures(metadata: str, pictures: dict[str, str]) -> TableStream:
    pa = import_extra("pyarrow", "arrow", "converting pictures")
    table = open_tables([metadata])
    if table.reader.schema.names.count(_FILE_NAME) != 1:
        found = ", ".join(map(repr, table.reader.schema.names))
        raise SchemaError(
            f"{metadata} has no column 'file_name', or several: it names the picture of each row; it has {found}"
        )
    whole = pa.Table.from_batches(table.reader.batches, table.reader.schema)
    try:
        named = whole[_FILE_NAME].to_pylist()
    except UnicodeDecodeError:
        raise CorruptDataError("a text in 'file_name' is not UTF-8", path=metadata) from None
    if not all(isinstance(name, str) and name for name in named):
        raise SchemaError(f"{metadata} has rows without a text in 'file_name', which names the picture of each row")
    names = [os.path.normpath(name).replace(os.sep, "/") for name in named]
    if missing := [name for name in names if name not in pictures]:
        raise SchemaError(f"{metadata} names {len(missing):,} pictures that are not there, such as {missing[0]}")
    if left := pictures.keys() - set(names):
        raise SchemaError(
            f"{len(left):,} pictures have no row in {metadata}, such as {min(left)}: add rows, or move the pictures"
        )
    if "image" in whole.column_names:
        raise SchemaError(f"{metadata} has a column 'image', which is the name of the pictures: rename it")
    paths = [pictures[name] for name in names]
    image = _feature(paths)
    stream = _with_pictures(whole, paths, len(paths))
    return replace(stream, absent=table.absent, features={"image": image, **table.features})


def _feature(paths: Sequence[str]) -> Feature:
    """Return the feature that stores all pictures, by the first bytes of each."""

    def head(path: str) -> bytes:
        with open(path, "rb", buffering=0) as file:
            return file.read(HEAD_BYTES)

    with ThreadPoolExecutor(min(8, available_cpus()), thread_name_prefix="penstock-pictures") as pool:
        return common_feature(set(map(feature_of_image, pool.map(head, paths))))


def _with_pictures(table: Any, paths: Sequence[str], rows: int) -> TableStream:
    """Return the rows of a table with their pictures as the first column."""
    import pyarrow as pa

    fields = pa.schema([pa.field("image", pa.large_binary(), nullable=False), *table.schema])
    batches = _read_beside(table, paths, fields)
    return TableStream(ArrowBatches(fields, batches), rows=rows)


def _read_beside(table: Any, paths: Sequence[str], fields: Any) -> Iterator[Any]:
    import pyarrow as pa

    first = 0
    with ThreadPoolExecutor(min(8, available_cpus()), thread_name_prefix="penstock-pictures") as pool:
        for batch in table.to_batches():
            start = 0
            while start < batch.num_rows:
                stop = _end_of_block(paths, first + start, min(first + batch.num_rows, len(paths))) - first
                images = list(pool.map(_read, paths[first + start : first + stop]))
                rest = batch.slice(start, stop - start)
                yield pa.record_batch([pa.array(images, pa.large_binary()), *rest.columns], schema=fields)
                start = stop
            first += batch.num_rows


def _end_of_block(paths: Sequence[str], start: int, stop: int) -> int:
    """Return where the pictures end that are read together with the one at ``start``."""
    size = 0
    for position in range(start, min(stop, start + _BLOCK_ROWS)):
        size += os.stat(paths[position]).st_size
        if size > _BLOCK_BYTES:
            return max(position, start + 1)
    return min(stop, start + _BLOCK_ROWS)


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()
