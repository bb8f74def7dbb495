"""Return about Examples, in TensorFlow's process: what protobuf reads in a message, what ``tf.io`` parses."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError

_KINDS = {"bytes_list": "bytes", "float_list": "float", "int64_list": "int64", None: "unset"}


def read_messages(messages: list[bytes], sequence_example: bool) -> list[Any]:
    """Read each message with protobuf; return ``(context, feature lists)``, or None where it is rejected."""
    return [_read_message(message, sequence_example) for message in messages]


def _read_message(data: bytes, sequence_example: bool) -> Any:
    try:
        if not sequence_example:
            features = tf.train.Example.FromString(data).features.feature
            return {key.encode(): _contents(features[key]) for key in features}, {}
        message = tf.train.SequenceExample.FromString(data)
    except DecodeError:
        return None
    context, lists = message.context.feature, message.feature_lists.feature_list
    return (
        {key.encode(): _contents(context[key]) for key in context},
        {key.encode(): [_contents(step) for step in lists[key].feature] for key in lists},
    )


def _contents(feature: Any) -> tuple[str, list[Any]]:
    kind = feature.WhichOneof("kind")
    return _KINDS[kind], [] if kind is None else list(getattr(feature, kind).value)


def parse_examples(cases: list[tuple[str, list[bytes], bool]]) -> list[Any]:
    """Parse each list of records by the source text of a feature description, as Examples or SequenceExamples.

    Returns, for each case, tensors by name (and the lengths of dense sequences), or None where TensorFlow raises.
    """
    return [_parse(*case) for case in cases]


def _parse(source: str, records: list[bytes], sequence_example: bool) -> Any:
    names: dict[str, Any] = {}
    exec(source, names)
    serialized = tf.constant(records, tf.string, shape=[len(records)])
    try:
        if not sequence_example:
            parsed, lengths = tf.io.parse_example(serialized, names["features"]), {}
        else:
            context, sequence, lengths = tf.io.parse_sequence_example(
                serialized, names["context_features"], names["sequence_features"]
            )
            parsed = context | sequence
    except (tf.errors.OpError, UnicodeDecodeError):  # the latter where a message quotes bytes that are no text
        return None
    return {key: _plain(tensor) for key, tensor in parsed.items()}, {key: _plain(n) for key, n in lengths.items()}


def _plain(tensor: Any) -> Any:
    """A dense tensor as an array, a ragged one as values and row splits, a sparse one as indices, values and shape."""
    if isinstance(tensor, tf.SparseTensor):
        return tuple(part.numpy() for part in (tensor.indices, tensor.values, tensor.dense_shape))
    if isinstance(tensor, tf.RaggedTensor):
        return tensor.flat_values.numpy(), [splits.numpy().astype(np.int64) for splits in tensor.nested_row_splits]
    return tensor.numpy()
