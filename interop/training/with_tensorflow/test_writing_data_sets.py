"""A tf.data.Dataset becomes shards with a schema, whatever its elements are made of, and comes back as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import penstock as ps


def written(path: Path, source: Any) -> tuple[dict[str, ps.Feature], list[dict[str, Any]]]:
    ps.write(path / "data", source)
    found = ps.Dataset(path / "data")
    (batch,) = found.batch(10_000)
    return dict(found.schema), batch.to_list()


def test_dicts_keep_their_names(tmp_path: Path):
    images = np.arange(3 * 4 * 4, dtype=np.uint8).reshape(3, 4, 4)
    source = tf.data.Dataset.from_tensor_slices({"image": images, "inner": {"name": ["a", "b", "c"]}})
    schema, rows = written(tmp_path, source)
    assert schema == {"image": ps.Feature("uint8", (4, 4), encoding="raw"), "inner/name": ps.Feature("bytes")}
    assert [row["image"] for row in rows] == images.tolist()
    assert [row["inner/name"] for row in rows] == [b"a", b"b", b"c"]


def test_tuples_and_single_tensors(tmp_path: Path):
    pairs = tf.data.Dataset.from_tensor_slices((np.ones((4, 2), np.float32), np.arange(4)))
    schema, rows = written(tmp_path / "pairs", pairs)
    assert schema == {"0": ps.Feature("float32", (2,)), "1": ps.Feature("int64")}
    assert rows[3] == {"0": [1.0, 1.0], "1": 3}
    _, rows = written(tmp_path / "single", tf.data.Dataset.range(3000))
    assert rows == [{"value": n} for n in range(3000)]


def test_shapes_that_vary_are_ragged_by_their_spec(tmp_path: Path):
    # The first thousand rows have one length; the spec says that others may come.
    source = tf.data.Dataset.range(2000).map(lambda n: {"x": tf.range(2 + n // 1500)})
    schema, rows = written(tmp_path, source)
    assert schema == {"x": ps.Feature("int64", (None,))}
    assert rows[0] == {"x": [0, 1]}
    assert rows[1999] == {"x": [0, 1, 2]}


def test_ragged_and_sparse_tensors(tmp_path: Path):
    ragged = tf.ragged.constant([[[1, 2], [3]], [], [[4]]])
    schema, rows = written(tmp_path / "ragged", tf.data.Dataset.from_tensor_slices({"r": ragged}))
    assert schema["r"].shape == (None, None)
    assert [row["r"] for row in rows] == ragged.to_list()
    sparse = tf.sparse.from_dense([[0, 5, 0], [7, 0, 0]])
    _, rows = written(tmp_path / "sparse", tf.data.Dataset.from_tensor_slices({"s": sparse}))
    assert [row["s"] for row in rows] == [[0, 5, 0], [7, 0, 0]]


def test_parsed_records_with_strings_of_any_number(tmp_path: Path):
    words = tf.ragged.constant([[b"a", b"bc"], [], [b"a long string of more than twelve bytes"]])
    _, rows = written(tmp_path, tf.data.Dataset.from_tensor_slices({"words": words}))
    assert [row["words"] for row in rows] == words.to_list()
