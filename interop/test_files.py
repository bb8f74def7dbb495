"""Files go both ways: what one side writes, the other reads."""

from __future__ import annotations

import pytest
from cases import COMPRESSIONS, LARGE, outcome, record_lists, written
from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle, Outcome, Reader

# TensorFlow's older iterator takes no SNAPPY.
READERS: list[tuple[Reader, str]] = [
    ("iterator", ""),
    ("iterator", "GZIP"),
    ("iterator", "ZLIB"),
    *(("dataset", compression) for compression in COMPRESSIONS),
]


def test_the_oracle_is_the_version_that_the_rules_were_checked_with(oracle: Oracle) -> None:
    assert oracle.version().startswith("2.21.")


@pytest.mark.parametrize("compression", COMPRESSIONS)
@given(lists=record_lists)
def test_what_tensorflow_writes_is_read(oracle: Oracle, compression: str, lists: list[list[bytes]]) -> None:
    files = oracle.write(*((records, compression) for records in lists))
    assert [outcome(file, compression) for file in files] == [Outcome(records, None) for records in lists]
    assert [outcome(file, "auto") for file in files] == [Outcome(records, None) for records in lists]


@pytest.mark.parametrize(("reader", "compression"), READERS)
@given(lists=record_lists, level=st.integers(0, 9), flush_behind=st.frozensets(st.integers(0, 20)))
def test_tensorflow_reads_what_is_written(
    oracle: Oracle,
    reader: Reader,
    compression: str,
    lists: list[list[bytes]],
    level: int,
    flush_behind: frozenset[int],
) -> None:
    files = [written(records, compression, level=level, flush_behind=flush_behind) for records in lists]
    outcomes = oracle.read(*((file, compression) for file in files), reader=reader)
    assert outcomes == [Outcome(records, None) for records in lists]


@given(lists=record_lists)
def test_plain_files_are_the_same_byte_for_byte(oracle: Oracle, lists: list[list[bytes]]) -> None:
    assert [written(records, "") for records in lists] == oracle.write(*((records, "") for records in lists))


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("records", LARGE.values(), ids=LARGE.keys())
def test_tensorflow_reads_records_across_the_borders_of_buffers(
    oracle: Oracle, compression: str, records: list[bytes]
) -> None:
    assert oracle.read((written(records, compression), compression), reader="dataset") == [Outcome(records, None)]


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("records", LARGE.values(), ids=LARGE.keys())
def test_records_across_the_borders_of_buffers_are_read(oracle: Oracle, compression: str, records: list[bytes]) -> None:
    if compression == "SNAPPY":
        records = [record[: 256 << 10] for record in records]  # of longer ones TensorFlow makes files it cannot read
    (file,) = oracle.write((records, compression))
    assert outcome(file, "auto") == Outcome(records, None)


@pytest.mark.parametrize("level", range(10))
@pytest.mark.parametrize("reader", ["dataset", "iterator"])
def test_tensorflow_reads_gzip_files_of_many_members(oracle: Oracle, reader: Reader, level: int) -> None:
    records = [bytes([i % 251]) * 40_000 for i in range(60)]  # 2.4 MB, more than two members without any flush
    file = written(records, "GZIP", level=level, flush_behind=frozenset({0, 7, 8}))
    assert file.count(b"\x1f\x8b\x08\x04") >= 5
    assert oracle.read((file, "GZIP"), reader=reader) == [Outcome(records, None)]
