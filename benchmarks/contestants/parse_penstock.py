"""Penstock: native threads that read, check and decode, ahead of the consumer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from decoded import plain_batch, schema_of
from workload_columns import BATCH

import penstock as ps


def parse(path: str, workload: str) -> Iterator[ps.Batch]:
    return ps.Decoder(schema_of(workload)).decode_files([path], BATCH[workload])


def parse_label(path: str, workload: str, verify: bool) -> Iterator[ps.Batch]:
    decoder = ps.Decoder(schema_of(workload), columns=["label"])
    return decoder.decode_files([path], BATCH[workload], verify=verify)


def read_payloads(path: str, workload: str, verify: bool) -> int:
    """Read the records without decoding them."""
    return sum(len(chunk) for chunk in ps.RecordReader(path, verify=verify).chunks())


def plain_columns(batch: ps.Batch, path: str, workload: str, verify: bool = True) -> dict[str, Iterable[Any]]:
    return plain_batch(batch, workload)
