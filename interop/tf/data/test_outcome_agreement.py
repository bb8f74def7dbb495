"""Errors of functions, iterators in functions and the end of datasets agree with TensorFlow's, traced or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle
from tf.expressions import REFUSED, evaluate, same

import penstock as ps
import penstock.tf as tf

# ``f`` is the function that may fail.
TRANSFORMATIONS = (
    ".map(lambda x: f(x))",
    ".filter(lambda x: f(x) >= 0)",
    ".take_while(lambda x: f(x) >= 0)",
    ".scan(np.int64(0), lambda s, x: (s + f(x), s))",
    ".flat_map(lambda x: tf.data.Dataset.from_tensors(f(x)).repeat(2))",
    ".interleave(lambda x: tf.data.Dataset.from_tensors(f(x)).repeat(2), cycle_length=2)",
    ".group_by_window(lambda x: f(x) % 2, lambda key, window: window, 2)",
)
AFTER = ("", ".ignore_errors()", ".cache()", ".repeat(2)", ".shuffle(2, seed=1)", ".map(lambda x: x + 1)", ".take(3)")
ERRORS = (
    *("StopIteration", "ValueError", "TypeError", "MemoryError", "NotImplementedError", "OSError", "RuntimeError"),
    *("KeyError", "AttributeError", "ZeroDivisionError", "UnicodeError", "AssertionError"),
)


def check(oracle: Oracle, source: str) -> None:
    """Compare the results of an expression, whose datasets start with ``numbers(count)``."""
    untraced = tf.data.Options()
    untraced.tracing = False
    (theirs,) = oracle.evaluate((f"(lambda numbers: {source})(tf.data.Dataset.range)", {}))
    assert theirs != REFUSED, source
    for options in (tf.data.Options(), untraced):
        start = "lambda *bounds: tf.data.Dataset.range(*bounds).with_options(options)"
        ours = evaluate(tf, f"(lambda numbers: {source})({start})", {"options": options})
        assert same(ours, theirs), f"{source}\n{ours}\n{theirs}"


@given(
    st.sampled_from(TRANSFORMATIONS),
    st.sampled_from(AFTER),
    st.sampled_from(ERRORS),
    st.sampled_from(("py_function", "numpy_function")),
    st.integers(0, 5),
)
def test_errors_of_python_functions_agree(oracle: Oracle, step: str, after: str, error: str, name: str, bad: int):
    function = f"lambda x: tf.{name}(raising({error}, {bad}), [x], tf.int64)"
    check(oracle, f"(lambda f: outcomes(numbers(5){step}{after}))({function})")


@pytest.mark.parametrize("error", ERRORS)
def test_python_errors_are_converted_to_the_same_types(oracle: Oracle, error: str):
    check(oracle, f"outcomes(numbers(3).map(lambda x: tf.py_function(raising({error}, 1), [x], tf.int64)))")
    check(oracle, f"outcomes(numbers(3).map(lambda x: tf.numpy_function(raising({error}, 1), [x], tf.int64)))")


@given(st.sampled_from(TRANSFORMATIONS), st.sampled_from(AFTER), st.integers(0, 12))
def test_an_iterator_in_a_function_is_read_for_each_element(oracle: Oracle, step: str, after: str, count: int):
    built = f"(lambda it, f: outcomes(numbers(4){step}{after}) + outcomes(numbers(2).map(f)))"
    check(oracle, f"(lambda it: {built}(it, lambda x: x * 100 + next(it)))(iter(numbers(10, 10 + {count})))")
    check(oracle, f"(lambda it: {built}(it, lambda x: x + it.get_next()))(iter(numbers(10, 10 + {count})))")


@pytest.mark.parametrize(
    "source",
    [
        "(lambda it: outcomes(numbers(3).map(lambda x: (next(it), next(it)))))(iter(numbers(9)))",
        "(lambda it: outcomes(numbers(4).map(lambda x: tf.cond(x > 1, it.get_next, lambda: x))))(iter(numbers(9)))",
        "(lambda it: outcomes(numbers(3).map(lambda x: next(it)['a'])))(iter(numbers(9).map(lambda x: {'a': x})))",
        "(lambda it: repr(numbers(3).map(lambda x: next(it)).element_spec))(iter(numbers(9).batch(2)))",
        "(lambda it: numbers(3).reduce(np.int64(0), lambda s, x: s + next(it)))(iter(numbers(9)))",
        "(lambda it: [int(next(it)), outcomes(numbers(3).map(lambda x: next(it))), int(next(it))])(iter(numbers(9)))",
        "(lambda it: outcomes(numbers(4).map(lambda x: next(it)).shuffle(4, seed=1)))(iter(numbers(9)))",
    ],
)
def test_iterators_in_functions_agree(oracle: Oracle, source: str):
    check(oracle, source)


GENERATED = ("1", "'x'", "None", "(1, 2)", "[1, 2]", "2", "np.int64(3)", "{'a': 1}")


@given(st.lists(st.sampled_from(GENERATED), max_size=6), st.sampled_from(("", ".ignore_errors()")))
def test_a_generator_continues_after_an_element_that_does_not_match(oracle: Oracle, values: list[str], after: str):
    given = f"lambda: iter([{', '.join(values)}])"
    check(oracle, f"outcomes(tf.data.Dataset.from_generator({given}, tf.int64, []){after})")


@given(st.lists(st.booleans(), max_size=6), st.sampled_from(ERRORS), st.sampled_from(("", ".ignore_errors()")))
def test_a_python_iterator_continues_after_it_has_raised(oracle: Oracle, bad: list[bool], error: str, after: str):
    if error == "StopIteration":
        error = "RuntimeError"
    given = f"lambda: map(lambda bad: raising({error}, 1)(bad), {[int(one) for one in bad]})"
    check(oracle, f"outcomes(tf.data.Dataset.from_generator({given}, tf.int64, []){after})")


WEIGHTS = st.sampled_from((0.0, 0.25, 1.0, 2.0))


@given(st.lists(st.tuples(st.integers(0, 3), WEIGHTS), min_size=1, max_size=3), st.booleans())
def test_datasets_with_weight_zero_do_not_block_the_end(oracle: Oracle, parts: list[Any], stop: bool):
    drawn = [count for count, weight in parts if weight]
    if stop and len(drawn) > 1:
        return  # the end depends on random choices
    # Those that are never chosen are infinite.
    made = ", ".join(f"numbers({count})" if weight else "numbers(3).repeat()" for count, weight in parts)
    weights = [weight for _, weight in parts]
    sampled = f"tf.data.Dataset.sample_from_datasets([{made}], {weights}, stop_on_empty_dataset={stop})"
    check(oracle, f"sorted(map(int, {sampled}))")
    check(oracle, f"int({sampled}.cardinality()) if {len(drawn)} < 2 else None")


@given(st.lists(st.integers(0, 3), min_size=1, max_size=3), st.lists(st.integers(-1, 3), max_size=9), st.booleans())
def test_choices_of_finite_datasets_agree(oracle: Oracle, counts: list[int], choices: list[int], stop: bool):
    made = ", ".join(f"numbers({10 * place}, {10 * place + count})" for place, count in enumerate(counts))
    chosen = f"tf.data.Dataset.from_tensor_slices(np.array({choices}, np.int64))"
    check(oracle, f"outcomes(tf.data.Dataset.choose_from_datasets([{made}], {chosen}, {stop}))")


# An incomplete cache shuffles again, with a seed in the same order on both sides. Each cache has its own file.
@pytest.mark.parametrize("name", ["", "__import__('tempfile').mkdtemp() + '/cache'"])
@given(
    st.sampled_from(("", ".filter(lambda x: x >= 0)", ".map(lambda x: x + 1)")),
    st.sampled_from(("ds.take({})", "ds.batch(2).take({})", "tf.data.Dataset.zip(numbers({}), ds)", "ds.skip({})")),
    st.integers(1, 8),
    st.integers(0, 9),
)
def test_a_cache_is_complete_at_the_same_element(oracle: Oracle, name: str, step: str, use: str, count: int, some: int):
    used = f"list({use.format(some)})"
    cached = f"numbers({count}).shuffle({count}, seed=1){step}.cache({name})"
    check(oracle, f"(lambda ds: [{used}, {used}, list(ds), list(ds)])({cached})")


def test_a_written_dataset_contains_tensorflows_elements(oracle: Oracle, tmp_path: Path):
    source = "numbers(5).map(lambda x: {'x': x, 'pair': (tf.range(x), tf.strings.as_string(x))})"
    (theirs,) = oracle.evaluate((f"(lambda numbers: list({source}))(tf.data.Dataset.range)", {}))
    ps.write(tmp_path / "data", eval(f"(lambda numbers: {source})(tf.data.Dataset.range)"))
    for row, element in zip(ps.Dataset(tmp_path / "data"), theirs, strict=True):
        ragged, text = element["pair"]
        assert row["x"] == element["x"][-1]
        assert np.array_equal(row["pair/0"], ragged[-1])
        assert row["pair/1"] == text[-1]
