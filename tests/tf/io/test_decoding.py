"""Strings are decoded within bounds."""

from __future__ import annotations

import gzip
import zlib

import pytest

import penstock.tf as tf


def test_compressed_strings_are_inflated():
    data = gzip.compress(b"abc") + gzip.compress(b"def")
    assert tf.io.decode_compressed([data], "GZIP").numpy().tolist() == [b"abcdef"]
    with pytest.raises(tf.errors.DataLossError):
        tf.io.decode_compressed(data[:-9], "GZIP")  # TensorFlow returns a part without an error


def test_the_size_of_an_inflated_string_is_limited(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("penstock.tf.io.decoding._MAX_INFLATED_BYTES", 1000)
    whole = tf.io.decode_compressed(zlib.compress(b"a" * 1000), "ZLIB")
    assert whole.numpy() == b"a" * 1000
    for bomb in (zlib.compress(b"a" * 1001), zlib.compress(b"a" * 600) * 2):
        with pytest.raises(tf.errors.ResourceExhaustedError, match="more than 1000 bytes"):
            tf.io.decode_compressed(bomb, "ZLIB")
