"""Find out what paths hold: records, tables, pictures, WebDataset tars or a dataset of Hugging Face."""

from __future__ import annotations

import errno
import glob
import json
import os
from collections.abc import Sequence
from typing import Any

from penstock.conversion.pictures import is_picture, metadata_of, open_pictures
from penstock.conversion.table_stream import TableStream, table_format
from penstock.conversion.tables import open_tables
from penstock.conversion.webdataset import is_tar, open_webdataset
from penstock.errors import CorruptDataError, SchemaError
from penstock.schema import Schema
from penstock.storage import is_remote
from penstock.storage.shard_names import dataset_of, has_record_extension


def open_stream(paths: Sequence[str], *, schema: Schema | None, max_record_bytes: int) -> TableStream | None:
    """Return the rows of whatever is not records, in the order of the paths; None if the paths hold records.

    Args:
        paths: Files, patterns and folders, all of one kind.
        schema: The schema that the user passed.
        max_record_bytes: The longest member of a tar.

    Raises:
        ValueError: The paths hold several kinds of data.
        SchemaError: A folder holds several datasets, or it is not clear what it holds.
    """
    if any(map(is_remote, paths)) or "-" in paths:
        return None
    if len(paths) == 1 and os.path.isdir(paths[0]):
        found = _open_folder(paths[0], schema)
        if found is not None:
            return found
    files = [file for path in paths for file in _expand(path)]
    kinds = {_kind(file) for file in files}
    if kinds == {"records"} or not kinds:
        return None
    if len(kinds) > 1:
        raise ValueError(f"the paths hold data of several kinds, {' and '.join(sorted(kinds))}: convert each by itself")
    if kinds == {"tar"}:
        return open_webdataset(files, max_record_bytes)
    if kinds == {"pictures"}:
        raise ValueError("pictures are converted by their folder, which shows their classes: name the folder")
    return open_tables(files, schema)


def size_of(paths: Sequence[str]) -> int:
    """Return the size of files, patterns and folders, in bytes."""
    found = [file for path in paths for file in (_files_below(path) if os.path.isdir(path) else _expand(path))]
    return sum(map(os.path.getsize, found))


def _kind(path: str) -> str:
    return "tar" if is_tar(path) else table_format(path) or ("pictures" if is_picture(path) else "records")


def _expand(path: str) -> list[str]:
    """Return the files that a path stands for; a name that is no file stands for records, which are found later."""
    if os.path.isdir(path):
        return [file for file in _files_below(path) if _kind(file) != "records"] or [path]
    return [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True)) or [path]


def _files_below(folder: str) -> list[str]:
    def fail(error: OSError) -> None:
        raise error

    found = []
    for above, folders, names in os.walk(folder, onerror=fail):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        found += [os.path.join(above, name) for name in sorted(names) if not name.startswith((".", "_"))]
    return found


def _open_folder(folder: str, schema: Schema | None) -> TableStream | None:
    """Return the rows of a folder of pictures or of Hugging Face's tables; None for another folder."""
    files = _files_below(folder)
    if any(map(has_record_extension, files)):
        return None
    if os.path.isfile(saved := os.path.join(folder, "dataset_dict.json")):
        _refuse_several(folder, [str(name) for name in _list_of(saved, "splits")])
    if os.path.isfile(saved := os.path.join(folder, "state.json")):
        return open_tables([_saved_file(saved, entry) for entry in _list_of(saved, "_data_files")], schema)
    if any(map(is_picture, files)) and (metadata_of(folder) or not any(map(table_format, files))):
        return open_pictures(folder, files)
    tables = [file for file in files if table_format(file)]
    names = sorted({dataset_of(os.path.splitext(file)[0]) for file in tables})
    if len(names) > 1:
        patterns = [f"{name}*{os.path.splitext(tables[0])[1]}" for name in names]
        raise SchemaError(f"{folder} holds several tables: name one, or a pattern in quotes: {', '.join(patterns[:8])}")
    if not tables and not any(map(is_tar, files)) and files:
        return None
    if not files:
        raise FileNotFoundError(errno.ENOENT, "No file in the directory", folder)
    return None


def _refuse_several(folder: str, names: Sequence[str]) -> None:
    found = ", ".join(os.path.join(folder, name) for name in names)
    raise SchemaError(f"{folder} holds several datasets: convert each by itself: {found}")


def _list_of(path: str, key: str) -> list[Any]:
    """Return a list that Hugging Face saved in a JSON file; raise if it is none, or empty."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (ValueError, RecursionError) as error:
        raise CorruptDataError(f"the file is no JSON: {error}", path=path) from None
    entries = found.get(key) if isinstance(found, dict) else None
    if not isinstance(entries, list) or not entries:
        raise CorruptDataError(f"the file has no list {key!r}, as Hugging Face saves it", path=path)
    return entries


def _saved_file(path: str, entry: object) -> str:
    """Return the file beside ``path`` that one of its entries names."""
    name = entry.get("filename") if isinstance(entry, dict) else None
    found = os.path.join(os.path.dirname(path), os.path.basename(name)) if isinstance(name, str) else ""
    if not os.path.isfile(found):
        raise CorruptDataError(f"an entry of '_data_files' names no file of the folder: {str(entry)[:80]!r}", path=path)
    return found
