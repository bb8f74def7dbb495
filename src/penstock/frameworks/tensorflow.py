"""TensorFlow: prefetch batches as tensors for a loop, or as a ``tf.data.Dataset`` for ``fit``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import numpy as np

from penstock.columns import Batch, BytesColumn, Nullable, Ragged
from penstock.dataset.dataset import Dataset
from penstock.errors import import_extra
from penstock.frameworks.feed import Feed, PlaceElement, column_note, is_numeric, ragged_parts, raise_absent
from penstock.schema import Feature, Schema

tf = import_extra("tensorflow", "tensorflow", "feeding TensorFlow")
__all__ = ["TensorFlowFeed", "convert", "feed"]


def feed(dataset: Dataset, *, device: str | None = None, ahead: int = 2) -> TensorFlowFeed:
    """Iterate over a dataset as tensors.

    Args:
        dataset: The dataset to iterate over. The replicas of a distribution strategy share one process, which reads
            all of it.
        device: Where to place tensors, as ``tf.device`` names it; None lets TensorFlow choose.
        ahead: How many elements to prefetch.
    """
    return TensorFlowFeed(dataset, lambda element: convert(element, device=device), ahead=ahead)


def convert(element: Any, *, device: str | None = None) -> Any:
    """Convert a batch, or a dict or tuple of columns, to tensors; ragged columns become ``tf.RaggedTensor``."""
    with tf.device(device):
        spec = spec_of(element, {}, batched=False)
        return assemble(spec, iter([tf.convert_to_tensor(part) for part in components(element, spec)]))


class TensorFlowFeed(Feed):
    """A feed that can also be used as a ``tf.data.Dataset``."""

    def as_dataset(self, *, element_spec: Any = None) -> Any:
        """Return a ``tf.data.Dataset``; each iteration is one epoch of the feed.

        Args:
            element_spec: The spec of elements; None derives it from the schema and the first element. Required if a
                function returns arrays that differ in more than their first dimension.
        """
        return dataset_of(self, element_spec_of(self._dataset) if element_spec is None else element_spec)


def dataset_of(feed: Feed, spec: Any, prepare: PlaceElement = lambda element: element) -> Any:
    """Return a ``tf.data.Dataset`` of a feed, with a function applied to elements; each iteration is one epoch."""

    def parts() -> Iterator[Any]:
        return feed.iterate(lambda element: components(prepare(element), spec))

    # From a generator, TensorFlow takes plain arrays directly, but serializes ragged tensors.
    flat = tf.data.Dataset.from_generator(parts, output_signature=signature(spec))
    return flat.map(lambda *tensors: assemble(spec, iter(tensors)))


def element_spec_of(dataset: Dataset) -> Any:
    """Return the spec of the elements of a dataset, from its schema and first element."""
    schema = dataset.schema if dataset.files else {}  # joined datasets have no common schema
    with closing(iter(dataset.epoch(0))) as elements:
        for element in elements:
            return spec_of(element, schema, batched=dataset._pipeline.yields_batches)
    raise ValueError("the element_spec of an empty dataset is unknown: pass element_spec")


def spec_of(element: Any, schema: Schema | Mapping[str, Feature], *, batched: bool, name: str = "") -> Any:
    """Return the ``element_spec`` of elements like this one.

    Open dimensions are the number of rows of a batch, and those of padded columns that are ragged in the schema.
    """
    if isinstance(element, Batch | Mapping):
        batched = batched or isinstance(element, Batch)
        specs = {}
        for name, value in element.items():
            with column_note(name):
                specs[name] = spec_of(value, schema, batched=batched, name=name)
        return specs
    if isinstance(element, tuple):
        return tuple(spec_of(value, schema, batched=batched) for value in element)
    return _leaf_spec(element, batched, schema[name] if name in schema else None)  # noqa: SIM401


def padded(spec: Any) -> Any:
    """Return the spec of the same elements with ragged columns padded."""
    if isinstance(spec, Mapping):
        return {name: padded(value) for name, value in spec.items()}
    if isinstance(spec, tuple):
        return tuple(padded(value) for value in spec)
    return tf.TensorSpec(spec.shape, spec.dtype)


def signature(spec: Any) -> tuple[Any, ...]:
    """Return the specs of the arrays that :func:`components` returns."""
    if isinstance(spec, Mapping):
        return tuple(part for value in spec.values() for part in signature(value))
    if isinstance(spec, tuple):
        return tuple(part for value in spec for part in signature(value))
    if isinstance(spec, tf.RaggedTensorSpec):
        splits = tf.TensorSpec([None], tf.int64)
        inner = spec.shape[spec.ragged_rank + 1 :]
        return (tf.TensorSpec([None, *inner], spec.dtype), *[splits] * spec.ragged_rank)
    return (spec,)


def components(element: Any, spec: Any) -> tuple[Any, ...]:
    """Flatten an element into plain arrays."""
    if isinstance(spec, Mapping):
        return tuple(part for name, value in spec.items() for part in components(element[name], value))
    if isinstance(spec, tuple):
        return tuple(part for item, value in zip(element, spec, strict=True) for part in components(item, value))
    if isinstance(spec, tf.RaggedTensorSpec):
        values, offsets = ragged_parts(element)
        return (_array(values), *offsets)
    return (_array(element),)


def assemble(spec: Any, tensors: Iterator[Any]) -> Any:
    """Rebuild an element from the tensors of its components."""
    if isinstance(spec, Mapping):
        return {name: assemble(value, tensors) for name, value in spec.items()}
    if isinstance(spec, tuple):
        return tuple(assemble(value, tensors) for value in spec)
    values = next(tensors)
    if isinstance(spec, tf.RaggedTensorSpec):
        splits = [next(tensors) for _ in range(spec.ragged_rank)]
        return tf.RaggedTensor.from_nested_row_splits(values, splits, validate=False)
    return values


def _leaf_spec(value: Any, batched: bool, feature: Feature | None) -> Any:
    if isinstance(value, Nullable):
        raise_absent()
    if isinstance(value, Ragged):
        values, offsets = ragged_parts(value)
        shape = [
            None if batched else len(value),
            *[None] * len(offsets),
            *values.shape[isinstance(values, np.ndarray) :],
        ]
        return tf.RaggedTensorSpec(shape, _dtype(values), ragged_rank=len(offsets), row_splits_dtype=tf.int64)
    if isinstance(value, BytesColumn):
        return tf.TensorSpec([None if batched else len(value), *value.shape], tf.string)
    array = _array(value)
    if array.dtype == object and array.size and isinstance(array.flat[0], np.ndarray):
        raise TypeError(
            "arrays of different shapes cannot become a tensor: resize them in a map() before batch(), or pad them"
        )
    shape = list(array.shape)
    rows = shape[:1] if batched else []
    inner = shape[len(rows) :]
    if feature is not None and len(feature.shape) == len(inner):
        inner = [None if expected is None else size for expected, size in zip(feature.shape, inner, strict=True)]
    return tf.TensorSpec([*[None] * len(rows), *inner], _dtype(array))


def _array(value: Any) -> Any:
    if isinstance(value, BytesColumn):
        return value.to_numpy()
    return (
        np.asarray(value) if is_numeric(value) or not isinstance(value, str | bytes | list) else np.array(value, object)
    )


def _dtype(values: Any) -> Any:
    return tf.as_dtype(values.dtype) if is_numeric(values) else tf.string
