"""Decode records to columns and encode columns and rows to records, by a schema."""
