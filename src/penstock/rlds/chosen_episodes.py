"""ChosenEpisodes: some episodes of a table, with columns as stored or computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.dataset.dataset import Dataset
from penstock.rlds.step_table import StepTable


@dataclass(frozen=True, eq=False)
class ChosenEpisodes:
    """Chosen episodes of a table, and the columns of its steps."""

    table: StepTable
    records: Dataset[dict[str, Any]]
    """All episodes of the split as they are stored."""
    numbers: NDArray[np.int64]
    """The number of each episode in the table."""
    rows_of_numbers: NDArray[np.int64]
    """The row in ``records`` of each episode of the table; -1 for those of other splits."""
    stride: int
    columns: Mapping[str, NDArray[Any]]

    @property
    def rows(self) -> NDArray[np.int64]:
        """The row of each episode in ``records``."""
        return self.rows_of_numbers[self.numbers]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """The number of steps of each episode."""
        return -(-self.table.lengths[self.numbers] // self.stride)

    @property
    def names(self) -> list[str]:
        """The names of all columns, those that were computed last."""
        return [*self.table.features, *(name for name in self.columns if name not in self.table.features)]

    def numbers_of(self, name: str) -> NDArray[Any]:
        """Return a column of numbers, for all steps of the table."""
        if name not in self.columns:
            raise KeyError(f"{name!r} is no column of numbers; these are {', '.join(self.columns)}")
        return self.columns[name]

    @property
    def table_steps(self) -> NDArray[np.int64]:
        """The numbers of all steps in the table."""
        parts = [np.empty(0, np.int64), *(self._steps(number) for number in range(len(self.numbers)))]
        return np.concatenate(parts)

    def _steps(self, number: int) -> NDArray[np.int64]:
        start, stop = self.table.bounds[self.numbers[number] : self.numbers[number] + 2]
        return np.arange(start, stop, self.stride)

    def episode(self, number: int) -> dict[str, Any]:
        """Return the numbers and texts of an episode."""
        start, stop = self.table.bounds[self.numbers[number] : self.numbers[number] + 2].tolist()
        part = slice(start, stop, self.stride)
        found: dict[str, Any] = {name: column[part] for name, column in self.columns.items()}
        return found | {name: texts.values[texts.codes[part]] for name, texts in self.table.texts.items()}

    def computed(self, fn: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Mapping[str, NDArray[Any]]:
        """Return the columns with those that a function computes for each episode."""
        new: dict[str, NDArray[Any]] = {}
        for number, length in enumerate(self.lengths.tolist()):
            found = {name: np.asarray(values) for name, values in fn(self.episode(number)).items()}
            for name, values in found.items():
                if name in self.table.features and name not in self.table.columns:
                    raise ValueError(f"{name!r} is no column of numbers: give the result another name")
                if values.dtype.kind not in "biuf" or values.shape[:1] != (length,):
                    raise ValueError(
                        f"a function returned {values.dtype}{list(values.shape)} as {name!r} for an episode of "
                        f"{length} steps: it returns numbers, with a row for each step"
                    )
                if name not in new:
                    new[name] = np.zeros((int(self.table.bounds[-1]), *values.shape[1:]), values.dtype)
                target = new[name]
                if (values.dtype, values.shape[1:]) != (target.dtype, target.shape[1:]):
                    raise ValueError(
                        f"a function returned {values.dtype}{list(values.shape)} as {name!r}, and for an episode "
                        f"before {target.dtype}{['steps', *target.shape[1:]]}"
                    )
                target[self._steps(number)] = values
            if found.keys() != new.keys():
                raise ValueError(
                    f"a function returned the columns {list(found)} for an episode, and before {list(new)}"
                )
        return {**self.columns, **new}
