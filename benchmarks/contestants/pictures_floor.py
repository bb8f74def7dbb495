"""Bare libjpeg-turbo: simplejpeg in as many threads as there are cores, of files in memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import simplejpeg

import penstock as ps
from penstock.parallel import available_cpus


def full(path: str) -> int:
    files, threads = _files(path), available_cpus()

    def decode(part: int) -> int:
        return sum(simplejpeg.decode_jpeg(data, fastdct=True) is not None for data in files[part::threads])

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(decode, range(threads)))


@cache
def _files(path: str) -> list[bytes]:
    schema = ps.Schema({"image": "bytes"})
    return [row["image"] for row in ps.Dataset(path, schema=schema)]
