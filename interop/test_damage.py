"""Damaged files: what TensorFlow reports is reported here, and so is what it skips silently."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from cases import COMPRESSIONS, FEW, outcome, written
from oracle import Oracle, Outcome, Reader

from penstock import _core

# The iterator is the same reader with less around it, which makes every bit of a file affordable.
READER: dict[str, Reader] = {"": "iterator", "GZIP": "iterator", "ZLIB": "iterator", "SNAPPY": "dataset"}

Change = Callable[[bytes], dict[str, bytes]]


@dataclass(frozen=True)
class Damaged:
    """A damaged file and what both sides got out of it."""

    what: str
    theirs: Outcome
    ours: Outcome


def damaged(oracle: Oracle, files: dict[str, bytes], compression: str) -> list[Damaged]:
    theirs = oracle.read(*((file, compression) for file in files.values()), reader=READER[compression])
    ours = [outcome(file, compression) for file in files.values()]
    return [Damaged(*case) for case in zip(files, theirs, ours, strict=True)]


def bit_flips(file: bytes) -> dict[str, bytes]:
    flips = {}
    for bit in range(8 * len(file)):
        flipped = bytearray(file)
        flipped[bit // 8] ^= 1 << bit % 8
        flips[f"byte {bit // 8}, bit {bit % 8}"] = bytes(flipped)
    return flips


def truncations(file: bytes) -> dict[str, bytes]:
    return {f"cut to {size} bytes": file[:size] for size in range(len(file))}


@pytest.mark.parametrize("change", [bit_flips, truncations])
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_no_damage_that_tensorflow_reports_is_missed(oracle: Oracle, compression: str, change: Change) -> None:
    (file,) = oracle.write((FEW, compression))
    cases = damaged(oracle, change(file), compression)
    assert any(case.theirs.error for case in cases)
    assert [case for case in cases if case.theirs.error and not case.ours.error] == []


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_no_bit_flip_loses_records_in_silence_or_makes_new_ones(oracle: Oracle, compression: str) -> None:
    (file,) = oracle.write((FEW, compression))
    for what, flipped in bit_flips(file).items():
        ours = outcome(flipped, compression)
        assert ours.error or ours.records == FEW, what
        # A flipped bit of deflate data may repeat a good record; that the stream is damaged is known at its end.
        assert set(ours.records) <= set(FEW), what


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_truncated_file_gives_the_first_records(oracle: Oracle, compression: str) -> None:
    (file,) = oracle.write((FEW, compression))
    for what, cut in truncations(file).items():
        records = outcome(cut, compression).records
        assert records == FEW[: len(records)], what


def test_every_bit_flip_of_a_plain_file_is_reported(oracle: Oracle) -> None:
    (file,) = oracle.write((FEW, ""))
    cases = damaged(oracle, bit_flips(file), "")
    assert [case for case in cases if not case.ours.error] == []
    assert [case for case in cases if not case.theirs.error] == []


def test_every_truncation_of_a_plain_file_is_reported_but_between_records(oracle: Oracle) -> None:
    (file,) = oracle.write((FEW, ""))
    boundaries = {len(written(FEW[:count], "")) for count in range(len(FEW))}
    cases = damaged(oracle, truncations(file), "")
    assert {size for size, case in enumerate(cases) if not case.ours.error} == boundaries
    silent = {size for size, case in enumerate(cases) if not case.theirs.error}
    assert silent == {boundary + stray for boundary in boundaries for stray in range(12)}


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB", "SNAPPY"])
def test_every_truncation_of_a_compressed_file_is_reported(oracle: Oracle, compression: str) -> None:
    (file,) = oracle.write((FEW, compression))
    silent = [case.what for case in damaged(oracle, truncations(file), compression) if not case.ours.error]
    assert silent == ["cut to 0 bytes"]


# Lengths between these TensorFlow tries to allocate, and dies.
@pytest.mark.parametrize("length", [2**64 - 1, 2**64 - 5, 2**64 - 6, 2**63, 2**63 - 4, 2**20])
def test_a_length_beyond_the_file_is_reported(oracle: Oracle, length: int) -> None:
    header = length.to_bytes(8, "little")
    file = header + _core.mask_crc(_core.crc32c(header)).to_bytes(4, "little") + bytes(100)
    (case,) = damaged(oracle, {"length": file}, "")
    assert case.ours.error
    assert case.theirs.error


FIRST, SECOND = FEW[:2], FEW[2:]


@pytest.mark.parametrize(
    ("file", "compression", "theirs", "ours"),
    [
        pytest.param(
            gzip.compress(written(FIRST, "")) + gzip.compress(b"") + gzip.compress(written(SECOND, "")),
            "GZIP",
            Outcome(FIRST, None),
            Outcome(FEW, None),
            id="an empty gzip member in the middle is read over",
        ),
        pytest.param(
            gzip.compress(written(FEW, ""))[:-8],
            "GZIP",
            Outcome(FEW, None),
            Outcome(FEW, "TruncatedError"),
            id="a gzip member without its trailer",
        ),
        pytest.param(
            gzip.compress(written(FEW, "")) + b"\0",
            "GZIP",
            Outcome(FEW, None),
            Outcome(FEW, "CompressionError"),
            id="one stray byte after gzip",
        ),
        pytest.param(
            zlib.compress(written(FIRST, "")) + zlib.compress(written(SECOND, "")),
            "ZLIB",
            Outcome(FIRST, None),
            Outcome(FIRST, "CompressionError"),
            id="a second zlib stream",
        ),
        pytest.param(
            zlib.compress(written(FEW, "")) + b"garbage",
            "ZLIB",
            Outcome(FEW, None),
            Outcome(FEW, "CompressionError"),
            id="garbage after a zlib stream",
        ),
    ],
)
def test_what_tensorflow_skips_silently(
    oracle: Oracle, file: bytes, compression: str, theirs: Outcome, ours: Outcome
) -> None:
    assert oracle.read((file, compression), reader="dataset") == [theirs]
    assert oracle.read((file, compression), reader="iterator") == [theirs]
    assert outcome(file, compression) == ours


def test_good_records_before_a_bad_gzip_trailer_are_delivered(oracle: Oracle) -> None:
    file = bytearray(gzip.compress(written(FEW, "")))
    file[-8] ^= 1
    assert oracle.read((bytes(file), "GZIP"), reader="dataset") == [Outcome([], "DataLossError")]
    assert outcome(bytes(file), "GZIP") == Outcome(FEW, "ChecksumError")
