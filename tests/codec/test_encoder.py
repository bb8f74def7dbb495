"""What was an array when it was encoded is the same array when it is decoded."""

from __future__ import annotations

import math
from collections import UserDict
from typing import Any

import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings

import penstock as ps

NUMBERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NUMBERS += ["float16", "bfloat16", "float32", "float64"]
SHAPES = [(), (3,), (2, 2), (0,), (None,), (None, 2), (None, None), (None, None, 2)]


def numpy_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def features() -> st.SearchStrategy[ps.Feature]:
    def fits(choice: tuple[str, str, tuple[int | None, ...]]) -> bool:
        dtype, encoding, shape = choice
        if encoding == "raw":
            return dtype not in ("bytes", "str") and shape.count(None) <= 1
        return dtype != "uint64"

    choices = st.tuples(
        st.sampled_from([*NUMBERS, "bytes", "str"]), st.sampled_from(["list", "raw"]), st.sampled_from(SHAPES)
    ).filter(fits)
    return st.builds(
        lambda choice, optional: ps.Feature(choice[0], choice[2], encoding=choice[1], optional=optional),
        choices,
        st.booleans(),
    )


def scalars(dtype: str) -> st.SearchStrategy[Any]:
    if dtype == "bytes":
        return st.binary(max_size=20)
    if dtype == "str":
        return st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
    if dtype == "bool":
        return st.booleans()
    if "float" in dtype:
        return st.integers(-256, 256).map(float)  # held exactly by all of them
    limits = np.iinfo(dtype)
    return st.integers(int(limits.min), int(limits.max))


def values(feature: ps.Feature, shape: tuple[int | None, ...] | None = None) -> st.SearchStrategy[Any]:
    """Nested lists of a feature's shape."""
    left = feature.shape if shape is None else shape
    if not left:
        return scalars(feature.dtype)
    size = {"max_size": 3} if left[0] is None else {"min_size": left[0], "max_size": left[0]}
    return st.lists(values(feature, left[1:]), **size)


@st.composite
def tables(draw: st.DrawFn) -> tuple[ps.Schema, list[dict[str, Any]]]:
    chosen = draw(st.lists(features(), min_size=1, max_size=4))
    schema = ps.Schema({f"f{i}": feature for i, feature in enumerate(chosen)})
    row = st.fixed_dictionaries(
        {name: st.none() | values(feature) if feature.optional else values(feature) for name, feature in schema.items()}
    )
    return schema, draw(st.lists(row, max_size=5))


def plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


@settings(max_examples=300)
@given(tables())
def test_rows_come_back(table: tuple[ps.Schema, list[dict[str, Any]]]):
    schema, rows = table
    records = ps.Encoder(schema).encode(rows)
    batch = ps.Decoder(schema).decode(records)
    assert [{name: plain(value) for name, value in row.items()} for row in batch.to_list()] == rows
    assert ps.Encoder(schema).encode(batch) == records  # columns give the same bytes as rows


@settings(max_examples=100)
@given(tables())
def test_arrays_are_as_good_as_lists(table: tuple[ps.Schema, list[dict[str, Any]]]):
    schema, rows = table

    def as_array(name: str, value: Any) -> Any:
        feature = schema[name]
        if value is None or feature.dtype in ("bytes", "str") or feature.ragged_levels > 1:
            return value
        array = np.array(value, numpy_dtype(feature.dtype)).reshape([-1 if n is None else n for n in feature.shape])
        return np.asfortranarray(array) if array.ndim > 1 else array[...]

    arrays = [{name: as_array(name, value) for name, value in row.items()} for row in rows]
    assert ps.Encoder(schema).encode(arrays) == ps.Encoder(schema).encode(rows)


def test_sequences_come_back():
    schema = ps.Schema(
        {"id": "bytes", "labels": ps.Feature("int64", (None,))},
        sequence={
            "rgb": ps.Feature("float32", (4,)),
            "words": ps.Feature("str", (None,)),
            "step": "int32",
            "image": ps.Feature("uint8", (2, 2, 1), encoding="png"),
            "maybe": ps.Feature("int64", optional=True),
        },
    )
    rows = [
        {
            "id": b"a",
            "labels": [1, 2],
            "rgb": np.arange(12, dtype=np.float32).reshape(3, 4),
            "words": [["x"], [], ["y", "z"]],
            "step": [1, 2, 3],
            "image": np.arange(8, dtype=np.uint8).reshape(2, 2, 2, 1),
            "maybe": [5],
        },
        {"id": b"", "labels": [], "rgb": [], "words": [], "step": [], "image": [], "maybe": None},
    ]
    records = ps.Encoder(schema).encode(rows)
    batch = ps.Decoder(schema).decode(records)
    found = batch.to_list()
    assert found[0]["rgb"] == rows[0]["rgb"].tolist()
    assert found[0]["words"] == rows[0]["words"]
    assert np.array(found[0]["image"]).tolist() == rows[0]["image"].tolist()
    assert [found[0]["maybe"], found[1]["maybe"]] == [[5], None]
    assert found[1]["rgb"] == found[1]["step"] == found[1]["words"] == []
    assert ps.Encoder(schema).encode(batch) == records


def test_images_and_tensors_come_back():
    schema = ps.Schema(
        {
            "png": ps.Feature("uint8", (None, None, 3), encoding="png"),
            "tensor": ps.Feature("float64", (None, None), encoding="tensor"),
            "some": ps.Feature("int16", (2,), encoding="tensor", optional=True),
        }
    )
    images = [np.full((2, width, 3), width, np.uint8) for width in range(1, 20)]
    rows = [{"png": image, "tensor": np.ones((2, i)), "some": None if i else [1, 2]} for i, image in enumerate(images)]
    batch = ps.Decoder(schema).decode(ps.Encoder(schema).encode(rows))
    for found, row in zip(batch["png"], rows, strict=True):
        assert found.tolist() == row["png"].tolist()
    assert [array.shape for array in batch["tensor"]] == [(2, i) for i in range(19)]
    assert batch["some"].to_list()[:2] == [[1, 2], None]


def test_an_image_that_is_encoded_already_is_stored_as_it_is():
    schema = ps.Schema({"image": ps.Feature("uint8", (None, None, 3), encoding="jpeg")})
    from penstock.codec.images import encode_image

    data = encode_image(np.zeros((4, 4, 3), np.uint8), "jpeg")
    (record,) = ps.Encoder(schema).encode([{"image": data}])
    assert data in record
    with pytest.raises(ps.SchemaError, match="expected the bytes of a jpeg file"):
        ps.Encoder(schema).encode([{"image": b"GIF89a"}])


def test_the_bytes_are_those_of_protobuf():
    encoder = ps.Encoder(ps.Schema({"a": ps.Feature("int64", (None,)), "b": ps.Feature("bytes", (None,))}))
    numbers = "0a16 0a0161 1211 1a0f 0a0d 00 ffffffffffffffffff01 ac02"
    strings = "0a0c 0a0162 1207 0a05 0a00 0a0178"
    (record,) = encoder.encode([{"a": [0, -1, 300], "b": [b"", b"x"]}])
    assert record == bytes.fromhex(f"0a26 {numbers} {strings}")


def test_raw_is_little_endian_and_in_c_order():
    schema = ps.Schema({"x": ps.Feature("int16", (2, 2), encoding="raw")})
    array = np.array([[1, 2], [3, 4]], ">i2").T
    (record,) = ps.Encoder(schema).encode([{"x": array}])
    assert record.endswith(bytes.fromhex("0100030002000400"))
    assert ps.Encoder(schema).encode({"x": array[None]}) == [record]


def test_rows_may_be_any_mapping_and_lack_what_is_optional():
    schema = ps.Schema({"a": int, "b": ps.Feature("str", optional=True), "c": ps.Feature("int64", default=7)})
    records = ps.Encoder(schema).encode([UserDict(a=1), {"a": 2, "b": "x", "c": 3}])
    assert ps.Decoder(schema).decode(records).to_list() == [{"a": 1, "b": None, "c": 7}, {"a": 2, "b": "x", "c": 3}]


@pytest.mark.parametrize(("dtype", "values"), [("bytes", [b"a", b""]), ("str", ["é", "b"])])
def test_tensors_of_strings_come_back(dtype: str, values: list):
    schema = ps.Schema(
        {"t": ps.Feature(dtype, (2,), encoding="tensor"), "o": ps.Feature(dtype, (None,), encoding="tensor")}
    )
    records = ps.Encoder(schema).encode([{"t": values, "o": values[:1]}])
    batch = ps.Decoder(schema).decode(records)
    assert batch["t"].tolist() == [values]
    assert batch["o"][0].tolist() == values[:1]


def test_python_floats_are_rounded_to_float32_as_by_tensorflow():
    schema = ps.Schema({"x": float})
    records = ps.Encoder(schema).encode([{"x": 0.1}, {"x": math.nan}, {"x": -math.inf}, {"x": 16777217.0}])
    column = ps.Decoder(schema).decode(records)["x"]
    np.testing.assert_array_equal(column, np.array([0.1, np.nan, -np.inf, 16777216], np.float32))


LABEL = ps.Schema({"x": int})
FLOAT = ps.Schema({"x": float})
LIST = ps.Schema({"x": ps.Feature("float32", (None,))})

REFUSED = [
    (LABEL, "1", "expected int64, found str"),
    (LABEL, 1.0, "expected int64, found float"),
    (LABEL, np.float32(1), "expected int64, found float32"),
    (LABEL, 1 << 63, "found a value of uint64 that int64 does not hold"),
    (LABEL, 1 << 70, "found an integer of 71 bits, which int64 does not hold"),
    (LABEL, [1], "expected int64 of shape (), found (1,)"),
    (LABEL, None, "found None; optional=True lets it be absent"),
    (ps.Schema({"x": "uint8"}), 256, "found a value of int64 that uint8 does not hold"),
    (ps.Schema({"x": "uint8"}), np.int64(-1), "found a value of int64 that uint8 does not hold"),
    (ps.Schema({"x": "bool"}), 1, "expected bool, found int64"),
    (FLOAT, 1e39, "found 1e+39, which float32 does not hold"),
    (FLOAT, 16777217, "found a value of int64 that float32 does not hold"),
    (FLOAT, np.float64(0.5), 'expected float32, found float64; the option float64="float32" rounds it'),
    (LIST, np.ones(3), "expected float32, found float64"),
    (LIST, [1.0, None], "expected float32, found None"),
    (LIST, [1.0, "a"], "expected float32, found str"),
    (LIST, [[1.0]], "found an item of shape (1,) at depth 1"),
    (LIST, 1.0, "expected float32 of shape (None,), found ()"),
    (LIST, {1.0}, "found set"),
    (ps.Schema({"x": "str"}), b"\xff", "found bytes that is not UTF-8"),
    (ps.Schema({"x": "str"}), "\ud800", "found str that is not UTF-8"),
    (ps.Schema({"x": "bytes"}), 7, "expected bytes, found int"),
    (ps.Schema({"x": ps.Feature("bytes", (2,))}), [b"a"], "expected bytes of shape (2,), found a list of 1"),
    (ps.Schema({"x": ps.Feature("float16")}), np.float32(0.1), "found a value of float32 that float16 does not hold"),
    (ps.Schema({"x": ps.Feature("uint8", (2, 2), encoding="raw")}), b"123", "found 3 raw bytes"),
]


@pytest.mark.parametrize(("schema", "value", "message"), REFUSED)
def test_what_does_not_fit_raises_with_its_location(schema: ps.Schema, value: Any, message: str):
    good = {"x": ps.Decoder(schema).decode(ps.Encoder(schema).encode([]))["x"]}
    assert len(good["x"]) == 0
    fitting = {"int64": 1, "float32": 1.0, "uint8": 1, "bool": True, "str": "a", "bytes": b"a", "float16": 1.0}
    feature = schema["x"]
    one: Any = fitting[feature.dtype]
    for size in reversed(feature.shape):
        one = [one] * (2 if size is None else size)
    with pytest.raises(ps.SchemaError) as caught:
        ps.Encoder(schema).encode([{"x": one}, {"x": one}, {"x": value}])
    assert message in str(caught.value)
    assert 'row 2, feature "x"' in str(caught.value)


def test_columns_that_do_not_fit_raise_with_the_row():
    ragged = ps.Ragged(np.array([1, 2, 300, 4]), [0, 2, 2, 4])
    with pytest.raises(ps.SchemaError, match=r'that uint8 does not hold: row 2, feature "x"'):
        ps.Encoder(ps.Schema({"x": ps.Feature("uint8", (None,))})).encode({"x": ragged})
    with pytest.raises(ps.SchemaError, match=r"expected shape \(2,\), found \(3,\)"):
        ps.Encoder(ps.Schema({"x": ps.Feature("int64", (2,))})).encode({"x": np.zeros((4, 3), int)})
    with pytest.raises(ps.SchemaError, match=r"found None; optional=True lets it be absent: row 1"):
        ps.Encoder(LABEL).encode({"x": ps.Nullable(np.arange(2), [True, False])})
    with pytest.raises(ps.SchemaError, match=r"the schema has no feature 'y'"):
        ps.Encoder(LABEL).encode({"x": np.arange(2), "y": np.arange(2)})
    with pytest.raises(ps.SchemaError, match=r"the data has no column 'x'"):
        ps.Encoder(LABEL).encode({})
        ps.Encoder(ps.Schema({"x": int, "y": int})).encode({"y": np.arange(2)})
    with pytest.raises(ValueError, match="equal length"):
        ps.Encoder(ps.Schema({"x": int, "y": int})).encode({"x": np.arange(2), "y": np.arange(3)})


def test_a_row_that_is_none_and_names_that_are_not_there():
    with pytest.raises(ps.SchemaError, match="a row must be a mapping of names to values, found list: row 1"):
        ps.Encoder(LABEL).encode([{"x": 1}, [1]])  # type: ignore[list-item]
    with pytest.raises(ps.SchemaError, match=r"the schema has no feature 'y'; it has 'x': row 0"):
        ps.Encoder(LABEL).encode([{"x": 1, "y": 2}])


def test_float64_is_rounded_where_that_was_chosen():
    encoder = ps.Encoder(LIST, float64="float32")
    records = encoder.encode([{"x": np.array([0.1])}])
    assert ps.Decoder(LIST).decode(records)["x"].to_list() == [[np.float32(0.1)]]
    with pytest.raises(ps.SchemaError, match="found a value of float64 that float32 does not hold: row 0"):
        encoder.encode([{"x": np.array([1e39])}])
    named = ps.Schema({"x": ps.Feature("float64")})
    assert ps.Decoder(named).decode(ps.Encoder(named).encode({"x": np.array([0.5])}))["x"].tolist() == [0.5]
    with pytest.raises(ps.SchemaError, match="too large for float32, in which it is stored"):
        ps.Encoder(named).encode({"x": np.array([1e39])})


def test_what_lies_in_absent_rows_need_not_fit():
    schema = ps.Schema({"x": ps.Feature("uint8", optional=True)})
    column = ps.Nullable(np.array([1, 1000]), [True, False])
    assert ps.Decoder(schema).decode(ps.Encoder(schema).encode({"x": column}))["x"].to_list() == [1, None]


def test_a_list_that_changes_while_it_is_read_is_no_danger():
    class Meddler:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            items.clear()
            return np.array(1)

    items: list[Any] = [Meddler(), *range(1000)]
    with pytest.raises(IndexError):
        ps.Encoder(ps.Schema({"x": ps.Feature("int64", (None,))})).encode([{"x": items}])


@pytest.mark.parametrize("feature", [ps.Feature("int64"), ps.Feature("int64", key="\udcff")])
def test_a_key_that_is_not_utf8_is_read_and_not_written(feature: ps.Feature):
    schema = ps.Schema({"\udcff": feature})
    record = ps.Encoder(ps.Schema({"x": int})).encode([{"x": 3}])[0].replace(b"\x0a\x01x", b"\x0a\x01\xff")
    assert ps.Decoder(schema).decode([record])["\udcff"].tolist() == [3]
    with pytest.raises(ps.SchemaError, match="keys that are not UTF-8 can be read, but not written"):
        ps.Encoder(schema)


def test_a_column_is_whatever_write_takes_for_one(tmp_path):
    schema = ps.Schema({"x": ps.Feature("int64")})
    for column in (range(3), (0, 1, 2), np.arange(3), np.ma.arange(3), memoryview(np.arange(3)), [0, 1, 2]):
        written = ps.write(tmp_path / "some", {"x": column}, schema=schema, replace=True)
        records = list(ps.RecordReader(tmp_path / written.shards[0].name))
        assert ps.Encoder(schema).encode({"x": column}) == records
    for wrong in (7, "text", iter([0, 1, 2]), {0, 1, 2}):
        for take in (ps.Encoder(schema).encode, lambda data: ps.write(tmp_path / "other", data, schema=schema)):
            with pytest.raises(TypeError, match=f"a column needs rows, found {type(wrong).__name__}: column 'x'"):
                take({"x": wrong})
