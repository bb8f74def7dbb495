"""Records and files that the tests ask about."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from hypothesis import strategies as st
from oracle import Outcome

import penstock as ps

COMPRESSIONS = ["", "GZIP", "ZLIB", "SNAPPY"]

# Frames of 0, 1, 17 and 64 bytes, one of them compressible: small enough to try every bit.
FEW = [b"", b"x", b"one short record.", b"penstock" * 8]

# Buffers have borders: TensorFlow's of 256 KiB, ours of 1 MiB.
LARGE = {
    "one record of 5 MiB": [bytes(range(256)) * (20 << 10)],
    "records around 256 KiB": [b"\x5a" * ((256 << 10) + more) for more in range(-20, 21, 4)],
    "records around 1 MiB": [b"\xa5" * ((1 << 20) + more) for more in range(-20, 21, 8)],
    "30000 small records": [i.to_bytes(i % 9, "little", signed=False) if i % 9 > 1 else b"" for i in range(30_000)],
}

# Lists of record lists: one question to TensorFlow carries many files.
record_lists = st.lists(
    st.lists(st.one_of(st.binary(max_size=40), st.binary(min_size=1, max_size=9).map(lambda part: part * 999))),
    min_size=1,
    max_size=8,
)


def written(
    records: Iterable[bytes], compression: str, *, level: int = 2, flush_behind: frozenset[int] = frozenset()
) -> bytes:
    """The file that Penstock writes, with a flush after some of the records."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        with ps.RecordWriter(path, compression=compression, level=level) as writer:
            for number, record in enumerate(records):
                writer.write(record)
                if number in flush_behind:
                    writer.flush()
        return path.read_bytes()


def outcome(data: bytes, compression: str) -> Outcome:
    """What Penstock gets out of a file."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        records: list[bytes] = []
        try:
            records.extend(ps.RecordReader(file.name, compression=compression))
        except ps.CorruptDataError as error:
            return Outcome(records, type(error).__name__)
        return Outcome(records, None)
