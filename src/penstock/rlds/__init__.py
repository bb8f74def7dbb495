"""Episodes and steps of RLDS datasets."""
