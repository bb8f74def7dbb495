"""Batches for torch, JAX, TensorFlow and Keras: one module each, imported by name, with the same two verbs.

``feed(dataset, ...)`` gives out a dataset's elements as the framework has them, placed ahead of the consumer, and
knows where it stands; ``convert(element, ...)`` does so to one element.
"""
