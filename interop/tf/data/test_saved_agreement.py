"""``Dataset.save`` and ``load``: both sides load what the other one saves."""

from __future__ import annotations

from pathlib import Path

import pytest
from oracle import Oracle
from tf.expressions import REFUSED, evaluate, same

import penstock.tf as tf

SAVED = [
    "tf.data.Dataset.range(7).save(path)",
    "tf.data.Dataset.range(0).save(path)",
    "tf.data.Dataset.range(7).save(path, compression='GZIP')",
    "tf.data.Dataset.range(7).map(lambda x: (x, tf.strings.as_string(x), tf.cast(x, tf.float16))).save(path)",
    "tf.data.Dataset.range(5).map(lambda x: {'z': tf.range(x), 'a': (x > 2, {'b': tf.fill([2, 1], x)})}).save(path)",
    "tf.data.Dataset.from_tensor_slices(['a', '', 'more than twelve bytes']).batch(2).save(path)",
    "tf.data.Dataset.range(6).save(path, shard_func=lambda x: x % 2)",
]

PROPERTIES = ["list(ds)", "ds.cardinality()", "repr(ds.element_spec)"]


@pytest.mark.parametrize("source", SAVED)
@pytest.mark.parametrize("writer", ["ours", "theirs"])
def test_both_sides_load_a_saved_dataset(oracle: Oracle, tmp_path: Path, source: str, writer: str) -> None:
    names = {"path": str(tmp_path)}
    written = evaluate(tf, source, names) if writer == "ours" else oracle.evaluate((source, names))[0]
    assert written is None
    compression = ", compression='GZIP'" if "GZIP" in source else ""
    for expression in PROPERTIES if "{" not in source else PROPERTIES[:2]:  # TensorFlow sorts the keys of dicts
        question = f"(lambda ds: {expression})(tf.data.Dataset.load(path{compression}))"
        (theirs,) = oracle.evaluate((question, names))
        assert theirs != REFUSED
        assert same(evaluate(tf, question, names), theirs), (question, theirs)
