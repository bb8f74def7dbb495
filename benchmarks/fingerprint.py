"""What must be equal before speed is compared: the number, sizes and bytes of all payloads or columns, in order.

Runs in every contestant's environment, so it needs nothing but Python.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Any


def fingerprint(items: Iterable[Any]) -> dict[str, int]:
    """Sum up payloads that come one by one or in batches of any kind."""
    records = size = crc = 0
    for item in items:
        for payload in (item,) if isinstance(item, (bytes, memoryview)) else item:
            records += 1
            size += len(payload)
            crc = zlib.crc32(payload, crc)
    return {"records": records, "bytes": size, "crc": crc}


def column_fingerprint(batches: Iterable[Mapping[str, Iterable[Any]]]) -> dict[str, list[list[int]]]:
    """Sum up columns that come in batches of any size: by name, parts that have the buffer protocol."""
    sums: dict[str, list[list[int]]] = {}
    for batch in batches:
        for name, parts in batch.items():
            for number, part in enumerate(parts):
                known = sums.setdefault(name, [])
                if number == len(known):
                    known.append([0, 0])
                size, crc = known[number]
                known[number] = [size + memoryview(part).nbytes, zlib.crc32(part, crc)]
    return sums
