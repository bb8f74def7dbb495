"""Each operation compared with TensorFlow's: the same values, dtypes and shapes, or both raise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle
from tf.expressions import REFUSED, evaluate, same

import penstock.tf

random = np.random.default_rng(1)

NAMES: dict[str, Any] = {
    "f": random.standard_normal((3, 4)).astype(np.float32),
    "g": random.standard_normal((3, 4)).astype(np.float32),
    "d": random.standard_normal(4),
    "i": random.integers(-9, 9, (3, 4)).astype(np.int32),
    "j": random.integers(1, 9, (3, 4)).astype(np.int32),
    "l": random.integers(-9, 9, 4),
    "u": random.integers(0, 256, (5, 6, 3)).astype(np.uint8),
    "b": random.random((3, 4)) < 0.5,
    "s": np.array([b"one", b"Two  words", b"", "drei\u00e9".encode()], object),
    "h": np.array([1.5, -2.25, 700.0], np.float16),
    "odd": np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 2.5, -2.5], np.float32),
    "img": random.random((2, 7, 9, 3)).astype(np.float32),
}

HERE = Path(__file__).parent
EXACT = (HERE / "exact_expressions.txt").read_text().splitlines()

# Sums in another order, and functions from another library.
CLOSE = (HERE / "close_expressions.txt").read_text().splitlines()


@pytest.fixture(scope="module")
def theirs(oracle: Oracle) -> dict[str, Any]:
    expressions = EXACT + CLOSE
    return dict(zip(expressions, oracle.evaluate(*((source, NAMES) for source in expressions)), strict=True))


@pytest.mark.parametrize("source", EXACT)
def test_results_are_identical(theirs: dict[str, Any], source: str) -> None:
    ours = evaluate(penstock.tf, source, NAMES)
    assert same(ours, theirs[source]), f"{ours}\n{theirs[source]}"


@pytest.mark.parametrize("source", CLOSE)
def test_results_agree_up_to_rounding(theirs: dict[str, Any], source: str) -> None:
    ours = evaluate(penstock.tf, source, NAMES)
    assert theirs[source] is not REFUSED
    assert same(ours, theirs[source], tolerance=1e-5), f"{ours}\n{theirs[source]}"


# Operations whose result has a size given by an argument; N is replaced by a size of more than 2**48 bytes.
LARGE = [
    "tf.fill([N], 1.0)",
    "tf.zeros([N])",
    "tf.ones([2, N])",
    "tf.tile([1], [N])",
    "tf.range(N)",
    "tf.range(0, -N, -1)",
    "tf.range(0.0, float(N))",
    "tf.pad([1], [[0, N]])",
    "tf.broadcast_to([1], [3, N])",
    "tf.sequence_mask([1], N)",
    "tf.sequence_mask([N])",
    "tf.random.uniform([N])",
    "tf.random.normal([N, 2])",
    "tf.sparse.to_dense(tf.SparseTensor([[0]], [1], [N]))",
    "tf.ragged.constant([[1]]).to_tensor(shape=[1, N])",
]

# Sizes of images are int32.
LARGE_IMAGES = [
    *(f"tf.image.resize(img, [N, N], {method!r})" for method in ("bilinear", "nearest", "area", "bicubic", "lanczos3")),
    *(f"tf.compat.v1.image.resize_images(img, [N, N], {method})" for method in range(4)),
    "tf.image.pad_to_bounding_box(img, 0, 0, N, N)",
    "tf.image.resize_with_crop_or_pad(img, N, N)",
]


@given(
    st.one_of(
        st.tuples(st.sampled_from(LARGE), st.integers(2**46, 2**61)),
        st.tuples(st.sampled_from(LARGE_IMAGES), st.integers(2**24, 2**30)),
    ),
)
def test_sizes_beyond_the_memory_raise(oracle: Oracle, case: tuple[str, int]) -> None:
    source, size = case
    source = source.replace("N", str(size))
    (theirs,) = oracle.evaluate((source, NAMES))
    assert theirs == REFUSED
    assert evaluate(penstock.tf, source, NAMES) == REFUSED
