"""Statistics of the numbers of steps: computed once, on all CPUs, and stored in the cache folder."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.errors import IndexFileError
from penstock.format_header import FormatHeader
from penstock.index.cache import cache_folder
from penstock.parallel import available_cpus
from penstock.storage import read_whole, write_whole

HEADER = FormatHeader("file of statistics", "penstock.statistics", 1)
_MAX_BYTES = 64 << 20
_NAMES = ("count", "mean", "std", "min", "max", "q01", "q99")
_QUANTILES = [0.01, 0.99]
# Of columns that hardly change, so that they do not become huge.
_LEAST_SCALE = 1e-8

Method: TypeAlias = Literal["normal", "bounds", "quantiles"]
"""How numbers are normalized: to mean 0 and standard deviation 1, or from minimum and maximum, or from the quantiles
of 1 % and 99 %, to -1 and 1."""


@dataclass(frozen=True)
class FeatureStatistics:
    """Statistics of one feature: arrays of the shape of one step.

    Args:
        count: How many numbers there are; NaN is left out of all of these.
        mean: Their mean.
        std: Their standard deviation, that of the population.
        min: The smallest of them.
        max: The largest of them.
        q01: The quantile of 1 %.
        q99: The quantile of 99 %.

    Example:
        >>> found = episodes.statistics()["action"]
        >>> found.mean.shape, found.count.tolist()
        ((2,), [80, 80])
    """

    count: NDArray[np.int64]
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    min: NDArray[np.float64]
    max: NDArray[np.float64]
    q01: NDArray[np.float64]
    q99: NDArray[np.float64]

    def normalize(self, values: NDArray[Any], method: Method = "normal") -> NDArray[np.float32]:
        """Return normalized numbers: those of ``"bounds"`` and ``"quantiles"`` are from -1 to 1.

        Example:
            >>> found = episodes.statistics()["action"]
            >>> found.normalize(found.mean)
            array([0., 0.], dtype=float32)
            >>> found.normalize(np.stack([found.q01, found.q99]), "quantiles")
            array([[-1., -1.],
                   [ 1.,  1.]], dtype=float32)
        """
        offset, scale = self._scaling(method)
        scaled = ((values - offset) / scale).astype(np.float32)
        return scaled if method == "normal" else np.clip(scaled, -1, 1)

    def denormalize(self, values: NDArray[Any], method: Method = "normal") -> NDArray[np.float32]:
        """Return numbers as they were, for what a model predicts.

        Example:
            >>> found = episodes.statistics()["action"]
            >>> action = episodes[0]["action"]
            >>> bool(np.allclose(found.denormalize(found.normalize(action)), action, atol=1e-5))
            True
        """
        offset, scale = self._scaling(method)
        return (np.asarray(values) * scale + offset).astype(np.float32)

    def _scaling(self, method: Method) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if method == "normal":
            return self.mean, np.maximum(self.std, _LEAST_SCALE)
        low, high = (self.min, self.max) if method == "bounds" else (self.q01, self.q99)
        return (low + high) / 2, np.maximum((high - low) / 2, _LEAST_SCALE)


class DatasetStatistics(Mapping[str, FeatureStatistics]):
    """Statistics of the features of a dataset, by name.

    Example:
        >>> statistics = episodes.statistics()
        >>> list(statistics), statistics.episodes, statistics.steps
        (['observation/state', 'action', 'reward'], 10, 80)
    """

    def __init__(self, features: Mapping[str, FeatureStatistics], *, episodes: int, steps: int) -> None:
        self._features = dict(features)
        self.episodes = episodes
        """The number of episodes."""
        self.steps = steps
        """The number of steps."""

    def __getitem__(self, name: str) -> FeatureStatistics:
        return self._features[name]

    def __iter__(self) -> Any:
        return iter(self._features)

    def __len__(self) -> int:
        return len(self._features)

    def __repr__(self) -> str:
        return f"<DatasetStatistics of {self.steps:,} steps: {', '.join(self)}>"

    def to_json(self) -> dict[str, Any]:
        """Return the statistics as the ``dataset_statistics.json`` that checkpoints of robot policies come with.

        Example:
            >>> list(episodes.statistics().to_json()["action"])
            ['count', 'mean', 'std', 'min', 'max', 'q01', 'q99']
        """
        found: dict[str, Any] = {
            name: {key: getattr(one, key).tolist() for key in _NAMES} for name, one in self.items()
        }
        return found | {"num_transitions": self.steps, "num_trajectories": self.episodes}


def compute_statistics(columns: Mapping[str, NDArray[Any]], episodes: int, steps: int) -> DatasetStatistics:
    """Compute the statistics of columns of numbers, on all CPUs."""
    return DatasetStatistics(
        {name: _of_column(column) for name, column in columns.items()}, episodes=episodes, steps=steps
    )


def _of_column(column: NDArray[Any]) -> FeatureStatistics:
    shape = column.shape[1:]
    table = column.reshape(len(column), math.prod(shape))
    if table.dtype not in (np.float32, np.float64):
        table = table.astype(np.float64)
    found = _core.column_statistics(np.ascontiguousarray(table), _QUANTILES, available_cpus())
    numbers = np.array(found, np.float64).reshape(math.prod(shape), len(_NAMES)).T.reshape(len(_NAMES), *shape)
    return FeatureStatistics(numbers[0].astype(np.int64), *numbers[1:])


def stored_path(identity: str) -> str:
    """Return the path of stored statistics in the cache folder."""
    return os.path.join(cache_folder(), f"{identity}.statistics")


def store_statistics(identity: str, statistics: DatasetStatistics) -> None:
    """Store statistics; a folder that cannot be written is no error."""
    document = json.dumps({"statistics": statistics.to_json()} | HEADER.to_json() | {"identity": identity})
    checksum = hashlib.sha256(document.encode()).hexdigest()
    with suppress(OSError):
        os.makedirs(cache_folder(), exist_ok=True)
        write_whole(stored_path(identity), f"{checksum}\n{document}".encode(), private=True)


def load_statistics(identity: str, shapes: Mapping[str, tuple[int, ...]]) -> DatasetStatistics | None:
    """Return stored statistics of features with these shapes, or None if there are none that can be used."""
    try:
        checksum, _, document = read_whole(stored_path(identity), _MAX_BYTES).partition(b"\n")
        if hashlib.sha256(document).hexdigest().encode() != checksum:
            return None
        head = HEADER.check(json.loads(document), IndexFileError)
        found = head["statistics"]
        if head["identity"] != identity:
            return None
        features = {name: _from_json(found[name], shape) for name, shape in shapes.items()}
        return DatasetStatistics(features, episodes=found["num_trajectories"], steps=found["num_transitions"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError, IndexFileError):
        return None


def _from_json(numbers: Any, shape: tuple[int, ...]) -> FeatureStatistics:
    arrays = [np.array(numbers[key], np.float64).reshape(shape) for key in _NAMES]
    return FeatureStatistics(arrays[0].astype(np.int64), *arrays[1:])
