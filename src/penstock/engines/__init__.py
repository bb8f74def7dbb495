"""Datasets as tables of query engines: SQL with DuckDB, and lazy frames of Polars."""
