"""Examples for tests of ``penstock.tf``, and checks of values and operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import penstock.tf as tf
from penstock.tf.tensors.batch_values import Stacked
from penstock.tf.tensors.specs import UNKNOWN_SPEC
from penstock.tf.tensors.structure import leaves
from penstock.tf.tracing.infer_specs import specs_of_results
from penstock.tf.tracing.recording import INPUT
from penstock.tf.tracing.trace import Trace
from penstock.tf.tracing.vectorize import row_of, run_batch

FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
    "box": tf.io.FixedLenFeature([4], tf.float32, [0.0, 0.0, 1.0, 1.0]),
    "words": tf.io.VarLenFeature(tf.string),
    "marks": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
    "runs": tf.io.RaggedFeature(tf.float32),
}


def records(count: int = 7) -> list[bytes]:
    """Return serialized Examples with all FEATURES."""
    random = np.random.default_rng(3)
    made = []
    for row in range(count):
        example = tf.train.Example()
        feature = example.features.feature
        feature["image"].bytes_list.value.append(random.integers(0, 256, 4 * 6 * 3).astype(np.uint8).tobytes())
        feature["label"].int64_list.value.append(row % 3)
        if row % 2:
            feature["box"].float_list.value.extend(random.random(4))
        feature["words"].bytes_list.value.extend([b"word"] * (row % 3))
        feature["marks"].int64_list.value.extend(range(row % 4))
        feature["runs"].float_list.value.extend([0.5] * (row % 2))
        made.append(example.SerializeToString())
    return made


def parse(record: Any) -> dict[str, Any]:
    """Parse one of these records."""
    return tf.io.parse_single_example(record, FEATURES)


def assert_same(found: Any, expected: Any) -> None:
    """Assert that two structures have the same values, dtypes and shapes."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            assert_same(found[key], expected[key])
    elif isinstance(expected, list | tuple):
        assert type(found) is type(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, tf.SparseTensor):
        assert_same(
            (found.indices, found.values, found.dense_shape), (expected.indices, expected.values, expected.dense_shape)
        )
    elif isinstance(expected, tf.RaggedTensor):
        assert repr(found) == repr(expected)
    elif isinstance(expected, tf.Tensor):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.numpy(), expected.numpy())
        assert found.shape == expected.shape
    else:
        assert found == expected


def example(**features: Any) -> bytes:
    """Return a serialized Example."""
    message = tf.train.Example()
    for name, values in features.items():
        kind = {int: "int64_list", float: "float_list", bytes: "bytes_list"}[type(values[0])]
        getattr(message.features.feature[name], kind).value.extend(values)
    return message.SerializeToString()


def assert_operation(function: Callable[..., Any], args: list[Any], expected: Any) -> None:
    """Assert what an operation returns when it is called, when it runs for a batch, and that its spec matches."""
    tensors = [tf.constant(arg) for arg in args]
    assert_same(function(*tensors), expected)
    trace = Trace(function, (INPUT,) * len(args))
    assert_same(trace.run(*tensors), expected)
    # Rows that differ, so that a batch must not mix them.
    rows = [tensors, [tf.constant(np.flip(tensor)) for tensor in tensors]]
    batch = run_batch(trace, 2, *(Stacked(np.stack(values)) for values in zip(*rows, strict=True)))
    for row, values in enumerate(rows):
        assert_same(row_of(batch, row), function(*values))
    known = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in tensors]
    unknown = [tf.TensorSpec([None] * tensor.ndim, tensor.dtype) for tensor in tensors]
    for specs in (known, unknown):
        for spec, value in zip(leaves(specs_of_results(trace, specs)), leaves(expected), strict=True):
            assert spec is UNKNOWN_SPEC or (spec.dtype == value.dtype and spec.shape.is_compatible_with(value.shape))
