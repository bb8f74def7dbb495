"""Where decoded columns lie: aligned, in the memory that was read where they can, and theirs as long as they live."""

from __future__ import annotations

import gc
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import run_python
from schema_examples import example, field, sequence_example

import penstock as ps
from penstock import Batch, Decoder, Feature, Schema

LONG = "a string that is too long for its view, number "


def strings(count: int, start: int = 0) -> list[bytes]:
    return [example(s=f"{LONG}{start + i}", b=[b"%d" % i] * 3, n=start + i) for i in range(count)]


SCHEMA = Schema({"s": Feature("str"), "b": Feature("bytes", (None,)), "n": Feature("int64")})


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("records") / "data.tfrecord"
    with ps.RecordWriter(path) as writer:
        for record in strings(5000):
            writer.write(record)
    return path


def test_long_strings_are_views_of_what_was_read(file: Path):
    for chunk in ps.RecordReader(file).chunks():
        column: Any = Decoder(SCHEMA, columns=["s"]).decode(chunk)["s"]
        assert [np.shares_memory(buffer, chunk.buffer) for buffer in column.buffers] == [True]


def test_strings_next_to_much_else_do_not_keep_it_alive(tmp_path: Path):
    path = tmp_path / "data.tfrecord"
    names = [f"{LONG}{i}" if i % 3 else f"n{i}" for i in range(200)]
    with ps.RecordWriter(path) as writer:
        for i, name in enumerate(names):
            writer.write(example(name=name, tags=[name.encode(), b"short"], picture=bytes(5000), n=i))
    schema = Schema({"name": Feature("str"), "tags": Feature("bytes", (None,)), "picture": Feature("bytes")})
    for batch in Decoder(schema, columns=["name", "tags"]).decode_files([path], 64):
        assert batch["name"].nbytes < 64 * 300
    (whole,) = Decoder(schema).decode_files([path], 300)
    assert whole["name"].to_list() == names
    assert whole["tags"].to_list() == [[name.encode(), b"short"] for name in names]
    assert whole["picture"].nbytes > 200 * 5000


def test_strings_in_their_views_keep_no_buffer_alive(file: Path):
    for batch in Decoder(SCHEMA, columns=["b"]).decode_files([file], 1000):
        assert batch["b"].values.buffers == ()


def test_strings_outlive_the_reader_the_chunks_and_the_decoder(file: Path):
    reader = ps.RecordReader(file)
    decoder = Decoder(SCHEMA)
    columns = [batch["s"] for batch in decoder.decode_batches(reader.chunks(), 700)]
    del reader, decoder
    gc.collect()
    # Whatever is free is taken again, and written over, by other readers and decoders.
    for _ in range(3):
        other = [batch["s"] for batch in Decoder(SCHEMA).decode_batches(ps.RecordReader(file).chunks(), 33)]
    assert [value for column in columns for value in column.to_list()] == [f"{LONG}{i}" for i in range(5000)]
    assert other[-1].to_list()[-1] == f"{LONG}4999"


def test_copies_let_go_of_what_was_read(file: Path):
    (batch, *_) = Decoder(SCHEMA).decode_batches(ps.RecordReader(file).chunks(), 3)
    copy = batch.copy()
    assert copy.to_list() == batch.to_list()
    assert copy["s"].nbytes < 300


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("rows", [1, 5, 64])
def test_arrays_are_aligned_to_64_bytes(threads: int, rows: int):
    schema = Schema(
        {
            "n": Feature("int64"),
            "x": Feature("float32", (3,)),
            "small": Feature("uint8"),
            "raw": Feature("uint16", (5,), encoding="raw"),
            "ragged": Feature("int64", (None,)),
            "maybe": Feature("float32", optional=True),
        }
    )
    record = example(n=1, x=[1.0, 2.0, 3.0], small=2, raw=b"0123456789", ragged=[1, 2, 3], maybe=1.0)
    batch: Any = Decoder(schema, threads=threads).decode([record] * rows)
    arrays = [batch[name] for name in ("n", "x", "small", "raw")]
    arrays += [batch["ragged"].values, batch["ragged"].offsets, batch["maybe"].values, batch["maybe"].valid]
    assert [array.ctypes.data % 64 for array in arrays] == [0] * len(arrays)


def test_dense_columns_are_writable():
    numbers = Decoder(SCHEMA).decode(strings(3))["n"]
    assert isinstance(numbers, np.ndarray)
    numbers += 1
    assert numbers.tolist() == [1, 2, 3]


@pytest.mark.parametrize("threads", [1, 3])
def test_memory_is_used_again_only_when_nobody_looks_at_it(threads: int):
    schema = Schema(
        {"n": Feature("int64", (64,)), "r": Feature("int64", (None,)), "m": Feature("int64", optional=True)}
    )
    decoder = Decoder(schema, threads=threads)

    def decode(value: int) -> Batch:
        return decoder.decode([example(n=[value] * 64, r=[value] * 9, m=value)] * 50)

    # What is kept of each batch is a part: a slice, a row, a mask. The rest of the batch is dropped.
    kept: list[tuple[int, Any]] = []
    for value in range(40):
        batch: Any = decode(value)
        kept.append((value, [batch["n"][7:9, 3], batch["r"][5], batch["r"].values[:3], batch["m"].values][value % 4]))
    for value, part in kept:
        assert set(np.ravel(part).tolist()) == {value}


def test_batches_one_after_another_use_the_same_memory_again():
    code = """
    import resource
    schema = ps.Schema({"x": ps.Feature("float32", (None,)), "y": ps.Feature("float32", (100_000,))})
    floats = lambda n: b"\\x12" + varint(n * 4 + 1 + len(varint(4 * n))) + b"\\x0a" + varint(4 * n) + bytes(4 * n)
    def varint(n):
        out = b""
        while n > 127:
            out += bytes([n & 127 | 128]); n >>= 7
        return out + bytes([n])
    field = lambda number, data: bytes([number << 3 | 2]) + varint(len(data)) + data
    entries = b"".join(field(1, field(1, key) + field(2, floats(100_000))) for key in (b"x", b"y"))
    decoder = ps.Decoder(schema)
    chunk = ps._core.chunk_from_records([field(1, entries)] * 20)
    def most_memory():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(3):
        batch = decoder.decode(chunk)
    before = most_memory()
    for _ in range(50):
        batch = decoder.decode(chunk)
    print(most_memory() - before)
    """
    status, out, err = run_python(code)
    assert status == 0, err
    assert int(out) < 20_000  # KiB; 50 batches hold 800 MB


def test_a_small_record_takes_little_memory():
    """A record that claims much is malformed; one that repeats small things costs a small multiple of itself."""
    crowds = [
        field(1, field(1, field(1, b"a") + field(2, field(3, field(1, b"\1" * 1_000_000))))),
        field(1, field(1, field(1, b"a") + field(2, field(3, b"") * 500_000))),
        field(1, field(1, field(1, b"a") + field(2, b"") * 500_000)),
        field(1, field(1, field(1, b"a") + field(2, field(3, b"")) * 2) * 100_000),
    ]
    code = """
    import pickle, sys
    decoder = ps.Decoder(ps.Schema({"a": ps.Feature("int64", (None,))}), threads=1)
    decoder.decode([b""])
    records = pickle.load(sys.stdin.buffer)
    limit_memory(60_000_000)
    for record in records:
        print(len(decoder.decode([record])["a"][0]))
    """
    status, out, err = run_python(code, input=pickle.dumps(crowds))
    assert (status, out.split()) == (0, [b"1000000", b"0", b"0", b"0"]), err


def test_views_of_values_in_pieces_have_a_buffer_of_their_own():
    # Two values of one entry are one Feature, joined: their strings do not lie in the record as one piece of it.
    first, second = f"{LONG}1".encode(), f"{LONG}2".encode()
    entry = field(1, b"s") + field(2, field(1, field(1, first))) + field(2, field(1, field(1, second)))
    records = [field(1, field(1, entry))] * 3
    schema = Schema({"s": Feature("bytes", (2,)), "short": Feature("bytes", default=b"d")})
    for threads in (1, 3):
        batch = Decoder(schema, threads=threads).decode(records)
        gc.collect()
        assert batch["s"].to_list() == [[first, second]] * 3
    steps = field(2, field(1, field(1, b"s") + field(2, field(1, field(1, field(1, first)))) * 2))
    schema = Schema({}, sequence={"s": Feature("bytes")})
    batch = Decoder(schema).decode([steps, sequence_example({}, {"s": [second]})])
    assert batch["s"].to_list() == [[first, first], [second]]
