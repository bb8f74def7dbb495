"""Each operation beside TensorFlow's: the same values, dtypes and shapes, or refused by both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
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

# Sums in another order, and functions of another library.
CLOSE = (HERE / "close_expressions.txt").read_text().splitlines()


@pytest.fixture(scope="module")
def theirs(oracle: Oracle) -> dict[str, Any]:
    expressions = EXACT + CLOSE
    return dict(zip(expressions, oracle.evaluate(*((source, NAMES) for source in expressions)), strict=True))


@pytest.mark.parametrize("source", EXACT)
def test_the_same_to_the_bit(theirs: dict[str, Any], source: str) -> None:
    ours = evaluate(penstock.tf, source, NAMES)
    assert same(ours, theirs[source]), f"{ours}\n{theirs[source]}"


@pytest.mark.parametrize("source", CLOSE)
def test_the_same_but_for_rounding(theirs: dict[str, Any], source: str) -> None:
    ours = evaluate(penstock.tf, source, NAMES)
    assert theirs[source] is not REFUSED
    assert same(ours, theirs[source], tolerance=1e-5), f"{ours}\n{theirs[source]}"
