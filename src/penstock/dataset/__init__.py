"""Datasets: shards to examples and batches, in any order, resumable at any step.

``dataset`` has the public methods, and ``transforms/`` one module per verb: its order, its stage, and the function that
chooses between them. An order maps positions to rows, so that it can be entered anywhere; a stage transforms blocks of
elements as they come. ``read_rows`` and ``source/`` fetch and decode rows ahead of the consumer, ``pipeline`` holds it
together, ``iterator`` iterates it and saves its state.
"""
