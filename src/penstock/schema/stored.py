"""Schemas that keep values closer to how they are stored, so that looking at records costs less and fails less."""

from __future__ import annotations

from collections.abc import Callable

from penstock.schema.feature import IMAGES, Feature
from penstock.schema.schema import Schema

_DTYPES = {"bytes": "bytes", "float": "float32", "int64": "int64"}


def keep_images_encoded(schema: Schema) -> Schema:
    """Answer the schema with the bytes of images in place of their pixels."""
    return _map(schema, _encoded_image)


class TracedFeature(Feature):
    """A feature that is decoded with its bytes kept beside it, by a dataset that is being written."""

    name: str
    """What the feature is called in its schema."""

    @classmethod
    def of(cls, name: str, feature: Feature) -> TracedFeature:
        """Trace a feature."""
        traced = cls.__new__(cls)
        vars(traced).update(vars(feature), name=name)
        return traced

    def plain(self) -> Feature:
        """Return the feature as it is in its schema."""
        return self.replace()


def trace_encoded(schema: Schema) -> Schema:
    """Return the schema with images, tensors and raw arrays traced."""
    traced = {
        name: feature if feature.encoding == "list" else TracedFeature.of(name, feature)
        for name, feature in schema.items()
    }
    return schema | traced


def keep_lists(schema: Schema) -> Schema:
    """Answer the schema with every feature as the list that is stored, of any length, or absent; raw arrays stay."""
    return _map(schema, _list)


def _map(schema: Schema, change: Callable[[Feature], Feature]) -> Schema:
    context = {name: change(feature) for name, feature in schema.context.items()}
    sequence = {name: change(feature) for name, feature in schema.sequence.items()}
    return Schema(context, sequence=sequence if schema.is_sequence else None)


def _encoded_image(feature: Feature) -> Feature:
    if feature.encoding not in IMAGES:
        return feature
    return Feature("bytes", key=feature.key, optional=feature.optional or feature.has_default)


def _list(feature: Feature) -> Feature:
    if feature.encoding == "raw":
        return Feature(feature.dtype, feature.shape, encoding="raw", optional=True, key=feature.key)
    return Feature(_DTYPES[feature.kind], (None,), optional=True, key=feature.key)
