"""Dense features: what is absent, unset, empty or of another kind, and what each dtype holds."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from schema_examples import example, feature, field

from penstock import Batch, Decoder, Encoder, Feature, MalformedExampleError, Nullable, Schema

ABSENT = example(other=1)
UNSET = example(a=None)
EMPTY = field(1, field(1, field(1, b"a") + field(2, field(3, b""))))

KINDS: dict[str, Any] = {
    "int64": lambda random: int(random.integers(-(2**63), 2**63)) >> int(random.choice([0, 1, 20, 44, 44, 44, 44, 60])),
    "float32": lambda random: float(np.float32(random.standard_normal())),
}


def decode(wanted: Feature, *records: bytes) -> Any:
    return Decoder(Schema({"a": wanted})).decode(list(records))["a"]


def refuse(wanted: Feature, *records: bytes) -> str:
    with pytest.raises(MalformedExampleError) as caught:
        decode(wanted, *records)
    assert caught.value.feature == "a"
    return str(caught.value)


@pytest.mark.parametrize("record", [ABSENT, UNSET, b""])
def test_a_required_feature_must_be_there(record: bytes):
    message = refuse(Feature("int64"), example(a=1), record)
    assert message == (
        "expected Feature('int64'), found nothing; optional=True or a default lets it be absent: "
        'record 1, feature "a"'
    )


@pytest.mark.parametrize("record", [ABSENT, UNSET, b""])
def test_an_absent_feature_takes_the_default(record: bytes):
    assert decode(Feature("int64", default=9), example(a=1), record).tolist() == [1, 9]
    assert decode(Feature("float32", (2,), default=[1, 2]), record, example(a=[3.0, 4.0])).tolist() == [[1, 2], [3, 4]]
    long = "a default that does not lie in its view"
    assert decode(Feature("str", (2,), default=["", long]), record).to_list() == [["", long]]
    assert decode(Feature("bytes", default=b"short"), record, example(a=b"there")).to_list() == [b"short", b"there"]


@pytest.mark.parametrize("record", [ABSENT, UNSET, b""])
@pytest.mark.parametrize("shape", [(), (2,), (None,), (None, 2)])
def test_an_absent_optional_feature_is_none(record: bytes, shape: tuple[int | None, ...]):
    values = 5 if shape == () else [5, 6]
    column = decode(Feature("int64", shape, optional=True), record, example(a=values))
    assert isinstance(column, Nullable)
    assert column.valid.tolist() == [False, True]
    assert column.to_list()[0] is None
    assert np.ravel(column.to_list()[1]).tolist() == np.ravel(values).tolist()


def test_an_empty_list_is_there_and_has_no_values():
    for lenient in (Feature("int64"), Feature("int64", default=1), Feature("int64", optional=True)):
        assert refuse(lenient, EMPTY).startswith("expected 1 values, found 0")
    assert decode(Feature("int64", (None,), optional=True), EMPTY).to_list() == [[]]


@pytest.mark.parametrize("shape", [(0,), (2, 0)])
@pytest.mark.parametrize("dtype", ["int64", "float32", "bytes", "bool"])
def test_a_shape_without_values_takes_an_empty_list_alone(dtype: str, shape: tuple[int, ...]):
    kind = {"int64": 3, "bool": 3, "float32": 2, "bytes": 1}[dtype]
    empty = field(1, field(1, field(1, b"a") + field(2, field(kind, b""))))
    column = decode(Feature(dtype, shape), empty, empty, empty)
    assert len(column) == 3
    value = {"int64": 1, "bool": 1, "float32": 1.0, "bytes": b"x"}[dtype]
    assert refuse(Feature(dtype, shape), example(a=value)).startswith("expected 0 values, found 1")


@pytest.mark.parametrize(
    ("dtype", "value", "found"),
    [
        ("int64", 1.5, "expected int64, found float"),
        ("int64", b"x", "expected int64, found bytes"),
        ("float32", 1, "expected float, found int64"),
        ("bytes", 1, "expected bytes, found int64"),
        ("str", 1.0, "expected bytes, found float"),
        ("bool", b"", "expected int64, found bytes"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"optional": True}, {"shape": (None,)}, {"shape": (2,)}])
def test_another_kind_raises(dtype: str, value: Any, found: str, options: dict[str, Any]):
    assert refuse(Feature(dtype, **options), example(a=value)).startswith(found)


@pytest.mark.parametrize("value", [1, 1.0, b"x"])
@pytest.mark.parametrize("count", [0, 1, 3, 5, 300, 1000])
def test_another_count_raises(value: Any, count: int):
    dtype = {int: "int64", float: "float32", bytes: "bytes"}[type(value)]
    kind = {int: 3, float: 2, bytes: 1}[type(value)]
    record = example(a=[value] * count) if count else field(1, field(1, field(1, b"a") + field(2, field(kind, b""))))
    assert refuse(Feature(dtype, (2, 2)), record) == f'expected 4 values, found {count}: record 0, feature "a"'


LIMITS = {name: np.iinfo(name) for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")}


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("shape", [(), (3,), (None,)])
def test_integers_keep_their_range(dtype: str, shape: tuple[int | None, ...]):
    low, high = int(LIMITS[dtype].min), int(LIMITS[dtype].max)
    wanted = Feature(dtype, shape)
    rows = [[low], [high], [0]] if shape == () else [[low, 0, high]]
    column = decode(wanted, *(example(a=row) for row in rows))
    values = column.values if shape == (None,) else column
    assert values.dtype == dtype
    assert np.ravel(values).tolist() == list(itertools.chain(*rows))
    if dtype == "int64":
        return
    for beyond in (low - 1, high + 1, 2**63 - 1, -(2**63)):
        assert refuse(wanted, example(a=[beyond] * (1 if shape == () else 3))).startswith(
            f"found an integer that {dtype} does not hold"
        )


def test_booleans_are_zero_and_one():
    column = decode(Feature("bool", (2,)), example(a=[0, 1]))
    assert column.dtype == np.bool_
    assert column.tolist() == [[False, True]]
    for other in (2, -1, 256):
        assert "bool does not hold" in refuse(Feature("bool"), example(a=other))


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=20))
def test_floats_keep_their_bits(bits: list[int]):
    words = np.array(bits, np.uint32).tobytes()
    record = field(1, field(1, field(1, b"a") + field(2, field(2, field(1, words)))))
    assert decode(Feature("float32", (len(bits),)), record).tobytes() == words
    assert decode(Feature("float32", (None,)), record).values.tobytes() == words


@pytest.mark.parametrize(("dtype", "stored"), [("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16)])
def test_every_narrow_float_is_read_exactly(dtype: str, stored: Any):
    every = np.arange(65536, dtype=np.uint16).view(stored)
    words = every.astype(np.float32).tobytes()
    record = field(1, field(1, field(1, b"a") + field(2, field(2, field(1, words)))))
    column = decode(Feature(dtype, (65536,)), record)[0]
    assert column.dtype == np.dtype(stored)
    numbers = ~np.isnan(every.astype(np.float32))
    assert column[numbers].tobytes() == every[numbers].tobytes()
    assert np.isnan(column[~numbers].astype(np.float32)).all()


@pytest.mark.parametrize(("dtype", "stored"), [("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16)])
def test_every_narrow_float_comes_back_with_all_its_bits(dtype: str, stored: Any):
    every = np.arange(65536, dtype=np.uint16).view(stored)
    schema = Schema({"a": Feature(dtype)})
    column = Decoder(schema).decode(Encoder(schema).encode({"a": every}))["a"]
    assert column.tobytes() == every.tobytes()


@pytest.mark.parametrize(
    ("dtype", "values"),
    [("float16", [1e-8, 65520.0, 1e30, 1 + 2**-11, 2**-24 * 1.5]), ("bfloat16", [1 + 2**-8, 1.1, 3.3e38])],
)
def test_a_float_that_does_not_fit_raises(dtype: str, values: list[float]):
    for value in values:
        for shape in ((), (None,)):
            message = refuse(Feature(dtype, shape), example(a=float(np.float32(value))))
            assert message.startswith(f"found a float that {dtype} does not hold exactly")


def test_float64_is_the_float32_that_is_stored():
    column = decode(Feature("float64", (2,)), example(a=[0.1, 1.5]))
    assert column.dtype == np.float64
    assert column.tolist() == [[float(np.float32(0.1)), 1.5]]


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint64", "float16", "float32", "float64", "bfloat16"])
def test_raw_bytes_are_the_array(dtype: str):
    stored = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    rows = np.arange(12).astype(stored).reshape(2, 2, 3)
    records = [example(a=row.tobytes()) for row in rows]
    column = decode(Feature(dtype, (2, 3), encoding="raw"), *records)
    assert column.dtype == rows.dtype
    assert column.tobytes() == rows.tobytes()
    flat = decode(Feature(dtype, (None, 3), encoding="raw"), records[0], example(a=b""), records[1])
    assert flat.lengths.tolist() == [2, 0, 2]
    assert flat.values.tobytes() == rows.tobytes()


def test_raw_booleans_are_one_where_a_byte_is_not_zero():
    column = decode(Feature("bool", (4,), encoding="raw"), example(a=b"\x00\x01\x02\xff"))
    assert column.view(np.uint8).tolist() == [[0, 1, 1, 1]]


def test_raw_bytes_of_another_size_raise():
    assert refuse(Feature("int16", (2,), encoding="raw"), example(a=b"12345")).startswith(
        "expected 4 raw bytes, found 5"
    )
    assert refuse(Feature("int16", (None, 2), encoding="raw"), example(a=b"12345")).startswith(
        "expected 4 raw bytes, found 5"
    )
    for values, count in (([b"1234", b"1234"], 2), ([], 0)):
        record = field(1, field(1, field(1, b"a") + field(2, field(1, b"".join(field(1, v) for v in values)))))
        for shape in ((2,), (None,)):
            message = refuse(Feature("int16", shape, encoding="raw"), record)
            assert message.startswith(f"expected 1 values, found {count}")


def test_any_order_of_keys_decodes():
    names = ["a", "id", "label", "a much longer name", "b"]
    schema = Schema({name: Feature("int64", (None,)) for name in names})
    orders = list(itertools.permutations(names))
    records = [example(**{name: [i, names.index(name)] for name in order}) for i, order in enumerate(orders)]
    batch: Batch = Decoder(schema).decode(records)
    for position, name in enumerate(names):
        assert batch[name].to_list() == [[i, position] for i in range(len(orders))]


def test_scalars_decode_next_to_records_of_the_same_form_or_another():
    keys = ["a", "b", "a key of twelve bytes more", "a key that is longer than the others, by far"]
    schema = Schema({f"{kind}{i}": Feature(kind, key=kind + key) for i, key in enumerate(keys) for kind in KINDS})
    random = np.random.default_rng(1)
    records, expected = [], []
    for number in range(600):
        row = {name: KINDS[f.dtype](random) for name, f in schema.items()}
        names = list(random.permutation(list(row))) if number % 100 > 90 else list(row)
        entries = [field(1, field(1, schema[n].key.encode()) + field(2, feature(row[n]))) for n in names]
        if number % 7 == 0:  # a key comes again, and its last value counts
            name = names[int(random.integers(len(names)))]
            row[name] = KINDS[schema[name].dtype](random)
            entries.append(field(1, field(1, schema[name].key.encode()) + field(2, feature(row[name]))))
        records.append(field(1, b"".join(entries)))
        expected.append(row)
    assert Decoder(schema).decode(records).to_list() == expected


def test_keys_are_distinguished_by_every_byte():
    keys = ["", "a", "b", "ab", "ba", "abc", "abcd", "abce", "abcdefgh", "abcdefgi", "abcdefghi", "abcdefghj", "\0"]
    schema = Schema({f"f{i}": Feature("int64", key=key) for i, key in enumerate(keys)})
    for shift in range(len(keys)):
        turned = keys[shift:] + keys[:shift]
        batch = Decoder(schema).decode([example(**{key: keys.index(key) for key in turned})])
        assert [int(batch[name][0]) for name in schema] == list(range(len(keys)))


def test_a_key_that_is_not_text_is_skipped():
    entry = field(1, field(1, b"\xff\xfe") + field(2, feature(5)))
    assert decode(Feature("int64"), field(1, entry) + example(a=7)).tolist() == [7]
