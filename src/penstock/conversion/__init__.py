"""Records, tables, pictures and tars in other formats."""
