"""split(): every row in one part, in the same part always."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numbered import SCHEMA, TOTAL, ids

import penstock as ps
from penstock.dataset.transforms.split import SplitArrangement, key_hashes

text = ps.BytesColumn.from_values


def test_the_hash_of_a_key_never_changes():
    # Which part a row belongs to depends on these numbers.
    keys = [
        (np.array([0, 7, -1]), [3938860082335825607, 1069821104593611630, 9376631684097872765]),
        (np.array([0.5, 7]), [11306967415767909316, 15154372540307899112]),
        (text(["", "ann"], text=True), [14791825186429756250, 529253484231678114]),
        (ps.Nullable(np.array([7, 0]), np.array([True, False])), [1069821104593611630, 13013184759947573853]),
    ]
    for column, expected in keys:
        assert key_hashes([column], None, "").tolist() == expected
    assert key_hashes([np.array([7]), text(["ann"], text=True)], 3, "").tolist() == [3447126123487787624]


@given(
    st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.none() | st.binary(max_size=400))),
    st.none() | st.integers(0, 99),
)
def test_keys_are_hashed_as_documented(keys: list[tuple[int, bytes | None]], seed: int | None):
    expected = []
    for number, data in keys:
        stored = b"n" if data is None else b"t" + len(data).to_bytes(8, "little") + data
        message = b"i" + number.to_bytes(8, "little", signed=True) + stored
        key = b"" if seed is None else seed.to_bytes(8, "little")
        expected.append(int.from_bytes(hashlib.blake2b(message, digest_size=8, key=key).digest(), "little"))
    strings = text([data or b"" for _, data in keys], text=False)
    valid = np.array([data is not None for _, data in keys], np.bool_)
    columns = [np.array([number for number, _ in keys], np.int64), ps.Nullable(strings, valid)]
    assert key_hashes(columns, seed, "").tolist() == expected


def test_a_view_outside_its_buffers_is_no_key():
    stray = ps.BytesColumn(np.array([[20, 0, 3, 0]], np.int32), [np.zeros(4, np.uint8)])
    with pytest.raises(ValueError, match="value 0 points outside"):
        key_hashes([stray], None, "")


def test_equal_keys_have_equal_hashes_whatever_their_dtype():
    for dtype in ("int8", "uint64", "int64", "uint8"):
        assert key_hashes([np.array([7], dtype)], None, "") == key_hashes([np.array([7])], None, "")
    assert key_hashes([np.array([0.5], np.float32)], None, "") == key_hashes([np.array([0.5])], None, "")
    assert key_hashes([text([b"a"], text=False)], None, "") == key_hashes([text(["a"], text=True)], None, "")
    assert key_hashes([np.array([True])], None, "") == key_hashes([np.array([1])], None, "")


@pytest.mark.parametrize("dtype", ["<f8", "<f4", "<f2"])
def test_equal_floats_have_equal_hashes_whatever_their_bits(dtype: str):
    unsigned = dtype.replace("f", "u")
    payload = (np.array([np.nan, -np.nan], dtype).view(unsigned) | 1).view(dtype)
    zero, negative, *nans = key_hashes([np.array([0.0, -0.0, np.nan, -np.nan, *payload], dtype)], None, "").tolist()
    assert zero == negative
    for value, found in ((bytes(8), zero), (bytes.fromhex("7ff8000000000000")[::-1], nans[0])):
        assert found == int.from_bytes(hashlib.blake2b(b"f" + value, digest_size=8).digest(), "little")
    assert len(set(nans)) == 1


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=4), st.integers(0, 300), st.integers(0, 2**64 - 1))
def test_every_row_is_in_one_part(weights: list[float], rows: int, seed: int):
    shares = {f"part {i}": weight / sum(weights) for i, weight in enumerate(weights)}
    keys = ps.Batch({"x": np.arange(rows) // 2})
    for columns, batch in ((("x",), keys), ((), ps.Batch({}, num_rows=rows))):
        parts = SplitArrangement.of(shares, columns, seed).positions(batch)
        assert sorted(np.concatenate(parts).tolist()) == list(range(rows))
        assert all((np.diff(part) > 0).all() for part in parts)
        if columns:
            assert all(set(a // 2).isdisjoint(b // 2) for i, a in enumerate(parts) for b in parts[:i])
        else:
            assert all(abs(len(p) - share * rows) <= 1 for p, share in zip(parts, shares.values(), strict=True))


def test_shares_by_hash_are_about_what_was_asked_for():
    keys = ps.Batch({"x": text([f"user {i}" for i in range(20_000)], text=True)})
    parts = SplitArrangement.of({"a": 0.8, "b": 0.15, "c": 0.05}, ("x",), None).positions(keys)
    assert [round(len(part) / 20_000, 2) for part in parts] == [0.8, 0.15, 0.05]


def test_a_row_stays_in_its_part_when_others_come_and_go(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    shares = {"train": 0.7, "test": 0.3}
    parts = {name: set(ids(part)) for name, part in ds.split(shares, by="id").items()}
    assert parts["train"] | parts["test"] == set(range(TOTAL))
    for other in (ds[5:], ds.shuffle(seed=9), ds.filter("id > 3"), ds.rename_columns({"id": "key"})):
        names = other.column_names
        for name, part in other.split(shares, by=names[0]).items():
            assert {int(row[names[0]]) for row in part} <= parts[name]
    assert {name: set(ids(part)) for name, part in ds.split(shares, by="id", seed=1).items()} != parts


def test_a_part_is_the_same_in_each_epoch(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA).shuffle(seed=5)
    for options in ({"seed": 1}, {"by": "id"}):
        part = ds.split({"a": 0.5, "b": 0.5}, **options)["a"]
        assert sorted(ids(part.epoch(0))) == sorted(ids(part.epoch(1))) == sorted(ids(part.epoch(5)))


@pytest.mark.parametrize(
    ("shares", "options", "error"),
    [
        ({"a": 0.5, "b": 0.4}, {"seed": 1}, "add up to 1, not to 0.9"),
        ({"a": 1.5, "b": -0.5}, {"seed": 1}, "greater than 0"),
        ({}, {"seed": 1}, "share of each part"),
        ([0.5, 0.5], {"seed": 1}, "share of each part"),
        ({"a": 1}, {}, 'needs by="id".*or seed='),
        ({"a": 1}, {"seed": -1}, "seed is an integer of 0 or more"),
        ({"a": 1}, {"by": "items"}, "single values as keys"),
        ({"a": 1}, {"by": "nothing"}, "no feature 'nothing'"),
    ],
)
def test_what_cannot_be_split_is_an_error(shares: Any, options: dict[str, Any], error: str, shards):
    with pytest.raises((TypeError, ValueError), match=error):
        len(ps.Dataset(shards("plain"), schema=SCHEMA).split(shares, **options)["a"])


def test_parts_are_datasets_that_can_be_written(tmp_path: Path, shards):
    for name, part in ps.Dataset(shards("plain"), schema=SCHEMA).split({"a": 0.6, "b": 0.4}, by="text").items():
        assert "split({'a': 0.6, 'b': 0.4}, by='text')" in repr(part)
        ps.write(tmp_path / name, part)
    assert sorted(ids(ps.Dataset(tmp_path / "a")) + ids(ps.Dataset(tmp_path / "b"))) == list(range(TOTAL))
