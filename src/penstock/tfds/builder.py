"""What code for TFDS calls: builders, splits, data sources and as_numpy, with the values that TFDS returns."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np

from penstock.dataset.dataset import Dataset
from penstock.discovery.sidecars import load_schema
from penstock.discovery.split_slices import Split, parse_split
from penstock.discovery.tfds_directory import TfdsDirectory, find_tfds
from penstock.schema import Schema
from penstock.schema.formats.tfds import Path, dataset_paths
from penstock.storage import StrPath, path_text


@dataclass(frozen=True)
class SplitInfo:
    """A split in the metadata of a dataset."""

    name: str
    shard_lengths: tuple[int, ...]
    filenames: tuple[str, ...]

    @property
    def num_examples(self) -> int:
        """The number of rows."""
        return sum(self.shard_lengths)

    @property
    def num_shards(self) -> int:
        """The number of files."""
        return len(self.filenames)


@dataclass(frozen=True)
class DatasetInfo:
    """The metadata of a dataset."""

    name: str
    version: str
    config_name: str
    description: str
    splits: Mapping[str, SplitInfo]
    features: Schema
    """The features by flat name, with the names of classes: ``info.features["label"].names``."""
    supervised_keys: tuple[str, ...] | None


class Steps(Sequence[Any]):
    """The rows of a nested dataset, such as the steps of an episode."""

    def __init__(self, columns: Any) -> None:
        self._columns = columns

    def __len__(self) -> int:
        return len(_first_leaf(self._columns))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"step {index} of {len(self)}")
        return _element(self._columns, index)

    def __repr__(self) -> str:
        return f"Steps(length={len(self)})"


class DataSource(Sequence[Any]):
    """The rows of a split by number, as ``tfds.data_source`` returns them: scalars are Python's, text is bytes."""

    def __init__(self, rows: Dataset[Any], to_row: Callable[[Any], Any]) -> None:
        self._rows, self._to_row = rows, to_row

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return _python_scalars(self._to_row(self._rows[index]))

    def __getitems__(self, indexes: Sequence[int]) -> list[Any]:
        """Return several rows, as loaders of torch ask for them."""
        return [_python_scalars(self._to_row(row)) for row in self._rows[list(indexes)].rows()] if indexes else []

    def __repr__(self) -> str:
        return f"DataSource({self._rows!r})"


class Builder:
    """A dataset in a folder that TFDS wrote.

    Example:
        >>> ps.tfds.write("digits/1.0.0", {"train": {"label": np.arange(10)}}) and None
        >>> builder = ps.tfds.builder_from_directory("digits/1.0.0")
        >>> builder.info.splits["train"].num_examples
        10
    """

    def __init__(self, folder: str) -> None:
        self._directory = TfdsDirectory.load(folder)

    @cached_property
    def info(self) -> DatasetInfo:
        """The metadata."""
        found = self._directory
        splits = {
            name: SplitInfo(name, split.lengths or (), tuple(file[len(found.path) :] for file in split.files))
            for name, split in found.splits.items()
        }
        description = found.info.get("description", "")
        return DatasetInfo(
            found.name, found.version, found.config, description, splits, self._schema, self._supervised_keys
        )

    @cached_property
    def _schema(self) -> Schema:
        if self._directory.features is None:
            raise FileNotFoundError(2, "TFDS before version 4 wrote no features.json", self._directory.path)
        return load_schema(self._directory.features)

    @cached_property
    def _supervised_keys(self) -> tuple[str, ...] | None:
        keys = self._directory.info.get("supervisedKeys", {})
        items = keys.get("tuple", {}).get("items", []) if isinstance(keys, dict) else []
        found = tuple(item.get("featureKey") for item in items) or (keys.get("input"), keys.get("output"))
        return found if all(isinstance(key, str) for key in found) else None

    @cached_property
    def _nested(self) -> set[Path]:
        return dataset_paths(self._schema._features_json)

    def as_dataset(
        self,
        split: Split | str | None = None,
        *,
        shuffle_files: bool = False,
        batch_size: int | None = None,
        as_supervised: bool = False,
    ) -> Any:
        """Return a :class:`penstock.Dataset` of a split; without one, a dict of all of them.

        Args:
            split: The split, or slices of splits.
            shuffle_files: Shuffle: all rows, with seed 0.
            batch_size: Rows of a batch; None returns rows.
            as_supervised: Return rows as ``(input, label)``, by the metadata.

        Example:
            >>> ps.tfds.write("digits/1.0.0", {"train": {"label": np.arange(10)}}) and None
            >>> for batch in ps.tfds.builder_from_directory("digits/1.0.0").as_dataset("train", batch_size=5):
            ...     print(batch["label"])
            [0 1 2 3 4]
            [5 6 7 8 9]
        """
        if split is None:
            names = self.info.splits
            return {
                name: self.as_dataset(
                    name, shuffle_files=shuffle_files, batch_size=batch_size, as_supervised=as_supervised
                )
                for name in names
            }
        ds: Any = self._rows(split)
        if self._nested:
            ds = ds.map(self._to_row)
        if shuffle_files:
            ds = ds.shuffle(seed=0)
        if as_supervised:
            if self._supervised_keys is None:
                raise ValueError(f"{self._directory.path} has no supervised_keys: read rows, and take their values")
            ds = ds.map(itemgetter(*self._supervised_keys))
        return ds if batch_size is None else ds.batch(batch_size)

    def as_data_source(self, split: Split | str | None = None) -> Any:
        """Return the rows of a split by number; without one, a dict of all splits.

        Example:
            >>> ps.tfds.write("digits/1.0.0", {"train": {"label": np.arange(10)}}) and None
            >>> ps.tfds.builder_from_directory("digits/1.0.0").as_data_source()["train"][3]
            {'label': 3}
        """
        if split is None:
            return {name: self.as_data_source(name) for name in self.info.splits}
        return DataSource(self._rows(split), self._to_row)

    def _rows(self, split: Split | str) -> Dataset[dict[str, Any]]:
        text = {name: found.replace(dtype="bytes") for name, found in self._schema.items() if found.dtype == "str"}
        return Dataset(self._directory.path, split=parse_split(split), schema=self._schema | text)

    def _to_row(self, row: dict[str, Any]) -> dict[str, Any]:
        for path in self._nested:
            row = _with_steps(row, path)
        return row


def builder_from_directory(builder_dir: StrPath) -> Builder:
    """Return the builder of the dataset in a folder.

    Example:
        >>> ps.tfds.write("digits/1.0.0", {"train": {"label": np.arange(10)}}) and None
        >>> source = ps.tfds.builder_from_directory("digits/1.0.0").as_data_source("train[5:]")
        >>> len(source), source[0]
        (5, {'label': 5})
    """
    path = os.path.expanduser(path_text(builder_dir))
    folder = find_tfds(path)
    if folder is None:
        raise FileNotFoundError(2, "No folder with a dataset_info.json of TFDS", path)
    return Builder(folder)


def load(
    name: str,
    *,
    split: Split | str | None = None,
    data_dir: StrPath | None = None,
    batch_size: int | None = None,
    shuffle_files: bool = False,
    as_supervised: bool = False,
    with_info: bool = False,
) -> Any:
    """Open a dataset by its name, as ``tfds.load`` does; it must have been downloaded.

    Args:
        name: ``"mnist"``, ``"mnist:3.0.1"``, ``"wiki/en"`` or ``"wiki/en:1.0.0"``.
        split: The split, or slices of splits; None returns a dict of all splits.
        data_dir: Where datasets are: by default ``TFDS_DATA_DIR``, else ``~/tensorflow_datasets``.
        batch_size: Rows of a batch; None returns rows.
        shuffle_files: Shuffle: all rows, with seed 0.
        as_supervised: Return rows as ``(input, label)``, by the metadata.
        with_info: Return the dataset and its metadata.

    Example:
        >>> ps.tfds.write("data/digits/1.0.0", {"train": {"label": np.arange(10)}}) and None
        >>> for row in ps.tfds.as_numpy(ps.tfds.load("digits", split="train[:2]", data_dir="data")):
        ...     print(row)
        {'label': np.int64(0)}
        {'label': np.int64(1)}
    """
    builder = _find(name, data_dir)
    ds = builder.as_dataset(split, shuffle_files=shuffle_files, batch_size=batch_size, as_supervised=as_supervised)
    return (ds, builder.info) if with_info else ds


def data_source(name: str, *, split: Split | str | None = None, data_dir: StrPath | None = None) -> Any:
    """Open the rows of a dataset by number, as ``tfds.data_source`` does; the arguments are those of :func:`load`.

    Example:
        >>> ps.tfds.write("data/digits/1.0.0", {"train": {"label": np.arange(10)}}) and None
        >>> ps.tfds.data_source("digits", split="train", data_dir="data")[-1]
        {'label': 9}
    """
    return _find(name, data_dir).as_data_source(split)


def as_numpy(dataset: Any) -> Any:
    """Return a dataset as it is: its rows are NumPy's already. For code that calls ``tfds.as_numpy``.

    Example:
        >>> list(ps.tfds.as_numpy(ds.take(1).select_columns(["label"])))
        [{'label': np.int64(0)}]
    """
    return dataset


def _find(name: str, data_dir: StrPath | None) -> Builder:
    above = data_dir or os.environ.get("TFDS_DATA_DIR") or "~/tensorflow_datasets"
    dataset, _, version = name.partition(":")
    parts = [*dataset.split("/"), *([version] if version else [])]
    if any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"not the name of a dataset: {name!r}; write it as in 'mnist' or 'wiki/en:1.0.0'")
    return builder_from_directory("/".join([path_text(above).rstrip("/"), *parts]))


def _with_steps(row: dict[str, Any], path: Path) -> dict[str, Any]:
    first, *rest = path
    if first not in row:
        return row
    return row | {first: _with_steps(row[first], tuple(rest)) if rest else Steps(row[first])}


def _first_leaf(columns: Any) -> Any:
    while isinstance(columns, Mapping):
        columns = next(iter(columns.values()))
    return columns


def _element(columns: Any, index: int) -> Any:
    if isinstance(columns, Mapping):
        return {name: _element(column, index) for name, column in columns.items()}
    return columns[index]


def _python_scalars(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _python_scalars(found) for name, found in value.items()}
    return value.item() if isinstance(value, np.generic) else value
