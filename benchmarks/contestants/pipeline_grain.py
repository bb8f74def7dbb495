"""grain on ArrayRecord: a true shuffle of the same payloads, in another format."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import grain
from array_record.python.array_record_module import ArrayRecordReader, ArrayRecordWriter


@cache
def _file(path: str) -> str:
    """Copy a TFRecord file; frames are cut here by hand, for nothing else is installed."""
    copy = Path(path).with_suffix(".array_record")
    writer = ArrayRecordWriter(str(copy), "group_size:1")
    data = Path(path).read_bytes()
    at = 0
    while at < len(data):
        end = at + 12 + int.from_bytes(data[at : at + 8], "little")
        writer.write(data[at + 12 : end])
        at = end + 4
    writer.close()
    return str(copy)


@cache
def _source(path: str) -> grain.sources.ArrayRecordDataSource:
    return grain.sources.ArrayRecordDataSource(_file(path))


def shuffled(path: str, workload: str) -> int:
    """Payloads, unparsed: bytes that came."""
    records = grain.MapDataset.source(_source(path)).shuffle(seed=7).to_iter_dataset()
    return sum(len(record) for record in records)


@cache
def _reader(path: str) -> ArrayRecordReader:
    return ArrayRecordReader(_file(path), "readahead_buffer_size:0")


def records_by_number(path: str, workload: str, numbers: list[list[int]]) -> int:
    reader = _reader(path)
    return sum(len(record) for some in numbers for record in reader.read(some))


def records_one_by_one(path: str, workload: str, numbers: list[int]) -> int:
    reader = _reader(path)
    return sum(len(reader.read([number])[0]) for number in numbers)
