"""Facts of orders: what wraps an order passes on its share and its groups, and is no repetition of it."""

from __future__ import annotations

import pytest
from orders import rows

from penstock.dataset.order import Epoch, Share, finite_length
from penstock.dataset.transforms.batch import BatchOrder
from penstock.dataset.transforms.concat import ConcatOrder
from penstock.dataset.transforms.repeat import RepeatOrder
from penstock.dataset.transforms.shard import ShardOrder
from penstock.dataset.transforms.shuffle import ShuffleOrder
from penstock.dataset.transforms.take_skip import SliceOrder


def test_a_share_is_known_through_what_wraps_it():
    share = ShardOrder(rows(10), 1, 4, "drop")
    for order in (share, ShuffleOrder(share, 1), RepeatOrder(BatchOrder(share, 2, False), 3)):
        assert order.share == Share(1, 4, "drop")
        assert order.is_sharded
    assert rows(10).share is None
    joined = ConcatOrder(rows(10), share, rows(10)._files)
    assert joined.share is None  # there is no one number of ranks
    assert joined.is_sharded


def test_orders_around_batches_know_that_the_last_one_is_dropped():
    batches = BatchOrder(rows(10), 4, True)
    assert SliceOrder(ShuffleOrder(batches, 1), 0, 1).drops_last
    assert not rows(10).drops_last


def test_a_part_of_a_repetition_is_no_repetition():
    repeated = RepeatOrder(rows(10), 3)
    assert repeated.repeats is repeated
    assert SliceOrder(repeated, 0, 12).repeats is None


def test_an_order_without_end_has_no_length():
    with pytest.raises(ValueError, match="shuffle needs a dataset that ends: call repeat\\(\\) after it"):
        finite_length(RepeatOrder(rows(3), None), Epoch(), "shuffle")
