"""``ps.image.resize``, compared with ``tf.image.resize``."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle

import penstock as ps

sides = st.integers(1, 40)


@given(
    st.lists(st.tuples(st.tuples(sides, sides, st.integers(1, 5)), st.tuples(sides, sides)), min_size=1, max_size=20),
    st.integers(0, 2**32),
)
def test_every_bit_is_the_same(oracle: Oracle, cases: list, seed: int) -> None:
    random = np.random.default_rng(seed)
    images = [(random.standard_normal(shape, np.float32) * 100, size) for shape, size in cases]
    for (image, size), theirs in zip(images, oracle.resize(*images), strict=True):
        np.testing.assert_array_equal(ps.image.resize(image, size), theirs)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "int32", "int64", "float16", "float64"])
def test_every_dtype_gives_the_same(oracle: Oracle, dtype: str) -> None:
    random = np.random.default_rng(1)
    low, high = (0, 256) if dtype == "uint8" else (-100, 100) if dtype != "uint16" else (0, 65536)
    images = random.integers(low, high, (3, 17, 23, 3)).astype(dtype)
    for size in [(5, 7), (40, 3), (17, 23), (1, 1), (224, 224)]:
        (theirs,) = oracle.resize((images, size))
        ours = ps.image.resize(images, size)
        assert ours.dtype == np.float32
        np.testing.assert_array_equal(ours, theirs)
