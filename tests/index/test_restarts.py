"""Which restart points an index has."""

from __future__ import annotations

import numpy as np

from penstock.index.restarts import MOST_BETWEEN, restarts_of
from penstock.index.shard_index import Lengths


def lengths(*values: int) -> Lengths:
    return Lengths.of([np.array(values, np.uint64)])


def test_the_nearest_point_before_a_record_is_chosen():
    # Frames of 16 bytes more, at 0, 26, 1042, 1078 and 1104.
    found = restarts_of(
        [80, 100, 200, 300, 400], [0, 10, 500, 1050, 1104], [b"a", b"b", b"c", b"d", b"e"], lengths(10, 1000, 20, 10)
    )
    assert found is not None
    assert found.bits.tolist() == [80, 100, 200, 300]
    assert found.windows == (b"a", b"b", b"c", b"d")
    assert found.first_record.tolist() == [0, 1, 2, 3, 4]
    assert found.stream_offset.tolist() == [0, 26, 1042, 1078, 1104]
    assert found.holding(np.array([0, 1, 2, 3])).tolist() == [0, 1, 2, 3]


def test_there_are_none_where_they_lead_to_no_record_or_are_too_far_apart():
    assert restarts_of([], [], [], lengths(1, 2)) is None
    assert restarts_of([80], [0], [b""], lengths()) is None
    assert restarts_of([100], [50], [b""], lengths(10, 10, 10)) is None
    many = lengths(*[MOST_BETWEEN // 10] * 11)
    assert restarts_of([80], [0], [b""], many) is None
    assert restarts_of([80], [0], [b""], lengths(5, MOST_BETWEEN + 10)) is not None


def test_equal_lengths_give_the_points_that_a_search_gives():
    # Frames of 30 bytes; the last has another length in the second index, where every start is known.
    blocks = [0, 1, 29, 30, 31, 60, 89, 90, 100, 119, 120, 121]
    bits, windows = list(range(80, 92)), [bytes([number]) for number in range(12)]
    equal, others = (restarts_of(bits, blocks, windows, lengths(14, 14, 14, last)) for last in (14, 15))
    assert equal is not None
    assert others is not None
    assert equal.bits.tolist() == others.bits.tolist() == [80, 83, 85, 87]
    assert equal.windows == others.windows
    assert equal.first_record.tolist() == others.first_record.tolist() == [0, 1, 2, 3, 4]
    assert equal.stream_offset.tolist() == [0, 30, 60, 90, 120]
