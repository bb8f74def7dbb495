"""sql() returns what DuckDB returns over the same data as Parquet, and reads only what a query needs."""

from __future__ import annotations

import math
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps

SCHEMA = ps.Schema(
    {
        "label": int,
        "score": ps.Feature("float32", optional=True),
        "name": ps.Feature("str", optional=True),
        "tokens": ps.Feature("int64", (None,)),
        "box": ps.Feature("float32", (2,)),
    }
)
NAMES = ("", "a", "ab", "b", "ä", "A")
ROWS = 4000


def rows() -> list[dict[str, object]]:
    random = np.random.default_rng(3)
    return [
        {
            "label": i % 10,
            "score": [None, math.nan, math.inf, 0.5, -1.0, float(i)][random.integers(6)],
            "name": [None, *NAMES][random.integers(7)],
            "tokens": list(range(i % 4)),
            "box": [i, -i],
        }
        for i in range(ROWS)
    ]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a dataset ``t``, and of the same rows in ``t.parquet``."""
    folder = tmp_path_factory.mktemp("sql")
    ps.write(folder / "t", rows(), schema=SCHEMA, shards=3)
    kinds = {"label": pa.int64(), "score": pa.float32(), "name": pa.string(), "tokens": pa.list_(pa.int64())}
    kinds["box"] = pa.list_(pa.float32(), 2)
    pa.parquet.write_table(pa.Table.from_pylist(rows(), pa.schema(list(kinds.items()))), folder / "t.parquet")
    return folder


NUMBER = st.sampled_from(["label", "score", "len(tokens)", "box[1]", "length(name)"])
VALUE = st.sampled_from(["0", "3", "0.5", "-1", "'NaN'::FLOAT", "NULL", "9"])
TEXT = st.sampled_from(["''", "'a'", "'ab'", "NULL", "'ä'"])
COMPARE = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
CONDITION = st.recursive(
    st.one_of(
        st.builds("{} {} {}".format, NUMBER, COMPARE, VALUE),
        st.builds("name {} {}".format, COMPARE, TEXT),
        st.builds("{} IS {}NULL".format, NUMBER, st.sampled_from(["", "NOT "])),
        st.builds("label IN ({}, {})".format, VALUE, VALUE),
        st.builds("name IN ({}, {})".format, TEXT, TEXT),
        st.builds("name LIKE '{}%'".format, st.sampled_from(["a", "", "ä"])),
        st.builds("score BETWEEN {} AND {}".format, VALUE, VALUE),
        st.builds("list_contains(tokens, {})".format, st.sampled_from(["1", "7"])),
    ),
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("(NOT {})".format, inner),
    ),
    max_leaves=4,
)
SELECT = st.sampled_from(
    [
        "SELECT count(*) FROM {t} WHERE {where}",
        "SELECT label, count(name), sum(len(tokens)), max(score) FROM {t} WHERE {where} GROUP BY 1 ORDER BY 1",
        "SELECT label, name, score, tokens, box[2] AS y FROM {t} WHERE {where} ORDER BY ALL LIMIT 20",
        "SELECT DISTINCT name FROM {t} WHERE {where} ORDER BY 1",
        "SELECT a.label, count(*) FROM {t} a JOIN (SELECT DISTINCT name FROM {t} WHERE {where}) b USING (name) "
        "GROUP BY 1 ORDER BY 1",
    ]
)


@settings(max_examples=40)
@given(select=SELECT, where=CONDITION)
def test_a_query_returns_what_duckdb_returns_over_parquet(table: Path, select: str, where: str):
    expected = duckdb.sql(select.format(t=f"'{table}/t.parquet'", where=where)).fetchall()
    found = ps.sql(select.format(t=f"'{table}/t'", where=where)).fetchall()
    assert repr(found) == repr(expected)  # NaN equals itself as text


def test_paths_variables_arguments_and_other_files_are_tables(table: Path):
    ds = ps.Dataset(table / "t")
    labels = pa.table({"label": [1, 2]})
    assert ps.sql(f"SELECT count(*) FROM '{table}/t-*.tfrecord'").fetchall() == [(ROWS,)]
    assert ps.sql("SELECT count(*) FROM ds JOIN labels USING (label)").fetchall() == [(ROWS // 5,)]
    assert ps.sql("SELECT count(*) FROM mine", mine=ds.take(7)).fetchall() == [(7,)]
    joined = f"SELECT count(DISTINCT a.label) FROM '{table}/t' a JOIN '{table}/t.parquet' b USING (label)"
    assert ps.sql(joined).fetchall() == [(10,)]
    assert len(ds) == ROWS
    assert len(labels) == 2


def test_a_dataset_is_read_as_its_functions_make_it(table: Path):
    ds = ps.Dataset(table / "t").filter("label < 2").map(lambda row: {"twice": 2 * row["label"]})  # noqa: F841
    assert ps.sql("SELECT count(*), max(twice) FROM ds WHERE twice > 0").fetchall() == [(ROWS // 10, 2)]
    assert ps.sql("SELECT count(*) FROM ds").fetchall() == [(ROWS // 5,)]


def test_a_common_table_expression_hides_a_variable(table: Path):
    ds = ps.Dataset(table / "t")
    assert ps.sql("WITH ds AS (SELECT 1 AS x) SELECT x FROM ds").fetchall() == [(1,)]
    assert len(ds) == ROWS


def test_limit_stops_reading_before_damage_that_a_full_scan_meets(tmp_path: Path):
    ps.write(tmp_path / "t", {"x": np.arange(60_000)}, shards=2)
    file = tmp_path / "t-00001-of-00002.tfrecord"
    data = bytearray(file.read_bytes())
    data[-10] ^= 1
    file.write_bytes(data)
    ds = ps.Dataset(tmp_path / "t")  # noqa: F841
    assert len(ps.sql("SELECT x FROM ds LIMIT 5").fetchall()) == 5
    with pytest.raises(duckdb.Error, match=r"checksum does not match.*t-00001-of-00002"):
        ps.sql("SELECT max(x) FROM ds").fetchall()


def test_the_number_of_rows_alone_is_not_read_from_records(tmp_path: Path):
    ps.write(tmp_path / "t", [{"x": i} for i in range(100)], shards=2)
    file = tmp_path / "t-00001-of-00002.tfrecord"
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    assert ps.sql(f"SELECT count(*), count(*) AS n FROM '{tmp_path}/t'").fetchall() == [(100, 100)]


def test_images_stay_encoded_unless_they_are_asked_for(tmp_path: Path):
    schema = ps.Schema({"image": ps.Feature("uint8", (2, 2, 3), encoding="png")})
    ps.write(tmp_path / "t", [{"image": np.full((2, 2, 3), 7, np.uint8)}], schema=schema)
    ((encoded,),) = ps.sql(f"SELECT image FROM '{tmp_path}/t'").fetchall()
    assert encoded.startswith(b"\x89PNG")
    ((pixels,),) = ps.sql(f"SELECT image FROM '{tmp_path}/t'", decode=True).fetchall()
    assert np.array_equal(pixels, np.full((2, 2, 3), 7))


@pytest.mark.parametrize("query", ["COPY t TO 'x.csv'", "CREATE TABLE x (y INT)", "SELECT 1; SELECT 2", ""])
def test_only_one_select_statement_runs(query: str):
    with pytest.raises(ValueError, match="one SELECT statement"):
        ps.sql(query)


def test_names_that_are_nothing_are_reported():
    with pytest.raises(FileNotFoundError, match="no/such"):
        ps.sql("SELECT * FROM 'no/such'")
    with pytest.raises(duckdb.CatalogException, match="nothing"):
        ps.sql("SELECT * FROM nothing")
    with pytest.raises(duckdb.ParserException, match="selec"):
        ps.sql("selec 1")
