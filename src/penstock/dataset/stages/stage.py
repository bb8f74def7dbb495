"""What a stage is: something that is done to blocks on their way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from penstock.dataset.block import Cursor, Flow, OpenFlow
from penstock.dataset.meter import Meter


class Stage(ABC):
    """A step of a pipeline. Immutable, and pickles, so that other processes can run it."""

    one_to_one = False
    """Whether element i of the output comes from element i of the input, so that orders can be changed below it."""

    @abstractmethod
    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        """Start at a cursor of this stage. The flow that it opens upstream is closed with its own."""

    def length(self, upstream: int | None) -> int | None:
        """Count the elements that come out of ``upstream`` elements; None: there is no end, or nobody knows."""
        return upstream if self.one_to_one else None

    @abstractmethod
    def describe(self) -> list[Any]:
        """Say in JSON what the stage does, so that a saved state is refused where something else stands.

        Empty: nothing that changes which elements come, or their order.
        """
