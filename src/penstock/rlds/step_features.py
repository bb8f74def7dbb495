"""The features of one step of an episode, and how the step index holds each of them.

TFDS stores an episode as one Example: each feature of the steps is a list with the values of all steps, one after
another, under the key ``steps/<name>``.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from penstock.errors import SchemaError
from penstock.schema import Feature, Schema
from penstock.schema.connector import ConnectorFeature
from penstock.schema.feature import IMAGES
from penstock.schema.formats.tfds import element_of_sequence

STEPS = "steps"
"""The name of the feature that holds the steps of an episode."""
Storage: TypeAlias = Literal["column", "text", "located"]
"""Numbers and texts are columns in the index; everything else is read from the record, at the place in the index."""
# Wider numbers, such as the embedding of an instruction, are read from the record as pictures are.
_WIDEST_COLUMN_BYTES = 512


@dataclass(frozen=True)
class StepFeature:
    """One feature of a step."""

    name: str
    """The name within the step, such as ``"observation/image"``."""
    feature: Feature
    """What one step holds."""
    storage: Storage
    float_bytes: int = 0
    """The stored bytes of one step, of a located list of floats; 0 where the stored values are byte strings."""

    @property
    def key(self) -> str:
        """The key in the Example."""
        return f"{STEPS}/{self.name}"

    @property
    def is_picture(self) -> bool:
        """Whether the value is an encoded picture."""
        return self.feature.encoding in IMAGES

    @property
    def stored(self) -> Feature:
        """What the record holds of a step."""
        feature = self.feature
        return feature.stored[""] if isinstance(feature, ConnectorFeature) else feature

    def to_json(self) -> list[Any]:
        """Return what decides how the index holds the feature."""
        return [self.name, self.storage, self.feature.dtype, list(self.feature.shape), self.float_bytes]


def load_step_features(features_json: str | bytes) -> tuple[StepFeature, ...]:
    """Return the features of a step from the text of a ``features.json``, without those that steps cannot be cut from.

    Raises:
        SchemaError: The dataset has no steps, or none of their features can be read step by step.
    """
    step = element_of_sequence(features_json, STEPS)
    if step is None:
        raise SchemaError(f'the dataset has no episodes: "{STEPS}" is no dataset or sequence in its features.json')
    features = Schema.from_tfds(json.dumps(step))
    found = [_plan(name, feature, _is_string(step, name)) for name, feature in features.items()]
    chosen = tuple(planned for planned in found if planned is not None)
    if not chosen:
        raise SchemaError("no feature of the steps can be read step by step: each is a sequence in itself, or optional")
    return chosen


def _is_string(step: dict[str, Any], name: str) -> bool:
    """Return whether a feature is a string by its declaration, and not bytes that hold something else."""
    node: Any = step
    for part in name.split("/"):
        node = node.get("featuresDict", {}).get("features", {}).get(part, {})
    return "text" in node or node.get("tensor", {}).get("dtype") in ("string", "object")


def _plan(name: str, feature: Feature, is_string: bool) -> StepFeature | None:
    """Return how a feature is held; None where steps have several values of it, or none."""
    if isinstance(feature, ConnectorFeature):
        if feature.levels or feature.item.has_own_shape or feature.item.optional:
            return None
        if feature.item.coding == "list":
            return StepFeature(name, feature, "column") if feature.is_dense else None
        return StepFeature(name, feature, "located")
    if feature.encoding != "list":
        return None if feature.optional else StepFeature(name, feature, "located")
    if feature.optional or not feature.is_dense:
        return None
    if feature.dtype in ("bytes", "str"):
        if feature.shape:
            return None
        return StepFeature(name, feature, "text" if is_string else "located")
    values = math.prod(dense_shape(feature))
    if feature.dtype.startswith(("float", "bfloat")) and 4 * values > _WIDEST_COLUMN_BYTES:
        return StepFeature(name, feature, "located", float_bytes=4 * values)
    return StepFeature(name, feature, "column")


def dense_shape(feature: Feature) -> tuple[int, ...]:
    """Return the shape of a feature without unknown sizes."""
    return tuple(size or 0 for size in feature.shape)
