"""A dataset is written as it is read: its rows in their order, through what stands in its pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps
import penstock.tf as tf
from penstock.writing.inputs import count_rows


def test_rows_batches_and_functions(tmp_path: Path):
    columns = {"x": np.arange(3000), "tokens": [list(range(n % 3)) for n in range(3000)]}
    ps.write(tmp_path / "all", columns, shards=3)
    dataset = ps.Dataset(tmp_path / "all")
    even = dataset.filter(lambda row: row["x"] % 2 == 0)
    assert ps.write(tmp_path / "rows", even).schema == dataset.schema
    ps.write(tmp_path / "batches", dataset.batch(100).map(lambda batch: batch | {"x": -batch["x"]}))
    assert [row["x"] for row in ps.Dataset(tmp_path / "rows")] == list(range(0, 3000, 2))
    assert [row["x"] for row in ps.Dataset(tmp_path / "batches")] == list(range(0, -3000, -1))
    assert ps.Dataset(tmp_path / "batches")[5]["tokens"].tolist() == [0, 1]


def test_rows_are_counted_where_that_needs_no_reading(tmp_path: Path):
    ps.write(tmp_path / "all", {"x": np.arange(10)}, shards=3)
    ds = ps.Dataset(tmp_path / "all")
    for known in (ds, ds.map(dict), ds.shuffle(seed=1), list(ds)):
        assert count_rows(known) == 10
    assert count_rows([ps.Batch({"x": np.arange(4)}), ps.Batch({"x": np.arange(2)})]) == 6
    for unknown in (ds.filter(bool), ds.repeat(), ds.batch(2), iter(ds), ({"x": 1} for _ in range(3))):
        assert count_rows(unknown) is None


def test_rows_of_a_function_are_written_as_a_list_of_them_is(tmp_path: Path):
    ps.write(tmp_path / "from", {"x": np.arange(5)})
    rows = ps.Dataset(tmp_path / "from").map(lambda row: {"half": float(row["x"]) / 2, "ones": [1] * int(row["x"])})
    written = ps.write(tmp_path / "to", rows)
    assert written.schema == ps.write(tmp_path / "list", list(rows)).schema
    assert written.schema["half"] == ps.Feature("float32")  # as TensorFlow takes the floats of Python
    assert [row["ones"].tolist() for row in ps.Dataset(tmp_path / "to")] == [[1] * n for n in range(5)]
    nested = ps.Dataset(tmp_path / "from").map(lambda row: {"pair": {"a": row["x"], "b": "text"}})
    assert list(ps.write(tmp_path / "nested", nested).schema) == ["pair/a", "pair/b"]


def test_datasets_of_penstock_tf_are_written_as_tensorflows_are(tmp_path: Path):
    def written(name: str, source: Any) -> tuple[dict[str, ps.Feature], list[dict[str, Any]]]:
        ps.write(tmp_path / name, source)
        found = ps.Dataset(tmp_path / name)
        (batch,) = found.batch(10_000)
        return dict(found.schema), batch.to_list()

    images = np.arange(3 * 4 * 4, dtype=np.uint8).reshape(3, 4, 4)
    source = tf.data.Dataset.from_tensor_slices({"image": images, "inner": {"name": ["a", "b", "c"]}})
    schema, rows = written("dicts", source)
    assert schema == {"image": ps.Feature("uint8", (4, 4), encoding="raw"), "inner/name": ps.Feature("bytes")}
    assert [row["image"] for row in rows] == images.tolist()
    _, rows = written("records", tf.data.Dataset.range(3000))
    assert rows == [{"value": n} for n in range(3000)]
    # The first thousand rows have one length; the spec says that others may come.
    schema, rows = written("varying", tf.data.Dataset.range(2000).map(lambda n: (n, tf.range(2 + n // 1500))))
    assert schema == {"0": ps.Feature("int64"), "1": ps.Feature("int64", (None,))}
    assert rows[1999] == {"0": 1999, "1": [0, 1, 2]}
    sparse = tf.data.Dataset.range(3).map(lambda n: {"s": tf.sparse.from_dense(tf.stack([0 * n, n]))})
    assert written("sparse", sparse)[1] == [{"s": [0, n]} for n in range(3)]
    ragged = tf.ragged.constant([[[1, 2], [3]], [], [[4]]])
    _, rows = written("ragged", tf.data.Dataset.from_tensor_slices({"r": ragged}))
    assert [row["r"] for row in rows] == ragged.to_list()


def test_datasets_of_penstock_tf_whose_functions_are_not_traced_are_written_by_rows(tmp_path: Path):
    source = tf.data.Dataset.range(3).map(lambda n: {"x": tf.range(int(n)), "s": tf.sparse.from_dense([0, int(n)])})
    ps.write(tmp_path / "data", source)
    rows = [{name: value.tolist() for name, value in row.items()} for row in ps.Dataset(tmp_path / "data")]
    assert rows == [{"x": list(range(n)), "s": [0, n]} for n in range(3)]
