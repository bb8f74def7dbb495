"""The files that indexes are kept in: what is written is read, and nothing else is believed."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import run_python

import penstock as ps
from penstock import _core
from penstock.compression.gzip import deflate
from penstock.index import load_index, open_index
from penstock.index.file_format import from_bytes, to_bytes, unpack
from penstock.index.file_identity import Identity
from penstock.index.shard_index import Lengths, ShardIndex


def index_of(lengths: list[int]) -> ShardIndex:
    found = Lengths.of([np.array(lengths, np.uint64)])
    return ShardIndex(identity=Identity(found.stream_bytes, 1, 2), compression="", lengths=found)


def altered(data: bytes, **changes: object) -> bytes:
    line, _, rest = data.partition(b"\n")
    return json.dumps(json.loads(line) | changes).encode() + b"\n" + rest


GOOD = to_bytes(index_of([1, 2, 300, 70_000]))
IDENTITY = index_of([1, 2, 300, 70_000]).identity


@given(st.lists(st.one_of(st.integers(0, 300), st.integers(0, 2**50)), max_size=50))
def test_what_is_written_is_read(lengths):
    index = index_of(lengths)
    again = from_bytes(to_bytes(index), index.identity)
    assert again.lengths.values().tolist() == lengths
    assert again.records == len(lengths)


def test_equal_lengths_take_no_room_and_others_two_bytes():
    count = 100_000
    assert len(to_bytes(index_of([3072] * count))) < 500
    draw = random.Random(1)
    images = index_of([draw.randrange(60_000, 120_000) for _ in range(count)])
    assert len(to_bytes(images)) < 2.2 * count
    texts = index_of([draw.randrange(200, 1400) for _ in range(count)])
    assert len(to_bytes(texts)) < 1.5 * count


def test_what_a_newer_version_added_is_preserved():
    index = from_bytes(altered(GOOD, colour="blue"), IDENTITY)
    assert json.loads(to_bytes(index).partition(b"\n")[0])["colour"] == "blue"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "not a Penstock record index"),
        ({"version": 2}, "version 2"),
        ({"version": "1"}, "version"),
        ({"requires": ["colour"]}, "requires 'colour'"),
        ({"requires": 1}, "requires"),
        ({"records": 5}, "do not add up"),
        ({"records": None}, "records"),
        ({"compression": "ZIP"}, "compression"),
        ({"compression": ["GZIP"]}, "compression"),
        ({"numbers": {}}, "something follows"),
        ({"numbers": []}, "numbers"),
    ],
)
def test_what_is_not_understood_raises(changes, message):
    with pytest.raises(ps.IndexFileError, match=message):
        from_bytes(altered(GOOD, **changes), IDENTITY)


def test_an_index_of_other_data_raises():
    for other in [Identity(IDENTITY.size + 1, 1, 2), Identity(IDENTITY.size, 1, 3), Identity(IDENTITY.size, tag="x")]:
        with pytest.raises(ps.StaleIndexError):
            from_bytes(GOOD, other)


def test_no_changed_byte_and_no_cut_is_believed():
    right = from_bytes(GOOD, IDENTITY).lengths.values().tolist()
    for place in range(len(GOOD)):
        for mask in (1, 0x80):
            changed = bytearray(GOOD)
            changed[place] ^= mask
            try:
                index = from_bytes(bytes(changed), IDENTITY)
            except ps.IndexFileError:
                continue
            assert index.lengths.values().tolist() == right  # a key that is not known, or the name of one
        with pytest.raises(ps.IndexFileError):
            from_bytes(GOOD[:place], IDENTITY)


@pytest.mark.parametrize("entry", [{"count": 2**62}, {"width": 9}, {"base": 2**62}, {"count": -1}, {"bytes": 2**40}])
def test_numbers_that_cannot_be_raise(entry):
    numbers = json.loads(GOOD.partition(b"\n")[0])["numbers"]
    numbers["lengths"] |= entry
    with pytest.raises(ps.IndexFileError):
        from_bytes(altered(GOOD, numbers=numbers), IDENTITY)


PLANES = bytes(range(12))  # four numbers of three bytes


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff" + deflate(PLANES, 2),
        deflate(PLANES, 2)[:-1],
        deflate(PLANES, 2) + b"x",
        deflate(PLANES[1:], 2),
        deflate(PLANES + b"x", 2),
        deflate(bytes(1 << 20), 2),
    ],
    ids=["nothing", "no deflate data", "cut short", "something after it", "too little", "too much", "far too much"],
)
def test_numbers_that_do_not_inflate_to_what_is_claimed_raise(body):
    head = {"count": 4, "base": 0, "width": 3, "crc32c": f"{_core.crc32c(body):08x}"}
    with pytest.raises(ps.IndexFileError, match="cannot be inflated"):
        unpack(head, body, most=4)


@pytest.mark.skipif(sys.platform != "linux", reason="needs an enforced limit on address space")
@pytest.mark.parametrize("width", [0, 1, 8])
def test_a_claim_alone_allocates_nothing(tmp_path: Path, width: int):
    # The data is a sparse file of 16 GiB: its size alone allows a billion records.
    with open(tmp_path / "sparse.tfrecord", "wb") as file:
        file.truncate(16 << 30)
    code = """
        from penstock.index.build import known_identity
        from penstock.index.file_format import from_bytes
        from penstock.storage.local import LocalFiles
        import json
        identity = known_identity(LocalFiles(), sys.argv[1])
        entry = {"count": 1 << 30, "base": 0, "width": int(sys.argv[2]), "bytes": 1, "crc32c": "527d5351"}
        head = {"format": "penstock.index", "version": 1, "requires": [], "identity": identity.to_json()}
        head |= {"compression": "", "records": 1, "numbers": {"lengths": entry}}
        limit_memory(256 << 20)
        try:
            from_bytes(json.dumps(head).encode() + b"\\n\\0", identity)
        except ps.IndexFileError as error:
            print("refused")
    """
    status, out, err = run_python(code, tmp_path / "sparse.tfrecord", width)
    assert (status, out, err) == (0, b"refused\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="needs an enforced limit on address space")
def test_restart_points_of_equal_records_take_no_memory_for_each(tmp_path: Path):
    # Of 4 MiB, deflate can make 270 million empty records, whose starts would take 2 GB.
    (tmp_path / "a.tfrecord.gz").write_bytes(bytes(4 << 20))
    code = """
        from penstock.index.build import known_identity
        from penstock.index.file_format import from_bytes, join_document
        from penstock.storage.local import LocalFiles
        import json, numpy as np
        identity = known_identity(LocalFiles(), sys.argv[1])
        def index(count, length, point):
            head = {"format": "penstock.index", "version": 1, "requires": ["restarts"], "identity": identity.to_json()}
            head |= {"compression": "GZIP", "records": count, "windows": {"bytes": 0, "crc32c": "00000000"}}
            named = [("lengths", np.broadcast_to(np.uint64(length), 1)), ("restart_bits", np.array([80], np.uint64))]
            named += [("restart_offsets", np.array([point], np.uint64)), ("window_sizes", np.zeros(1, np.uint64))]
            data = join_document(head, named)
            return data.replace(b'"lengths": {"count": 1,', b'"lengths": {"count": %d,' % count)
        most = identity.size * 1032 // 16
        limit_memory(256 << 20)
        for count, length, point in [(most, 0, 16), (most, 0, most * 16), (most, 1, 0), (most, 1 << 61, 0)]:
            try:
                from_bytes(index(count, length, point), identity)
            except ps.IndexFileError as error:
                print(str(error).rpartition("restart points ")[-1])
        found = from_bytes(index(1 << 20, 0, 0), identity)
        print(found.records, found.restarts.stream_offset.tolist())
    """
    status, out, err = run_python(code, tmp_path / "a.tfrecord.gz")
    lines = ["do not lead to its records"] * 2 + ["its records do not fit in the file"] * 2
    assert (status, out.decode().splitlines(), err) == (0, [*lines, "1048576 [0, 16777216]"], "")


def test_members_are_preserved(write):
    path = write("a.tfrecord.gz")
    built = open_index(path).members
    kept = load_index(path).members
    for name in ("file_offset", "stream_offset", "first_record"):
        assert getattr(kept, name).tolist() == getattr(built, name).tolist()
