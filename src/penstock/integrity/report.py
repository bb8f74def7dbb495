"""What the reports of all commands have in common."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from penstock import html
from penstock.integrity.problems import Problem


class Report(ABC):
    """What a command found: it prints well, and is JSON for programs."""

    @property
    @abstractmethod
    def problems(self) -> tuple[Problem, ...]:
        """Everything that is wrong, in order."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong.

        >>> ps.verify("train").ok
        True
        """
        return not self.problems

    @abstractmethod
    def _document(self, advise: Callable[[Problem], str] | None = None) -> dict[str, Any]:
        """Return the report as JSON values; ``advise`` returns an ``"advice"`` for each problem."""

    def to_json(self) -> str:
        """Return the report as the text of a JSON document.

        >>> json.loads(ps.count("train").to_json())["records"]
        100
        """
        return json.dumps(self._document(), indent=2)

    def _repr_html_(self) -> str:
        return html.document(self._document(), str(self))


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 file``, ``2,000 files``."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def size_text(count: float) -> str:
    """Return a number of bytes with its unit: ``480 B``, ``1.6 kB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
