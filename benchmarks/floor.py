"""What the machine can do at best: the system calls and the checksum, with nothing around them."""

from __future__ import annotations

import ctypes
import os
import subprocess
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
CORE = HERE.parent / "cpp"
LIBRARY = HERE / ".data/floor.so"


def _native() -> ctypes.CDLL:
    sources = [HERE / "contestants/floor.cc", *sorted((CORE / "core/crc32c").glob("*.cc"))]
    subprocess.run(
        ["g++", "-std=c++20", "-O3", "-shared", "-fPIC", f"-I{CORE}", *sources, "-pthread", "-o", LIBRARY], check=True
    )
    native = ctypes.CDLL(str(LIBRARY))
    native.read_and_check.restype = ctypes.c_longlong
    native.read_and_check.argtypes = (ctypes.c_char_p, ctypes.c_int, ctypes.c_bool, ctypes.c_bool)
    return native


_floor = _native()


def read_and_check(path: str, threads: int) -> int:
    """Read a file and compute a CRC32C over all of it; return its size."""
    return int(_floor.read_and_check(path.encode(), threads, False, False))


def read_and_check_fastest(path: str, threads: int) -> int:
    """The same, with the fastest kernel that Penstock has for this CPU."""
    return int(_floor.read_and_check(path.encode(), threads, False, True))


def read_check_copy(path: str, threads: int) -> int:
    """The same, and copy all of it once."""
    return int(_floor.read_and_check(path.encode(), threads, True, False))


def write_pieces(source: str, output: str) -> None:
    """Write what is in ``source``, in pieces of 1 MiB."""
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for piece in _pieces(source):
        os.write(descriptor, piece)
    os.close(descriptor)


@cache
def _pieces(source: str) -> list[bytes]:
    data = Path(source).read_bytes()
    return [data[start : start + (1 << 20)] for start in range(0, len(data), 1 << 20)]
