"""Records are matched by digests of a key."""

from __future__ import annotations

import numpy as np

from penstock.inspect.match_digests import Digests, match


def table(*rows: tuple[int, int, int]) -> Digests:
    """Rows of values, bytes and key."""
    return np.array([(values, 0, stored, key, key, 0) for values, stored, key in rows], np.uint64).reshape(-1, 6)


def test_rows_are_matched_in_any_order():
    found = match(table((1, 1, 10), (2, 2, 20), (3, 3, 30)), table((3, 3, 30), (9, 9, 10), (4, 4, 40)))
    assert [rows.tolist() for rows in found.changed] == [[0], [1]]
    assert (found.only_a.tolist(), found.only_b.tolist(), found.bytes_only) == ([1], [2], 0)


def test_equal_keys_are_matched_in_their_order():
    found = match(table((1, 1, 7), (2, 2, 7), (3, 3, 7)), table((1, 5, 7), (9, 9, 7)))
    assert [rows.tolist() for rows in found.changed] == [[1], [1]]
    assert (found.only_a.tolist(), found.only_b.tolist(), found.bytes_only) == ([2], [], 1)


def test_rows_after_those_in_the_same_order_are_matched():
    found = match(table((1, 1, 7), (2, 2, 8), (3, 3, 7), (4, 4, 9)), table((1, 1, 7), (5, 5, 8), (4, 4, 9), (6, 6, 7)))
    assert [rows.tolist() for rows in found.changed] == [[1, 2], [1, 3]]
    assert (found.only_a.tolist(), found.only_b.tolist()) == ([], [])


def test_keys_that_share_a_word_are_different():
    a, b = table((1, 1, 5)), table((1, 1, 5))
    b[0, 4] = 6
    found = match(a, b)
    assert (found.only_a.tolist(), found.only_b.tolist()) == ([0], [0])
    a, b = (np.repeat(rows, 2, axis=0) for rows in (a, b))
    a[1, 4], b[1, 4] = 6, 5
    found = match(a, b)
    assert (len(found.only_a), len(found.only_b), found.bytes_only) == (0, 0, 0)


def test_one_side_or_both_are_empty():
    found = match(table(), table((1, 1, 5)))
    assert (found.only_a.tolist(), found.only_b.tolist()) == ([], [0])
    assert match(table(), table()).only_b.tolist() == []
