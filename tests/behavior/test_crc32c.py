"""All checksum kernels that this CPU runs, against the published vectors and against each other."""

from __future__ import annotations

import random

import framing
import pytest

from penstock import _core

KERNELS = _core.crc32c_kernels()

VECTORS = {
    b"": 0x00000000,
    b"a": 0xC1D04330,
    b"123456789": 0xE3069283,
    bytes(8): 0x8C28B28A,
    # RFC 3720, B.4
    bytes(32): 0x8A9136AA,
    b"\xff" * 32: 0x62A8AB43,
    bytes(range(32)): 0x46DD794E,
    bytes(reversed(range(32))): 0x113FDB5C,
}


def test_the_portable_kernel_is_always_there_and_last():
    assert KERNELS[-1] == "table"


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("data", VECTORS, ids=lambda data: data[:4].hex() or "empty")
def test_published_vectors(kernel, data):
    assert _core.crc32c(data, kernel=kernel) == VECTORS[data]


@pytest.mark.parametrize(("data", "masked"), [(b"", 0xA282EAD8), (b"a", 0x28E46E78), (bytes(8), 0x07980329)])
def test_masked_vectors(data, masked):
    assert _core.mask_crc(_core.crc32c(data)) == masked


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_agree_at_every_small_length_and_alignment(kernel):
    data = random.Random(1).randbytes(1600)
    for length in range(1590):
        expected = framing.crc32c(data[:length]) if length < 64 else _core.crc32c(data[:length], kernel="table")
        assert _core.crc32c(data[:length], kernel=kernel) == expected
        start = length % 9
        view = memoryview(data)[start : start + length]
        assert _core.crc32c(view, kernel=kernel) == _core.crc32c(view, kernel="table")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("length", [1023, 1024, 3071, 3072, 3073, 6144, 6145, 7615, 7616, 7617, 65_537, 1_000_003])
def test_kernels_agree_on_long_input(kernel, length):
    data = random.Random(length).randbytes(length)
    assert _core.crc32c(data, kernel=kernel) == _core.crc32c(data, kernel="table")


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_checksum_continues_where_another_ended(kernel):
    data = random.Random(2).randbytes(9000)
    whole = _core.crc32c(data, kernel=kernel)
    for cut in [0, 1, 7, 8, 143, 144, 679, 680, 1999, 7615, 8999, 9000]:
        first = _core.crc32c(data[:cut], kernel=kernel)
        assert _core.crc32c(data[cut:], first, kernel=kernel) == whole


def test_an_unknown_kernel_raises():
    with pytest.raises(ValueError, match="no CRC32C kernel named abacus"):
        _core.crc32c(b"", kernel="abacus")


@pytest.mark.parametrize("sizes", [(0, 0), (5, 0), (0, 5), (1, 7), (4096, 3), (3, 100_003)])
def test_checksums_of_two_parts_combine_to_that_of_the_whole(sizes):
    before, rest = (random.Random(size).randbytes(size) for size in sizes)
    combined = _core.crc32c_combine(_core.crc32c(before), _core.crc32c(rest), len(rest))
    assert combined == _core.crc32c(before + rest)
