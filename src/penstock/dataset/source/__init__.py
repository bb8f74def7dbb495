"""Reads rows of files by number: shards, random access and prefetching."""
