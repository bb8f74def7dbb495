"""How a decoder is called: batches, threads, a choice of features, errors that say where, pickles and forks."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from schema_examples import example, example_list, field, sequence_example

import penstock as ps
from penstock import Decoder, Feature, MalformedExampleError, Schema
from penstock.errors import SchemaError

SCHEMA = Schema(
    {
        "id": Feature("int64"),
        "score": Feature("float32", (2,), default=[0, 0]),
        "tags": Feature("str", (None,)),
        "maybe": Feature("bytes", optional=True),
    }
)


def row(i: int) -> dict[str, Any]:
    tags = [f"tag number {j} of record {i}" for j in range(i % 4)]
    others = {"maybe": b"x" * (i % 20), "score": [i / 2, 1.0]} if i % 3 else {}
    return {"id": i} | ({"tags": tags} if tags else {}) | others


RECORDS = [example(**row(i)) for i in range(101)]


def expected(i: int) -> dict[str, Any]:
    return {"score": [0.0, 0.0], "tags": [], "maybe": None} | row(i)


EXPECTED = [expected(i) for i in range(101)]


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 101])
def test_threads_make_no_difference(threads: int, count: int):
    batch = Decoder(SCHEMA, threads=threads).decode(RECORDS[:count])
    assert batch.num_rows == count
    assert batch.to_list() == EXPECTED[:count]


def test_an_empty_batch_has_columns_of_the_right_kind():
    batch = Decoder(SCHEMA).decode([])
    assert batch["score"].shape == (0, 2)
    assert batch["score"].dtype == np.float32
    assert batch["tags"].to_list() == batch["maybe"].to_list() == []


@pytest.mark.parametrize("threads", [1, 4])
def test_the_first_record_that_does_not_fit_is_named_whatever_the_threads(threads: int):
    records = [*RECORDS[:40], example(tags=["no id"]), *RECORDS[40:60], b"\xff", example(id=b"")]
    with pytest.raises(MalformedExampleError) as caught:
        Decoder(SCHEMA, threads=threads).decode(records)
    assert (caught.value.record, caught.value.feature) == (40, "id")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data.tfrecord"
    with ps.RecordWriter(path) as writer:
        for record in RECORDS:
            writer.write(record)
    return path


@pytest.mark.parametrize("size", [1, 7, 50, 100, 101, 102, 1000])
def test_batches_have_the_size_that_was_asked_for(file: Path, size: int):
    batches = list(Decoder(SCHEMA).decode_batches(ps.RecordReader(file).chunks(), size))
    assert [batch.num_rows for batch in batches] == [size] * (101 // size) + ([101 % size] if 101 % size else [])
    assert [row for batch in batches for row in batch.to_list()] == EXPECTED


def test_batches_reach_over_the_borders_of_chunks():
    chunks = [ps._core.chunk_from_records(RECORDS[i : i + 3]) for i in range(0, 101, 3)]
    batches = list(Decoder(SCHEMA).decode_batches(chunks, 10))
    assert [row for batch in batches for row in batch.to_list()] == EXPECTED


def test_rows_before_a_bad_record_are_delivered():
    chunk = ps._core.chunk_from_records([*RECORDS[:25], b"\xff", *RECORDS[25:]])
    batches = Decoder(SCHEMA).decode_batches([chunk], 10)
    assert [next(batches).num_rows for _ in range(3)] == [10, 10, 5]
    with pytest.raises(MalformedExampleError) as caught:
        next(batches)
    assert caught.value.record == 25


def test_rows_before_damage_in_the_file_are_delivered(file: Path, tmp_path: Path):
    data = bytearray(file.read_bytes())
    data[-1] ^= 1  # the checksum of the last record
    damaged = tmp_path / "damaged.tfrecord"
    damaged.write_bytes(data)
    ids: list[int] = []
    with pytest.raises(ps.ChecksumError):
        for batch in Decoder(SCHEMA).decode_batches(ps.RecordReader(damaged).chunks(), 7):
            ids += batch["id"].tolist()
    assert ids == list(range(100))


def test_batches_may_be_left_unread(file: Path):
    batches = Decoder(SCHEMA).decode_batches(ps.RecordReader(file).chunks(), 5)
    assert next(batches).num_rows == 5
    batches.close()


@pytest.mark.parametrize("size", [0, -1])
def test_a_batch_has_at_least_one_row(size: int):
    with pytest.raises(ValueError, match=f"at least 1, found {size}"):
        next(Decoder(SCHEMA).decode_batches([], size))


def test_columns_too_large_for_any_memory_raise():
    # So large that the bytes of all rows would not even be counted by 64 bits.
    wide = Decoder(Schema({"a": Feature("int64", (1 << 48,), optional=True)}))
    with pytest.raises(MalformedExampleError, match="a row without a value takes"):
        wide.decode([example()] * (1 << 13))


def test_an_error_names_file_record_and_feature(file: Path):
    wrong = Schema({"id": Feature("float32")})
    with pytest.raises(MalformedExampleError) as caught:
        list(Decoder(wrong).decode_batches(ps.RecordReader(file).chunks(), 10))
    error = caught.value
    assert str(error) == f'expected float, found int64: {file}, record 0, feature "id"'
    assert (error.path, error.record, error.feature) == (str(file), 0, "id")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.path, copy.record, copy.feature) == (str(error), error.path, 0, "id")


def test_an_error_counts_records_from_the_start_of_the_file(file: Path):
    (chunk,) = ps.RecordReader(file).chunks()
    with pytest.raises(MalformedExampleError, match="record 12"):
        Decoder(Schema({"missing": Feature("int64")})).decode([chunk[12:20], chunk[3:5]])


def test_an_error_never_shows_what_is_in_a_record():
    secret = b"the secret" * 3
    for record in (example(id=secret), example(id=secret)[:-3], field(9, secret) + b"\x07"):
        with pytest.raises(MalformedExampleError) as caught:
            Decoder(SCHEMA).decode([record])
        assert "secret" not in str(caught.value)


# A choice of features

MALFORMED_TAGS = field(1, field(1, field(1, b"tags") + field(2, b"\x0a\xff"))) + example(id=5)


def test_only_the_features_that_were_asked_for_are_decoded():
    decoder = Decoder(SCHEMA, columns=["tags", "id"])
    assert decoder.decode(RECORDS).column_names == ["tags", "id"]
    assert list(decoder.schema) == ["tags", "id"]
    assert Decoder(SCHEMA, columns=[]).decode(RECORDS).num_rows == 101


def test_an_unknown_feature_raises_by_name():
    with pytest.raises(SchemaError, match="no feature 'labels'; it has 'id', 'score', 'tags', 'maybe'"):
        Decoder(SCHEMA, columns=["labels"])


def test_features_that_were_not_asked_for_are_checked_where_all_are():
    assert Decoder(SCHEMA, columns=["id"]).decode([MALFORMED_TAGS])["id"].tolist() == [5]
    for decoder in (Decoder(SCHEMA, columns=["id"], validate="all"), Decoder(SCHEMA, columns=["tags"])):
        with pytest.raises(MalformedExampleError):
            decoder.decode([MALFORMED_TAGS])


def test_steps_that_were_not_asked_for_are_checked_where_all_are():
    schema = Schema({"id": Feature("int64")}, sequence={"steps": Feature("int64")})
    good = sequence_example({"id": 1}, {"steps": [1], "other": [b"x", 2.0, None]})
    bad = good + field(2, field(1, field(1, b"other") + field(2, field(1, b"\x12\x03\x0a\x01x"))))
    for validate in ("requested", "all"):
        decoder = Decoder(schema, columns=["id"], validate=validate)
        assert decoder.decode([good])["id"].tolist() == [1]
    assert Decoder(schema, columns=["id"]).decode([bad])["id"].tolist() == [1]
    with pytest.raises(MalformedExampleError, match="expected a SequenceExample, found malformed bytes"):
        decoder.decode([bad])


@pytest.mark.parametrize("other", [example_list([example(id=1)]), field(3, b"x"), field(1, field(1, field(1, b"id")))])
def test_another_message_is_an_example_without_features_unless_strict(other: bytes):
    schema = Schema({"id": Feature("int64", optional=True)})
    payloads = [example(id=1), b"", example(), example(id=None), other]
    assert Decoder(schema).decode(payloads)["id"].to_list() == [1, None, None, None, None]
    strict = pickle.loads(pickle.dumps(Decoder(schema, strict=True)))
    assert strict.decode(payloads[:-1])["id"].to_list() == [1, None, None, None]
    with pytest.raises(MalformedExampleError, match="expected an Example, found another message") as caught:
        strict.decode(payloads)
    assert caught.value.record == 4


def test_an_entry_that_a_later_one_replaces_is_checked():
    with pytest.raises(MalformedExampleError):
        Decoder(SCHEMA).decode([MALFORMED_TAGS + example(tags=["good"])])


@pytest.mark.parametrize("validate", ["none", "", None])
def test_there_are_two_ways_to_validate(validate: Any):
    with pytest.raises(ValueError, match="'requested' or 'all'"):
        Decoder(SCHEMA, validate=validate)


# Processes and threads


def test_a_decoder_pickles():
    decoder = pickle.loads(pickle.dumps(Decoder(SCHEMA, columns=["id"], validate="all", threads=2)))
    assert decoder.decode(RECORDS).to_list() == [{"id": i} for i in range(101)]
    with pytest.raises(MalformedExampleError):
        decoder.decode([MALFORMED_TAGS])


def test_threads_share_a_decoder():
    decoder = Decoder(SCHEMA, threads=2)
    with ThreadPoolExecutor(4) as pool:
        for batch in pool.map(lambda _: decoder.decode(RECORDS), range(40)):
            assert batch.to_list() == EXPECTED


def _decode_in_child(decoder: Decoder, results: Any) -> None:
    results.send(decoder.decode(RECORDS).to_list())


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_decoder_works_in_a_forked_child():
    decoder = Decoder(SCHEMA, threads=4)
    assert decoder.decode(RECORDS).to_list() == EXPECTED  # its threads are there, and will not be in the child
    context = multiprocessing.get_context("fork")
    results, end = context.Pipe()
    child = context.Process(target=_decode_in_child, args=(decoder, end))
    child.start()
    assert results.poll(30)
    assert results.recv() == EXPECTED
    child.join()
    assert child.exitcode == 0


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int32", "float64"])
def test_arrays_are_of_the_types_that_numpy_calls_by_that_name(dtype):
    """Not of another one of the same size, which is printed and compared by type as a stranger."""
    schema = Schema({"one": Feature(dtype, encoding="raw"), "many": Feature(dtype, (None,), encoding="raw")})
    records = ps.Encoder(schema).encode({"one": np.ones(1, dtype), "many": np.ones((1, 2), dtype)})
    batch: Any = Decoder(schema).decode(records)
    for array in (batch["one"], batch["many"].values):
        assert type(array[0]) is np.dtype(dtype).type


def test_one_record_is_a_list_of_one():
    with pytest.raises(TypeError, match=r"expected a list of records, found one: write \[record\]"):
        ps.Decoder(ps.Schema({"x": ps.Feature("int64")})).decode(b"a record")


@pytest.mark.parametrize("use", [lambda b: b["tags"], lambda b: b.column_names, lambda b: "id" in b, lambda b: b | {}])
def test_a_batch_is_the_same_whichever_column_is_used_first(use: Any):
    batch = Decoder(SCHEMA).decode(RECORDS)
    use(batch)
    assert batch.column_names == list(batch.keys()) == list(SCHEMA)
    assert batch.to_list() == EXPECTED


def test_a_column_is_one_object_however_often_it_is_used():
    batch = Decoder(SCHEMA).decode(RECORDS)
    first = batch["id"]
    first[0] = 5
    assert batch["id"] is first
    assert dict(batch)["id"] is first
    assert batch["id"] is first
    with pytest.raises(KeyError, match="no column 'ids': the batch has id, score"):
        batch["ids"]


def test_a_batch_pickles_before_its_columns_were_used():
    batch = pickle.loads(pickle.dumps(Decoder(SCHEMA).decode(RECORDS)))
    assert batch.to_list() == EXPECTED


def test_a_column_keeps_only_its_own_memory():
    schema = Schema({"small": Feature("int64"), "large": Feature("float32", (1000,))})
    records = list(ps.Encoder(schema).encode({"small": np.arange(1000), "large": np.ones((1000, 1000), np.float32)}))
    small = [Decoder(schema).decode(records)["small"] for _ in range(2)]
    assert all(column.base is not None for column in small)
    assert [column.sum() for column in small] == [499500, 499500]
