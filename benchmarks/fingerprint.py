"""What must be equal before speed is compared: the number, the sizes and the bytes of all payloads, in order.

Runs in every contestant's environment, so it needs nothing but Python.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
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
