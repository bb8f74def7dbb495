"""ConnectorFeature: a feature that TFDS stores in a form which a plain Feature cannot describe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, Unpack

from penstock.errors import SchemaError
from penstock.schema.feature import MAX_RANK, Feature, FeatureArguments, Shape

Coding: TypeAlias = Literal["image", "raw", "zlib", "list"]
"""How one item is stored: an image file, its bytes, its bytes deflated, or as list items of another dtype or shape."""


@dataclass(frozen=True)
class Item:
    """One value as a connector of TFDS decodes it, without the sequences around it."""

    dtype: str
    shape: Shape
    coding: Coding
    optional: bool = False

    def __post_init__(self) -> None:
        if len(self.shape) > MAX_RANK:
            raise SchemaError(f"at most {MAX_RANK} dimensions, found {len(self.shape)}")

    @property
    def is_depth(self) -> bool:
        """Whether the value is a float image, whose file holds the bytes of the floats."""
        return self.coding == "image" and self.dtype == "float32"

    @property
    def has_own_shape(self) -> bool:
        """Whether each item is stored with its shape, because several of its dimensions are unknown."""
        return self.coding in ("raw", "zlib") and self.shape.count(None) > 1


class ConnectorFeature(Feature):
    """A feature that is decoded from what a connector of TFDS stores. It can be read, not written.

    ``dtype`` and ``shape`` are those of the decoded values. :attr:`stored` are plain features of what is in the
    record, by the part of their name after that of this feature.
    """

    item: Item
    levels: Shape
    """The lengths of the sequences around an item, outermost first."""
    stored: Mapping[str, Feature]

    @classmethod
    def of(cls, item: Item, levels: Shape, stored: Mapping[str, Feature]) -> ConnectorFeature:
        """Return the feature of items in sequences."""
        if len(levels) + len(item.shape) > MAX_RANK:
            raise SchemaError(f"at most {MAX_RANK} dimensions, found {len(levels) + len(item.shape)}")
        self = cls.__new__(cls)
        optional = item.optional and not levels
        encoding = item.coding if item.coding == "list" or (item.coding == "image" and not item.is_depth) else "tensor"
        vars(self).update(vars(next(iter(stored.values()))))
        vars(self).update(dtype=item.dtype, shape=(*levels, *item.shape), encoding=encoding, optional=optional)
        vars(self).update(item=item, levels=levels, stored=stored, key=None, partitions=())
        return self

    def replace(self, **changes: Unpack[FeatureArguments]) -> ConnectorFeature:
        """Return the feature under another key, which is all that can be changed."""
        if not changes.keys() <= {"key", "partitions"} or changes.get("partitions"):
            raise SchemaError("a feature that a connector of TFDS decodes cannot be changed: map() its values instead")
        key = changes.get("key")
        stored = {
            suffix: part.replace(key=None, partitions=())
            if key is None
            else part.replace(key=key + suffix)
            if part.key is None
            else part
            for suffix, part in self.stored.items()
        }
        return ConnectorFeature.of(self.item, self.levels, stored)

    def __reduce__(self) -> tuple[Any, ...]:
        return ConnectorFeature.of, (self.item, self.levels, dict(self.stored))

    def __repr__(self) -> str:
        return f"ConnectorFeature({self.dtype!r}, {self.shape!r}, stored={dict(self.stored)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConnectorFeature):
            return NotImplemented
        return (self.item, self.levels, self.stored) == (other.item, other.levels, other.stored)

    def __hash__(self) -> int:
        return hash((self.item, self.levels, tuple(self.stored.items())))


def stored_features(features: Mapping[str, Feature]) -> dict[str, Feature]:
    """Return plain features of what is in the records, for use where decoding is not wanted or not possible."""
    stored: dict[str, Feature] = {}
    for name, feature in features.items():
        if isinstance(feature, ConnectorFeature):
            stored |= {name + suffix: part for suffix, part in feature.stored.items()}
        else:
            stored[name] = feature
    return stored
