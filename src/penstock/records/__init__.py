"""One file of records: reading, writing, appending and recovery after damage."""
