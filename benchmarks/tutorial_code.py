"""The pipeline of tutorials, for TensorFlow and ``penstock.tf`` alike: parse each record, shuffle, batch."""

from __future__ import annotations

from typing import Any

from workload_columns import BATCH, COLUMNS

_DTYPES = {"raw": "string", "float": "float32", "int64": "int64"}
_BUFFER = 1000


def pipeline(tf: Any, path: str, workload: str, *, with_condition: bool) -> Any:
    """The data set; a condition on a tensor is what ``penstock.tf`` does not trace."""
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

    def parse_and_choose(record: Any) -> dict[str, Any]:
        parsed = parse(record)
        label = parsed["label"]
        if label % 2 == 0:
            label = -label
        return {**parsed, "label": label}

    records = tf.data.TFRecordDataset(path)
    examples = records.map(parse_and_choose if with_condition else parse, num_parallel_calls=tf.data.AUTOTUNE)
    return examples.shuffle(_BUFFER, seed=1).batch(BATCH[workload]).prefetch(tf.data.AUTOTUNE)
