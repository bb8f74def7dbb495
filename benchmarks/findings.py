"""What a benchmark found, and whether that is what was aimed at."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Verdict:
    """A value, what it is the ratio of, and the goal for it."""

    what: str
    value: float
    goal: float
    at_most: bool = False
    unit: str = "x"

    @property
    def met(self) -> bool:
        return self.value <= self.goal if self.at_most else self.value >= self.goal

    def __str__(self) -> str:
        bound = "at most" if self.at_most else "at least"
        return f"{self.value:.3g}{self.unit} ({bound} {self.goal:.3g}{self.unit}): {self.what}"


@dataclass(frozen=True)
class Finding:
    """The figures of all contestants for one task on one workload."""

    title: str
    workload: str
    unit: str
    figures: dict[str, float]
    verdicts: list[Verdict] = field(default_factory=list)


def in_words(figure: float) -> str:
    """A figure as a person reads it: 1.23 M, 456 k, 7.8."""
    for scale, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if figure >= scale:
            return f"{figure / scale:.3g}{letter}"
    return f"{figure:.3g}"
