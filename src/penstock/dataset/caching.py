"""Puts a cache behind a pipeline."""
