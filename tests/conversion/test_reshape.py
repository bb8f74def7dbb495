"""Rows and columns of tables are chosen on the way."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet
import pytest

import penstock as ps


def test_rows_and_columns_of_a_table_are_chosen(folder):
    table = pa.table({name: list(range(start, start + 25)) for start, name in enumerate("abc")})
    pyarrow.parquet.write_table(table, "t.parquet", row_group_size=10)
    ps.convert("t.parquet", "t", columns=["c", "a"], skip=8, limit=5)
    assert list(ps.Dataset("t").schema) == ["c", "a"]
    assert ps.Dataset("t").batch(9)[0].to_list() == [{"c": i + 2, "a": i} for i in range(8, 13)]
    with pytest.raises(ps.SchemaError, match=r"the table has no column 'd'; it has 'a', 'b', 'c'"):
        ps.convert("t.parquet", "u", columns=["d"])
