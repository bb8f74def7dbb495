"""The pipeline of tutorials, for TensorFlow and ``penstock.tf`` alike: parse each record, shuffle, batch.

``label`` says what is made of the label on the way: nothing, or something that takes a condition on a tensor, a loop
as long as one holds, or a Python function.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from workload_columns import BATCH, COLUMNS

_DTYPES = {"raw": "string", "float": "float32", "int64": "int64"}
_BUFFER = 1000


def labels(tf: Any, path: str, workload: str, label: str) -> Iterator[Any]:
    """Go through the dataset once, for its labels."""
    for batch in _pipeline(tf, path, workload, label):
        yield batch["label"].numpy()


@cache  # what is built once is built in the check, which is not timed
def _pipeline(tf: Any, path: str, workload: str, label: str) -> Any:
    columns = COLUMNS[workload]
    features = {
        name: tf.io.FixedLenFeature([] if column.stored == "raw" else column.shape, getattr(tf, _DTYPES[column.stored]))
        for name, column in columns.items()
    }

    def parse(record: Any) -> dict[str, Any]:
        parsed = tf.io.parse_single_example(record, features)
        for name, column in columns.items():
            if column.stored == "raw":
                parsed[name] = tf.reshape(tf.io.decode_raw(parsed[name], getattr(tf, column.dtype)), column.shape)
        return dict(parsed)

    def parse_with_condition(record: Any) -> dict[str, Any]:
        parsed = parse(record)
        label = parsed["label"]
        if label % 2 == 0:
            label = -label
        return {**parsed, "label": label}

    def parse_with_loop(record: Any) -> dict[str, Any]:
        parsed = parse(record)
        power = tf.constant(1, tf.int64)
        while power <= parsed["label"] % 8:
            power = power * 2
        return {**parsed, "label": power}

    def parse_with_function(record: Any) -> dict[str, Any]:
        parsed = parse(record)
        bits = tf.py_function(lambda label: int(label.numpy()).bit_count(), [parsed["label"]], tf.int64)
        return {**parsed, "label": bits}

    functions = {
        "as it is": parse,
        "with a condition": parse_with_condition,
        "with a loop": parse_with_loop,
        "with a function": parse_with_function,
    }
    examples = tf.data.TFRecordDataset(path).map(functions[label], num_parallel_calls=tf.data.AUTOTUNE)
    return examples.shuffle(_BUFFER, seed=1).batch(BATCH[workload]).prefetch(tf.data.AUTOTUNE)
