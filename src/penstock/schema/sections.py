"""The two sections of a schema, in which the formats read and write it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from penstock.schema.feature import Feature


class Sections(NamedTuple):
    """The features of a schema by section; ``sequence`` is None for Examples."""

    context: Mapping[str, Feature]
    sequence: Mapping[str, Feature] | None = None
