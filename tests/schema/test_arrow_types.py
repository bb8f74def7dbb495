"""Arrow's types are stored as what Examples hold, and come back as they were."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps

DAYS = [dt.date(2020, 1, 1), None, dt.date(1960, 2, 3)]
TABLE = pa.table(
    {
        "date": pa.array(DAYS),
        "date64": pa.array(DAYS, pa.date64()),
        "when": pa.array([1000, None, -3000], pa.timestamp("ns")),
        "zoned": pa.array([1, None, 3], pa.timestamp("us", tz="Europe/Berlin")),
        "lasts": pa.array([1, 2, None], pa.duration("ms")),
        "time": pa.array([1, 2, None], pa.time32("ms")),
        "time64": pa.array([1, 2, None], pa.time64("us")),
        "price": pa.array([Decimal("1.20"), None, Decimal("-3.45")], pa.decimal128(10, 2)),
        "kind": pa.array(["x", None, "y"]).dictionary_encode(),
        "nothing": pa.nulls(3),
        "struct": pa.array([{"a": 1, "b": {"c": "x"}}, None, {"a": None, "b": None}]),
        "structs": pa.array([[{"x": 1, "y": "p"}, {"x": 2, "y": "q"}], None, []]),
        "map": pa.array([[("k", 1)], None, [("u", 2), ("v", 3)]], pa.map_(pa.string(), pa.int64())),
        "dates": pa.array([[DAYS[0]], [], None]),
        "deep": pa.array([[[{"x": 1}], []], None, []]),
        "inner": pa.array([[{"s": {"t": DAYS[0]}}], [], []]),
        "fixed": pa.array([[DAYS[0]] * 2] * 3, pa.list_(pa.date32(), 2)),
        "empty": pa.array([{}, None, {}], pa.struct([])),
        "plain": [1, 2, 3],
    }
)


def same(found: pa.Table, expected: pa.Table) -> None:
    assert found.column_names == expected.column_names
    for name in expected.column_names:
        assert found[name].to_pylist() == expected[name].to_pylist(), name


def test_a_table_comes_back_as_it_was(tmp_path: Path):
    ps.write(tmp_path / "a", TABLE, shards=2)
    ds = ps.Dataset(tmp_path / "a")
    same(ds.to_arrow(), TABLE)
    assert ds.to_arrow().schema.field("zoned").type == pa.timestamp("us", tz="Europe/Berlin")
    assert ds.to_arrow().schema.field("kind").type.value_type == pa.large_string()
    assert ds.take(0).to_arrow().schema.types == ds.to_arrow().schema.types
    same(pa.table(ds), TABLE)


def test_a_table_goes_through_records_and_parquet(tmp_path: Path):
    table = TABLE.drop_columns(["empty"])  # which Parquet does not store
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=2)
    ps.convert(tmp_path / "t.parquet", tmp_path / "a")
    ps.convert(tmp_path / "a", tmp_path / "b.parquet")
    same(pyarrow.parquet.read_table(tmp_path / "b.parquet"), table)
    ps.convert(tmp_path / "b.parquet", tmp_path / "c")
    assert ps.Dataset(tmp_path / "c").schema == ps.Dataset(tmp_path / "a").schema
    assert ps.Dataset(tmp_path / "c").records(range(3)) == ps.Dataset(tmp_path / "a").records(range(3))


def test_rows_hold_what_is_stored(tmp_path: Path):
    ps.write(tmp_path / "a", TABLE.select(["date", "price", "kind", "struct"]))
    assert ps.Dataset(tmp_path / "a")[0] == {
        "date": 18262,
        "price": "1.20",
        "kind": 0,
        "struct": None,
        "struct/a": 1,
        "struct/b": None,
        "struct/b/c": "x",
    }
    assert ps.Dataset(tmp_path / "a").batch(3)[0]["struct"].to_list() == [None, False, None]


def test_seconds_are_milliseconds_in_parquet_and_the_schema_is_kept(tmp_path: Path):
    columns = {"t": np.array([5], "datetime64[s]"), "image": np.zeros((1, 2, 2, 3), np.uint8)}
    ps.write(tmp_path / "a", columns)
    ps.convert(tmp_path / "a", tmp_path / "a.parquet")
    ps.convert(tmp_path / "a.parquet", tmp_path / "b")
    schema = ps.Dataset(tmp_path / "b").schema
    assert schema["image"] == ps.Dataset(tmp_path / "a").schema["image"]
    assert schema["t"].logical == "timestamp[ms]"
    assert ps.Dataset(tmp_path / "b")[0]["t"] == 5000


def test_numpy_times(tmp_path: Path):
    columns = {
        "day": np.array(["2020-01-01", "NaT"], "datetime64[D]"),
        "when": np.array([1, 2], "datetime64[ns]"),
        "lasts": np.array([3, 4], ">m8[ms]"),
    }
    ps.write(tmp_path / "a", columns)
    found = ps.Dataset(tmp_path / "a").to_arrow()
    assert found["day"].to_pylist() == [dt.date(2020, 1, 1), None]
    assert found.schema.field("when").type == pa.timestamp("ns")
    assert found["lasts"].to_pylist() == [dt.timedelta(milliseconds=3), dt.timedelta(milliseconds=4)]
    with pytest.raises(ps.SchemaError, match=r"datetime64\[h\] cannot be stored"):
        ps.write(tmp_path / "b", {"x": np.array([1], "datetime64[h]")})
    with pytest.raises(ps.SchemaError, match=r"expected timestamp\[s\], found datetime64\[ns\]"):
        ps.write(
            tmp_path / "b",
            {"when": columns["when"]},
            schema=ps.Schema({"when": ps.Feature(int, logical="timestamp[s]")}),
        )


def test_all_columns_that_cannot_be_stored_are_reported_at_once(tmp_path: Path):
    table = pa.table(
        {
            "a": pa.nulls(1, pa.month_day_nano_interval()),
            "b": [[{"x": 1}, None]],
            "d": [{"a": 1}],
            "d/a": [1],
        }
    )
    with pytest.raises(ps.SchemaError) as raised:
        ps.write(tmp_path / "x", table.select(["a", "b"]))
    assert "'a' of type month_day_nano_interval" in str(raised.value)
    assert "'b' of type list" in str(raised.value)
    with pytest.raises(ps.SchemaError, match="two columns have the name 'd/a', one as a field of a struct: rename one"):
        ps.write(tmp_path / "x", table.select(["d", "d/a"]))
    with pytest.raises(ps.SchemaError, match=r'(?s)feature "c".*feature "e"'):
        ps.write(tmp_path / "x", {"c": np.array([0.5]), "e": np.array([0.5])})


def test_classes_get_their_numbers_from_the_names(tmp_path: Path):
    schema = ps.Schema({"kind": ps.Feature("uint8", names=["cat", "dog"], optional=True)})
    ps.write(tmp_path / "a", pa.table({"kind": ["dog", None, "cat"]}), schema=schema)
    assert [row["kind"] for row in ps.Dataset(tmp_path / "a")] == [1, None, 0]
    with pytest.raises(ps.SchemaError, match="'cow' is none of the 2 names of classes: row 1"):
        ps.write(tmp_path / "b", {"kind": ["dog", "cow"]}, schema=schema)


def test_the_categories_of_all_batches_are_classes(tmp_path: Path):
    batches = [pa.table({"kind": pa.array(names).dictionary_encode()}) for names in (["b", "a"], ["c", "a"])]
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file, pa.ipc.new_stream(file, batches[0].schema) as writer:
        for batch in batches:
            writer.write_table(batch)
    ps.convert(tmp_path / "t.arrow", tmp_path / "a")
    ds = ps.Dataset(tmp_path / "a")
    assert ds.schema["kind"].names == ("b", "a", "c")
    assert ds.to_arrow()["kind"].to_pylist() == ["b", "a", "c", "a"]


LEAVES = [pa.int64(), pa.string(), pa.bool_(), pa.date32(), pa.timestamp("us", "UTC"), pa.duration("ns"), pa.float32()]
TYPES: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        inner.map(pa.large_list),
        st.lists(inner, min_size=1, max_size=3).map(lambda kinds: pa.struct(list(zip("abc", kinds, strict=False)))),
        inner.map(lambda kind: pa.map_(pa.string(), kind)),
    ),
    max_leaves=4,
)


def values_of(kind: Any, *, in_list: bool = False) -> st.SearchStrategy[Any]:
    """Values of an Arrow type, but for what no Example stores: absent items of a list."""
    values: st.SearchStrategy[Any]
    if pa.types.is_map(kind):
        values = st.lists(st.tuples(st.text("xyz", max_size=2), values_of(kind.item_type, in_list=True)), max_size=2)
    elif pa.types.is_struct(kind):
        values = st.fixed_dictionaries({field.name: values_of(field.type, in_list=in_list) for field in kind})
    elif pa.types.is_large_list(kind):
        values = st.lists(values_of(kind.value_type, in_list=True), max_size=2)
    elif pa.types.is_string(kind):
        values = st.text("xyz", max_size=2)
    elif pa.types.is_boolean(kind):
        values = st.booleans()
    elif pa.types.is_floating(kind):
        values = st.integers(0, 9).map(float)
    else:
        stored = pa.int32() if pa.types.is_date(kind) else pa.int64()
        values = st.integers(0, 9).map(lambda number: pa.scalar(number * 1000, stored).cast(kind).as_py())
    return values if in_list else st.none() | values


@given(st.data())
def test_any_table_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject):
    kinds = data.draw(st.lists(TYPES, min_size=1, max_size=3))
    rows = data.draw(st.integers(1, 4))
    columns = {
        f"c{number}": pa.array(data.draw(st.lists(values_of(kind), min_size=rows, max_size=rows)), kind)
        for number, kind in enumerate(kinds)
    }
    folder = tmp_path_factory.mktemp("any")
    ps.write(folder / "a", pa.table(columns))
    same(ps.Dataset(folder / "a").to_arrow(), pa.table(columns))
