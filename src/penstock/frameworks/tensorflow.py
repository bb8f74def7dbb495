"""TensorFlow: batches as tensors for a loop, or as a ``tf.data.Dataset`` for ``fit``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

from penstock.dataset.dataset import Dataset
from penstock.errors import import_extra
from penstock.frameworks.elements import gives_batches
from penstock.frameworks.feed import Feed, Place
from penstock.frameworks.tensorflow_spec import assemble, components, signature, spec_of

tf = import_extra("tensorflow", "tensorflow", "feeding TensorFlow")

__all__ = ["TensorFlowFeed", "convert", "feed"]


def feed(dataset: Dataset, *, device: str | None = None, ahead: int = 2) -> TensorFlowFeed:
    """Give out a data set's elements as tensors.

    Args:
        dataset: What to give out. The replicas of a distribution strategy share one process, which has all of it.
        device: Where tensors lie, as ``tf.device`` names it; None: where TensorFlow puts them.
        ahead: How many elements lie ready while one is worked on.
    """
    return TensorFlowFeed(dataset, lambda element: convert(element, device=device), ahead=ahead)


def convert(element: Any, *, device: str | None = None) -> Any:
    """Convert a batch, or a dict or tuple of columns, to tensors; ragged columns become ``tf.RaggedTensor``."""
    with tf.device(device):
        spec = spec_of(element, {}, batched=False)
        return assemble(spec, iter([tf.convert_to_tensor(part) for part in components(element, spec)]))


class TensorFlowFeed(Feed):
    """A feed that is a ``tf.data.Dataset`` as well."""

    def as_dataset(self, *, element_spec: Any = None) -> Any:
        """Answer a ``tf.data.Dataset``, each iteration of which is a pass of the feed.

        Args:
            element_spec: What elements look like; None: what the schema and the first element tell. Where a function
                makes arrays that differ in more than their first dimension, it has to be said.
        """
        return dataset_of(self, element_spec_of(self._dataset) if element_spec is None else element_spec)


def dataset_of(feed: Feed, spec: Any, prepare: Place = lambda element: element) -> Any:
    """Answer a ``tf.data.Dataset``, each iteration of which is a pass of a feed, with something done to elements."""

    def parts() -> Iterator[Any]:
        return feed.passing(lambda element: components(prepare(element), spec))

    # TensorFlow takes plain arrays from a generator at once; ragged tensors would be serialized on their way.
    flat = tf.data.Dataset.from_generator(parts, output_signature=signature(spec))
    return flat.map(lambda *tensors: assemble(spec, iter(tensors)))


def element_spec_of(dataset: Dataset) -> Any:
    """Answer what the elements of a data set look like, by the schema and the first of them."""
    schema = dataset.schema if dataset.files else {}  # data sets that were joined have one each
    with closing(iter(dataset.epoch(0))) as elements:
        for element in elements:
            return spec_of(element, schema, batched=gives_batches(dataset))
    raise ValueError("an empty data set does not tell what its elements look like: pass element_spec")
