"""Functions are recorded once on symbols, then run for whole batches."""
