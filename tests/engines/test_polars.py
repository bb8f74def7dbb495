"""scan() is a lazy frame with the same results as an eager one."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import penstock as ps

ROWS = [
    {"id": i, "score": None if i % 7 == 0 else i / 2, "name": None if i % 5 == 0 else f"n{i % 3}", "t": [i] * (i % 3)}
    for i in range(500)
]
SCHEMA = ps.Schema(
    {
        "id": int,
        "score": ps.Feature("float32", optional=True),
        "name": ps.Feature("str", optional=True),
        "t": ps.Feature("int64", (None,)),
    }
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("polars") / "t"
    ps.write(path, ROWS, schema=SCHEMA, shards=3)
    return path


EAGER = pl.DataFrame(ROWS, schema={"id": pl.Int64, "score": pl.Float32, "name": pl.String, "t": pl.List(pl.Int64)})
PREDICATES = [
    pl.col("id") % 3 == 1,
    pl.col("score") > 100,
    pl.col("name") == "n1",
    pl.col("name").is_null(),
    pl.col("t").list.len() == 2,
]


@settings(max_examples=25)
@given(
    chosen=st.lists(st.sampled_from(range(len(PREDICATES))), max_size=3),
    columns=st.lists(st.sampled_from(EAGER.columns), min_size=1, unique=True),
    rows=st.none() | st.integers(0, 30),
)
def test_columns_filters_and_head_are_those_of_an_eager_frame(
    path: Path, chosen: list[int], columns: list[str], rows: int | None
):
    predicates = [PREDICATES[number] for number in chosen]
    found = ps.scan(path).filter(*predicates).select(columns)
    expected = EAGER.filter(*predicates).select(columns)
    if rows is not None:
        found, expected = found.head(rows), expected.head(rows)
    assert_frame_equal(found.collect(), expected)


def test_counts_groups_and_joins(path: Path):
    lazy = ps.scan(ps.Dataset(path))
    assert lazy.select(pl.len()).collect().item() == 500
    groups = lazy.group_by("name").len().sort("name")
    assert_frame_equal(groups.collect(), EAGER.group_by("name").len().sort("name"))
    assert lazy.join(lazy, on="id").select(pl.len()).collect().item() == 500


def test_a_dataset_with_functions_and_other_names_is_scanned(path: Path):
    ds = ps.Dataset(path).rename_columns({"id": "key"}).filter("key < 10").map(lambda row: {"key": row["key"] + 1})
    assert ps.scan(ds).collect()["key"].to_list() == list(range(1, 11))


def test_batches_are_rejected(path: Path):
    with pytest.raises(ValueError, match=r"before batch\(\)"):
        ps.scan(ps.Dataset(path).batch(8))
