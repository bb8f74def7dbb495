"""One module per verb of the Dataset API."""
