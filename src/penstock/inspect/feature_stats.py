"""What all records hold of one feature: the results of the native statistics, as a report shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.inspect.histogram import Histogram
from penstock.schema import Feature

_NAMES_SHOWN = 3


@dataclass
class ValueRange:
    """The smallest, the mean and the largest of some numbers."""

    count: int = 0
    min: float | None = None
    max: float | None = None
    total: float = 0.0

    @property
    def mean(self) -> float | None:
        """None if there are no numbers."""
        return self.total / self.count if self.count else None

    def _document(self) -> dict[str, float | None]:
        """Return the range as JSON values."""
        return {"min": self.min, "mean": self.mean, "max": self.max}


@dataclass(frozen=True)
class Frequencies:
    """How often values occur: of labels and other single integers, and of byte strings of up to 128 bytes."""

    distinct: int
    """How many different values there are."""
    top: tuple[tuple[int | str | bytes, int], ...]
    """The most frequent values and their counts, by falling count."""
    exact: bool
    """Whether these are exact, which they are up to 4,096 distinct values; otherwise they are estimates."""

    def _document(self) -> dict[str, Any]:
        """Return the frequencies as JSON values."""
        top = [{"value": _text(value), "count": count} for value, count in self.top]
        return {"distinct": self.distinct, "exact": self.exact, "top": top}

    def __str__(self) -> str:
        """Return the number of values, and the most frequent ones."""
        about = "" if self.exact else "about "
        shown = ", ".join(f"{_shortened(value)} ({count:,})" for value, count in self.top[:3])
        return f"{about}{self.distinct:,} distinct: {shown}{', ...' if len(self.top) > 3 else ''}"


@dataclass(frozen=True)
class PictureStats:
    """What the encoded pictures among byte strings are, by their headers."""

    formats: dict[str, int]
    """How many there are of each format: jpeg, png, gif, bmp, webp."""
    heights: ValueRange
    widths: ValueRange

    def _document(self) -> dict[str, Any]:
        """Return the formats and sizes as JSON values."""
        return {"formats": self.formats, "heights": self.heights._document(), "widths": self.widths._document()}

    def __str__(self) -> str:
        """Return the formats, and the range of the sizes."""
        formats = ", ".join(f"{count:,} {name}" for name, count in self.formats.items())
        if not self.heights.count:
            return formats
        return f"{formats}, {_span(self.heights)} x {_span(self.widths)} pixels"


@dataclass
class FeatureStats:
    """What all records hold of one feature; of bytes, the sizes are summarized in place of the values."""

    feature: Feature
    rows: int = 0
    missing: int = 0
    lengths: ValueRange = field(default_factory=ValueRange)
    """Values in a record that has the feature."""
    steps: ValueRange = field(default_factory=ValueRange)
    """Steps in a record that has the feature, if it is a sequence."""
    values: ValueRange = field(default_factory=ValueRange)
    not_finite: int = 0
    histogram: Histogram = field(default_factory=Histogram)
    frequencies: Frequencies | None = None
    """How often each value occurs; None for floats, arrays and long byte strings."""
    pictures: PictureStats | None = None
    """What the pictures among the values are; None if there are none."""

    @classmethod
    def of(cls, feature: Feature, found: Mapping[str, Any]) -> FeatureStats:
        """Return what native code found of a feature."""
        heights, widths = ValueRange(*found["heights"]), ValueRange(*found["widths"])
        return cls(
            feature,
            found["rows"],
            found["missing"],
            ValueRange(*found["lengths"]),
            ValueRange(*found["steps"]),
            ValueRange(*found["values"]),
            found["not_finite"],
            Histogram.of_bins(*found["histogram"]),
            _frequencies(found["frequencies"]),
            PictureStats(dict(found["formats"]), heights, widths) if found["formats"] else None,
        )

    @property
    def kind(self) -> str:
        """The dtype, and the names of classes if the feature has them."""
        names = self.feature.names
        more = f" and {len(names) - _NAMES_SHOWN:,} more" if len(names) > _NAMES_SHOWN else ""
        return f"{self.feature.dtype} ({', '.join(names[:_NAMES_SHOWN])}{more})" if names else self.feature.dtype

    def _document(self) -> dict[str, Any]:
        """Return the statistics as JSON values."""
        what = "sizes" if self.feature.dtype == "bytes" else "values"
        return {
            "dtype": self.feature.dtype,
            "records": self.rows - self.missing,
            "missing": self.missing,
            "count": self.values.count + self.not_finite,
            "not_finite": self.not_finite,
            what: self.values._document(),
            "lengths": self.lengths._document(),
            **({"steps": self.steps._document()} if self.steps.count else {}),
            "histogram": self.histogram._document(),
            **({"frequencies": self.frequencies._document()} if self.frequencies else {}),
            **({"pictures": self.pictures._document()} if self.pictures else {}),
            **({"names": list(self.feature.names)} if self.feature.names else {}),
        }


def _frequencies(found: tuple[list[tuple[int | bytes, int]], int, bool] | None) -> Frequencies | None:
    if found is None or not found[1]:
        return None
    top, distinct, exact = found
    return Frequencies(distinct, tuple((_decoded(value), count) for value, count in top), exact)


def _decoded(value: int | bytes) -> int | str | bytes:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    return value


def _text(value: int | str | bytes) -> int | str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def _shortened(value: int | str | bytes, most: int = 24) -> str:
    text = str(_text(value))
    return text if len(text) <= most else text[: most - 1] + "…"


def _span(values: ValueRange) -> str:
    return f"{values.min:,}" if values.min == values.max else f"{values.min:,} to {values.max:,}"
