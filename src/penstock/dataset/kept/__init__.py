"""Blocks kept on disk: their columns as they lie in memory, and an index of where each block is."""
