"""Packed integers: runs of every length, of values of every length, in every kind of column."""

from __future__ import annotations

import random

import numpy as np
import pytest
from schema_examples import field, varint

from penstock import Decoder, Feature, MalformedExampleError, Schema

RAGGED = Decoder(Schema({"a": Feature("int64", (None,))}))


def packed(run: bytes) -> bytes:
    return field(1, field(1, field(1, b"a") + field(2, field(3, field(1, run)))))


def values_of(rng: random.Random, count: int, most_bits: int) -> list[int]:
    return [
        rng.getrandbits(rng.randrange(1, most_bits + 1)) - (1 << 63 if most_bits == 64 else 0) for _ in range(count)
    ]


@pytest.mark.parametrize("most_bits", [6, 7, 14, 21, 28, 29, 35, 56, 63, 64])
def test_runs_of_every_length_are_read(most_bits: int):
    rng = random.Random(most_bits)
    rows = [values_of(rng, count, most_bits) for count in [*range(150), 1000]]
    column = RAGGED.decode([packed(b"".join(map(varint, row))) for row in rows])["a"]
    assert column.to_list() == rows


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint32", "int16"])
@pytest.mark.parametrize("count", [1, 3, 63, 64, 65, 255, 256, 257, 600])
def test_dense_rows_take_runs(dtype: str, count: int):
    rng = random.Random(count)
    rows = [values_of(rng, count, 15) for _ in range(3)]
    decoder = Decoder(Schema({"a": Feature(dtype, (count,))}))
    column = decoder.decode([packed(b"".join(map(varint, row))) for row in rows])["a"]
    np.testing.assert_array_equal(column, rows)


def test_values_may_be_padded_up_to_ten_bytes():
    runs = [bytes([0x85] + [0x80] * zeros + [0]) + varint(7) * after for zeros in range(9) for after in (0, 1, 80)]
    for run in runs:
        assert RAGGED.decode([packed(run)])["a"].to_list()[0][:1] == [5]
    for zeros in (9, 20, 70, 200):
        for after in (0, 80):
            with pytest.raises(MalformedExampleError):
                RAGGED.decode([packed(bytes([0x85] + [0x80] * zeros + [0] * (1 + after)))])


@pytest.mark.parametrize("before", [*range(12), *range(50, 75), 127, 128, 129, 256])
def test_a_run_that_ends_inside_a_value_is_malformed(before: int):
    for last in range(1, 10):
        with pytest.raises(MalformedExampleError):
            RAGGED.decode([packed(b"\1" * before + b"\x80" * last)])
