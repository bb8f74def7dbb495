"""Tensors, their specs and conversions."""
