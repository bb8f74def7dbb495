"""Stores of files: local disks, remote stores through fsspec, standard input and output.

All stores implement one small protocol (:class:`FileStore`: stat, read a range, list, put). :func:`locate` chooses the
store for a path, and :func:`find_files` expands files, globs, directories and URLs to a list of files.
"""

from __future__ import annotations

from penstock.storage.find_files import find_files, is_folder, is_pattern, path_parts
from penstock.storage.paths import (
    StrPath,
    is_remote,
    locate,
    make_folder_of,
    path_text,
    read_whole,
    split_path,
    write_whole,
)
from penstock.storage.store import FileInfo, FileStore, StoreCapabilities, Upload

__all__ = [
    "FileInfo",
    "FileStore",
    "StoreCapabilities",
    "StrPath",
    "Upload",
    "find_files",
    "is_folder",
    "is_pattern",
    "is_remote",
    "locate",
    "make_folder_of",
    "path_parts",
    "path_text",
    "read_whole",
    "split_path",
    "write_whole",
]
