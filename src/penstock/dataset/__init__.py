"""Datasets: the way from shards to batches, in any order, from any step.

``dataset`` has the methods, ``order/`` decides which row comes when, ``reads`` and ``source/`` fetch and decode them
ahead of the consumer, ``stages/`` is what is done to them on their way, ``iterator`` hands them out and knows where it
stands.
"""
