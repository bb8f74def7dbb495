"""Files to batches: what comes out does not depend on blocks, threads or the sizes of batches."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import framing
import numpy as np
import pytest
from png_files import png
from processes import run_python
from schema_examples import example, field, sequence_example

import penstock as ps
from penstock import Decoder, Feature, Schema

TEXT = "a text that is too long for its view, number "

FLAT = Schema(
    {
        "n": Feature("int64"),
        "x": Feature("float32", (3,)),
        "raw": Feature("uint8", (5,), encoding="raw"),
        "text": Feature("str"),
        "tags": Feature("bytes", (None,)),
        "tokens": Feature("int64", (None,)),
        "maybe": Feature("int32", optional=True),
        "known": Feature("str", default="a default that is too long for its view"),
    }
)
SEQUENCE = Schema(
    {"n": Feature("int64"), "tags": Feature("str", (None,))},
    sequence={"steps": Feature("float32", (2,)), "words": Feature("str", (None,))},
)


def flat_record(rng: random.Random, n: int) -> bytes:
    values: dict[str, Any] = {
        "n": n,
        "x": [float(n), 0.5, -1.0],
        "raw": bytes(rng.randrange(256) for _ in range(5)),
        "text": f"{TEXT}{n}" if rng.random() < 0.5 else str(n),
        "tags": [b"t" * rng.randrange(40) for _ in range(rng.randrange(4))] or [b""],
        "tokens": [rng.randrange(1 << rng.choice([6, 13, 40])) for _ in range(rng.choice([0, 1, 30, 300]))],
    }
    if rng.random() < 0.5:
        values["maybe"] = n % 1000
    if rng.random() < 0.5:
        values["known"] = f"{TEXT}{n}"
    record = example(**values)
    if rng.random() < 0.1:
        # A value in two pieces: its strings lie in a buffer of their own.
        entry = field(1, b"tags") + field(2, field(1, field(1, b"p" * 20))) + field(2, field(1, field(1, b"q" * 20)))
        record += field(1, field(1, entry))
    return record


def sequence_record(rng: random.Random, n: int) -> bytes:
    steps = rng.randrange(5)
    return sequence_example(
        {"n": n, "tags": [f"{TEXT}{i}" for i in range(rng.randrange(3))] or [""]},
        {
            "steps": [[float(n), float(i)] for i in range(steps)],
            "words": [["w" * rng.randrange(30)] * rng.randrange(1, 4) for _ in range(steps)],
        },
    )


def write_files(folder: Path, records: Sequence[bytes], shares: Sequence[int]) -> list[Path]:
    paths = []
    for share in shares:
        paths.append(folder / f"{len(paths)}.tfrecord")
        paths[-1].write_bytes(framing.frames(records[:share]))
        records = records[share:]
    return paths


def open_files(decoder: Decoder, paths: Sequence[Path], size: int, **options: Any) -> Any:
    return decoder._open_files([str(path) for path in paths], size, **options)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """1000 records in four files, one of which is empty."""
    return write_files(tmp_path_factory.mktemp("numbers"), [example(n=i) for i in range(1000)], [300, 0, 1, 699])


NUMBERS = Schema({"n": Feature("int64")})


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    ("schema", "make"), [(FLAT, flat_record), (SEQUENCE, sequence_record)], ids=["flat", "sequence"]
)
def test_batches_are_those_of_the_records_decoded_together(tmp_path: Path, schema: Schema, make: Any, seed: int):
    rng = random.Random(seed)
    records = [make(rng, n) for n in range(rng.choice([1, 40, 400]))]
    cut = rng.randrange(len(records) + 1)
    paths = write_files(tmp_path, records, [cut, 0, len(records) - cut])
    size = rng.choice([1, 7, 64, 1000])
    decoder = Decoder(schema, threads=rng.choice([1, 2, 4]))
    # Twice with one decoder: what it learned from the first iteration changes where ragged values go.
    for block_bytes in (rng.choice([64, 500, 3000]), 1 << 18):
        batches = list(open_files(decoder, paths, size, block_bytes=block_bytes))
        assert [batch.num_rows for batch in batches] == [
            len(records[i : i + size]) for i in range(0, len(records), size)
        ]
        rows = [row for batch in batches for row in batch.to_list()]
        np.testing.assert_equal(rows, decoder.decode(records).to_list())


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("size", [1, 16, 50])
def test_rows_of_one_size_are_no_promise(tmp_path: Path, size: int, threads: int):
    rng = random.Random(size)
    # Long runs of one size, a change within a batch, sizes that only add up to the same, and no steps at all.
    lengths = [3] * 200 + [4] + [3] * 99 + [2, 4] * 60 + [5] * 150 + [0] * 70 + [rng.randrange(6) for _ in range(60)]
    records = [
        sequence_example(
            {"n": n, "tags": [f"{TEXT}{i}" for i in range(length)] or [""]},
            {"steps": [[float(n), float(i)] for i in range(length)], "words": [[f"{TEXT}{n}"] * 2] * length},
        )
        for n, length in enumerate(lengths)
    ]
    decoder = Decoder(SEQUENCE, threads=threads)
    rows = [
        row
        for batch in open_files(decoder, write_files(tmp_path, records, [len(records)]), size, block_bytes=2000)
        for row in batch.to_list()
    ]
    np.testing.assert_equal(rows, Decoder(SEQUENCE).decode(records).to_list())
    assert [len(row["steps"]) for row in rows] == lengths


def test_paths_may_be_of_any_kind(numbers: list[Path]):
    expected = list(range(1000))
    for paths in (numbers, [str(path) for path in numbers], [f"file://{path}" for path in numbers]):
        batches = Decoder(NUMBERS).decode_files(paths, 64)
        assert [n for batch in batches for n in batch["n"].tolist()] == expected


@pytest.mark.parametrize("paths", [[], ["empty"]])
def test_no_records_are_no_batches(tmp_path: Path, paths: list[str]):
    (tmp_path / "empty").touch()
    assert list(Decoder(NUMBERS).decode_files([tmp_path / path for path in paths], 5)) == []


def test_a_batch_may_be_larger_than_memory_as_long_as_the_rows_are_few(numbers: list[Path]):
    (batch,) = Decoder(NUMBERS).decode_files(numbers, 1 << 60)
    assert batch["n"].tolist() == list(range(1000))


def test_memory_of_columns_may_come_from_the_caller(numbers: list[Path]):
    shapes = []

    def allocate(name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        shapes.append((name, shape))
        return np.full(shape, -1, dtype)

    batches = list(Decoder(NUMBERS).decode_files(numbers, 600, allocate=allocate))
    assert [n for batch in batches for n in batch["n"].tolist()] == list(range(1000))
    assert shapes == [("n", (600,)), ("n", (400,))]


# Where to start and to end


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("rows", [0, 1, 299, 300, 301, 1000, 2000])
def test_reading_ends_after_the_requested_rows(numbers: list[Path], rows: int, threads: int):
    batches = open_files(Decoder(NUMBERS, threads=threads), numbers, 100, rows=rows, block_bytes=1000)
    assert [n for batch in batches for n in batch["n"].tolist()] == list(range(min(rows, 1000)))


def test_a_second_iterator_continues_where_the_first_stopped(numbers: list[Path]):
    decoder = Decoder(NUMBERS)
    first = open_files(decoder, numbers, 70, block_bytes=200)
    assert first.position == (0, 0, 0)
    seen: list[int] = []
    for batch in first:
        seen += batch["n"].tolist()
        rest = open_files(decoder, numbers, 1000, start=first.position)
        assert seen + [n for other in rest for n in other["n"].tolist()] == list(range(1000))
    assert first.position == (3, numbers[3].stat().st_size, 699)


# Damage


def until_error(batches: Iterator[Any]) -> tuple[list[int], Exception | None]:
    seen: list[int] = []
    try:
        for batch in batches:
            seen += batch["n"].tolist()
    except (ps.PenstockError, OSError) as error:
        return seen, error
    return seen, None


@pytest.mark.parametrize("threads", [1, 3])
def test_every_flipped_byte_ends_the_rows_where_the_reader_ends_them(tmp_path: Path, threads: int):
    good, data = [example(n=i) for i in range(4)], framing.frames([example(n=i) for i in range(4, 12)])
    before = tmp_path / "before"
    before.write_bytes(framing.frames(good))
    path = tmp_path / "flipped"
    decoder = Decoder(NUMBERS, threads=threads)
    for position in range(len(data)):
        path.write_bytes(framing.flip(data, position, 1 << position % 8))
        reader = decoder.decode_batches(ps.RecordReader(path, compression="").chunks(), 3)
        expected, damage = until_error(reader)
        batches = open_files(decoder, [before, path, before], 3, block_bytes=70)
        seen, error = until_error(batches)
        assert seen == [0, 1, 2, 3, *expected]
        assert (type(error), str(error)) == (type(damage), str(damage))
        assert batches.position[:2] == (1, error.offset) if len(expected) else batches.position[2] == 4  # type: ignore[union-attr]
        assert list(batches) == []


def test_every_cut_gives_the_rows_before_it(tmp_path: Path):
    records = [example(n=i) for i in range(5)]
    data = framing.frames(records)
    path = tmp_path / "cut"
    for size in range(len(data)):
        path.write_bytes(data[:size])
        seen, error = until_error(open_files(Decoder(NUMBERS), [path], 2, block_bytes=64))
        whole = size // (len(data) // 5)
        assert seen == list(range(whole))
        assert isinstance(error, ps.TruncatedError) == bool(size % (len(data) // 5))


def test_a_record_that_does_not_decode_is_named_after_the_rows_before_it(tmp_path: Path):
    records = [example(n=i) for i in range(100)]
    records[77] = records[79] = example(n=b"no number")
    paths = write_files(tmp_path, records, [50, 50])
    batches = open_files(Decoder(NUMBERS), paths, 10, block_bytes=100)
    seen, error = until_error(batches)
    assert seen == list(range(77))
    assert isinstance(error, ps.MalformedExampleError)
    assert (error.path, error.record, error.feature) == (str(paths[1]), 27, "n")
    assert batches.position == (1, 27 * len(framing.frames(records[:1])), 27)
    assert list(batches) == []


@pytest.mark.parametrize("numbers", [{9}, {3, 7}, {0, 5}])
@pytest.mark.parametrize("images", [{4, 9}, {7}, {0}])
def test_of_several_records_that_do_not_decode_the_first_is_named(tmp_path: Path, numbers: set[int], images: set[int]):
    # A number is found to be wrong natively, before any image of the batch is decoded.
    gray = png(1, 1, b"\x07")
    records = [
        example(n=b"no number" if i in numbers else i, image=b"no image" if i in images else gray) for i in range(10)
    ]
    decoder = Decoder(Schema({"n": Feature("int64"), "image": Feature("uint8", (1, 1, 1), encoding="png")}))
    (path,) = write_files(tmp_path, records, [10])
    first = min(numbers | images)
    for batches in (open_files(decoder, [path], 10), decoder.decode_batches(ps.RecordReader(path).chunks(), 10)):
        seen, error = until_error(batches)
        assert (seen, getattr(error, "record", None)) == (list(range(first)), first)


def test_damage_before_a_record_that_does_not_decode_comes_first(tmp_path: Path):
    records = [example(n=i) for i in range(10)] + [example(n=b"no number")]
    data = framing.frames(records)
    path = tmp_path / "both"
    path.write_bytes(framing.flip(data, 8 * (len(framing.frames(records[:1]))) + 13, 1))
    seen, error = until_error(open_files(Decoder(NUMBERS), [path], 100, block_bytes=64))
    assert (seen, type(error)) == (list(range(8)), ps.ChecksumError)


def test_unverified_payloads_are_not_checked(tmp_path: Path):
    path = tmp_path / "flipped"
    data = framing.frames([example(n=1)])
    path.write_bytes(framing.flip(data, len(data) - 1, 1))
    (batch,) = Decoder(NUMBERS).decode_files([path], 5, verify=False)
    assert batch["n"].tolist() == [1]


def test_the_limit_on_records_holds(tmp_path: Path):
    (path,) = write_files(tmp_path, [example(n=1)], [1])
    with pytest.raises(ps.RecordTooLargeError):
        list(Decoder(NUMBERS).decode_files([path], 5, max_record_bytes=3))


def test_a_missing_file_raises_after_the_rows_of_those_before(numbers: list[Path], tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="missing"):
        Decoder(NUMBERS).decode_files([tmp_path / "missing"], 5)
    seen, error = until_error(open_files(Decoder(NUMBERS), [numbers[0], tmp_path / "missing"], 7))
    assert seen == list(range(300))
    assert isinstance(error, FileNotFoundError)
    assert error.filename == str(tmp_path / "missing")


def test_a_compressed_file_is_recognized_by_its_name(tmp_path: Path):
    path = tmp_path / "packed.gz"
    with ps.RecordWriter(path) as writer:
        writer.write(example(n=1))
    with pytest.raises(ValueError, match=r"is GZIP data: use decode_batches"):
        list(Decoder(NUMBERS).decode_files([path], 5))


def test_what_is_no_local_file_raises():
    with pytest.raises(ValueError, match="reads local uncompressed files"):
        Decoder(NUMBERS).decode_files(["-"], 5)


# Threads, processes, memory


def test_a_consumer_may_leave_early(numbers: list[Path]):
    for _ in range(20):
        batches = open_files(Decoder(NUMBERS, threads=4), numbers, 3, block_bytes=100)
        assert next(batches)["n"].tolist() == [0, 1, 2]
        batches.close()
        assert list(batches) == []


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
def test_a_child_leaves_the_batches_of_its_parent_and_starts_its_own(numbers: list[Path]):
    code = """
        decoder = ps.Decoder(ps.Schema({"n": ps.Feature("int64")}), threads=2)
        batches = decoder.decode_files(sys.argv[1:], 10)
        next(batches)
        child = os.fork()
        if child == 0:
            try:
                next(batches)
            except RuntimeError as error:
                assert "cannot cross a fork" in str(error)
                sys.exit(0 if len(list(decoder.decode_files(sys.argv[1:], 10))) == 100 else 1)
            sys.exit(2)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), sum(1 for _ in batches))
    """
    assert run_python(code, *numbers) == (0, b"0 99\n", "")


def test_a_consumer_that_takes_no_more_holds_memory_still(tmp_path: Path):
    # The rows of a small file become large ones: were they decoded as far as blocks reach, that would be 4 GB.
    (path,) = write_files(tmp_path, [b""] * 10_000, [10_000])
    code = """
    zeros = ps.Schema({"x": ps.Feature("float32", (100_000,), default=[0.0] * 100_000)})
    decoder = ps.Decoder(zeros, threads=2)
    limit_memory(600_000_000)
    rows = 0
    for batch in decoder.decode_files(sys.argv[1:], 10):
        rows += batch.num_rows
    print(rows)
    """
    assert run_python(code, path) == (0, b"10000\n", "")
