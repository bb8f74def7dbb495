"""Functions recorded once on symbols and run for whole batches."""
