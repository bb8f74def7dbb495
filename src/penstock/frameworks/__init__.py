"""Batches for torch, JAX, TensorFlow and Keras: one module each, imported by name, with the same two functions.

``feed(dataset, ...)`` iterates over a dataset, converts and prefetches its elements for the framework, and can be
resumed; ``convert(element, ...)`` converts one element.
"""
