"""Random values compared with TensorFlow's: with a seed, the same in the same order, eagerly and in pipelines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle
from tf.expressions import REFUSED, evaluate, same

import penstock.tf

UNTRACED = penstock.tf.data.Options()
UNTRACED.tracing = False

SOURCE = "tf.data.Dataset.range(5)"

NAMES: dict[str, Any] = {
    "image": np.arange(60, dtype=np.uint8).reshape(4, 5, 3),
    "images": np.arange(240, dtype=np.float32).reshape(4, 4, 5, 3) / 250,
    "rows": np.arange(18).reshape(9, 2),
}

seeds = st.one_of(st.integers(0, 5), st.integers(0, 2**40))
shapes = st.lists(st.integers(0, 5), max_size=3)


@st.composite
def calls(draw: st.DrawFn, *, seeded: bool = True) -> str:
    """Draw an operation; without a seed it depends on the global one."""
    shape = draw(shapes)
    seed = f", seed={draw(seeds)}" if seeded or draw(st.booleans()) else ""
    floats = st.sampled_from(["float16", "bfloat16", "float32", "float64"])
    low = draw(st.integers(-(2**31), 2**31 - 2))
    high = draw(st.integers(low + 1, 2**31 - 1))
    return draw(
        st.sampled_from(
            [
                f"tf.random.uniform({shape}{seed})",
                f"tf.random.uniform({shape}, -2, 7, tf.{draw(floats)}{seed})",
                f"tf.random.uniform({shape}, {low}, {high}, tf.{draw(st.sampled_from(['int32', 'int64']))}{seed})",
                f"tf.random.normal({shape}, 1.0, 2.5, tf.{draw(floats)}{seed})",
                f"tf.random.shuffle(tf.range({draw(st.integers(0, 12))}){seed})",
                f"tf.random.shuffle(rows{seed})",
                f"tf.image.random_flip_left_right(image{seed})",
                f"tf.image.random_flip_up_down(images{seed})",
                f"tf.image.random_brightness(images, 0.3{seed})",
                f"tf.image.random_contrast(images, 0.3, 0.9{seed})",
                f"tf.image.random_crop(image, [2, 3, 3]{seed})",
            ]
        )
    )


@st.composite
def functions(draw: st.DrawFn) -> tuple[int | None, str]:
    """Draw a global seed or None, and the text of a function that draws several values."""
    overall = draw(st.one_of(st.none(), seeds))
    several = draw(st.lists(calls(seeded=overall is None), min_size=1, max_size=3))
    return overall, f"lambda x: ({', '.join(several)}, x)"


def with_seed(overall: int | None, source: str) -> str:
    return f"(tf.random.set_seed({overall}), {source}, tf.random.set_seed(None))[1]"


def untraced(source: str) -> Any:
    return evaluate(
        penstock.tf, source.replace(SOURCE, f"{SOURCE}.with_options(untraced)"), {**NAMES, "untraced": UNTRACED}
    )


def assert_same_values(oracle: Oracle, source: str) -> None:
    (theirs,) = oracle.evaluate((source, NAMES))
    assert theirs != REFUSED
    # Sines and logarithms come from another library.
    tolerance = 2e-2 if "bfloat16" in source else 2e-3 if "float16" in source else 1e-5
    exact = not any(word in source for word in ("normal", "contrast"))
    for ours in (evaluate(penstock.tf, source, NAMES), untraced(source)):
        assert same(ours, theirs, tolerance=0.0 if exact else tolerance), f"{source}\n{ours}\n{theirs}"


@given(functions())
def test_every_element_draws_its_own_values(oracle: Oracle, case: tuple[int | None, str]) -> None:
    overall, function = case
    assert_same_values(oracle, with_seed(overall, f"list({SOURCE}.map({function}))"))


@given(functions(), st.integers(1, 4))
def test_iterators_restart_and_repetitions_continue(oracle: Oracle, case: tuple[int | None, str], size: int) -> None:
    overall, function = case
    iterations = f"(lambda ds: [list(ds), list(ds)])({SOURCE}.map({function}).repeat(3).take({size * 4}))"
    assert_same_values(oracle, with_seed(overall, iterations))


@given(st.lists(calls(), min_size=1, max_size=3), st.one_of(st.none(), seeds))
def test_eager_calls_continue_until_the_seed_is_set(oracle: Oracle, several: list[str], overall: int | None) -> None:
    eager = f"[{', '.join(several * 3)}]"
    assert_same_values(oracle, f"[{with_seed(overall, eager)}, {with_seed(overall, eager)}]")


@given(st.lists(calls(seeded=False), min_size=1, max_size=3), seeds)
def test_eager_calls_depend_on_the_global_seed(oracle: Oracle, several: list[str], overall: int) -> None:
    assert_same_values(oracle, with_seed(overall, f"[{', '.join(several * 2)}]"))


DRAW = "tf.random.uniform([], seed=7)"


@pytest.mark.parametrize(
    "pipeline",
    [
        f"{SOURCE}.filter(lambda x: {DRAW} > 0.5)",
        f"{SOURCE}.take_while(lambda x: {DRAW} < 0.7)",
        f"{SOURCE}.scan(np.float32(0), lambda state, x: (state + {DRAW}, state))",
        f"[{SOURCE}.reduce(np.float32(0), lambda state, x: state + {DRAW})]",
        f"{SOURCE}.flat_map(lambda x: tf.data.Dataset.range(3).map(lambda y: {DRAW}))",
        f"{SOURCE}.flat_map(lambda x: tf.data.Dataset.from_tensors({DRAW}).repeat(2))",
        f"{SOURCE}.interleave(lambda x: tf.data.Dataset.from_tensors({DRAW}), cycle_length=2)",
        f"{SOURCE}.map(lambda x: {DRAW}).map(lambda x: x + {DRAW})",
        f"{SOURCE}.map(lambda x: {DRAW}).batch(2).prefetch(1).repeat(2)",
        f"{SOURCE}.group_by_window(lambda x: tf.cast({DRAW} * 2, tf.int64), lambda key, ds: ds.batch(3), 3)",
        f"{SOURCE}.map(lambda x: tf.cond(x > 2, lambda: {DRAW}, lambda: -1.0))",
        f"(lambda ds: (tf.random.set_seed(3), list(ds), tf.random.set_seed(None))[1])({SOURCE}.map(lambda x: {DRAW}))",
    ],
)
def test_functions_of_all_kinds_continue_from_element_to_element(oracle: Oracle, pipeline: str) -> None:
    assert_same_values(oracle, f"(lambda ds: [list(ds), list(ds)])({pipeline})")
