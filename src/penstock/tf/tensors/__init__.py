"""Tensors, their dtypes, shapes and specs, and conversions to them."""
