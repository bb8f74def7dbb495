"""Datasets as tables of query engines: SQL with DuckDB, lazy frames of Polars, and tasks of clusters."""
