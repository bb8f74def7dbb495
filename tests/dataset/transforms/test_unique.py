"""unique(): the first row of each key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.dataset.transforms.unique import UniqueArrangement


def first_rows(batch: ps.Batch, *columns: str) -> list[int]:
    chosen = ps.Batch({name: batch[name] for name in columns}) if columns else batch
    return UniqueArrangement(columns or None).positions(chosen)[0].tolist()


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from(["", "a", "b" * 13]), st.lists(st.integers(0, 1), max_size=2))
    )
)
def test_the_first_of_equal_rows_stays(rows: list[tuple[int, str, list[int]]]):
    batch = ps.Batch(
        {
            "a": np.array([row[0] for row in rows], np.int64),
            "b": ps.BytesColumn.from_values([row[1] for row in rows], text=True),
            "c": ps.Ragged.from_lengths(
                np.array([x for row in rows for x in row[2]], np.int64), [len(r[2]) for r in rows]
            ),
        }
    )
    for columns, key in [
        (("a",), lambda r: r[0]),
        (("b", "a"), lambda r: r[:2]),
        ((), lambda r: r),
        (("c",), lambda r: r[2]),
    ]:
        keys: list[Any] = [key(row) for row in rows]
        assert first_rows(batch, *columns) == [i for i, value in enumerate(keys) if value not in keys[:i]]


def test_absent_values_are_one_key_and_nan_is_another():
    column = ps.Nullable(np.array([np.nan, 1, 5, np.nan, 7, 1]), np.array([1, 1, 0, 1, 0, 1], bool))
    assert first_rows(ps.Batch({"x": column})) == [0, 1, 2]


def test_images_are_compared_as_they_are_stored(tmp_path: Path):
    schema = ps.Schema({"id": int, "image": ps.Feature("uint8", (2, 2, 3), encoding="png", optional=True)})
    red, blue = np.zeros((2, 2, 3), np.uint8), np.ones((2, 2, 3), np.uint8)
    images = [red, blue, None, red, None, blue]
    ps.write(tmp_path / "a", [{"id": i // 3, "image": image} for i, image in enumerate(images)], schema=schema)
    ds = ps.Dataset(tmp_path / "a")
    assert ds.unique("image").records([0, 1, 2]) == ds.records([0, 1, 2])
    assert len(ds.unique("image")) == 3
    assert len(ds.unique()) == 6
    assert len(ds.concat(ds).unique()) == 6
    assert repr(ds.unique()).endswith("unique()>")
    assert repr(ds.unique(["id", "image"])).endswith("unique('id', 'image')>")
