"""Records to other shards or to tables, and tables to records."""
