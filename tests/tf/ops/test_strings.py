"""Operations on strings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tf_examples import assert_operation

import penstock.tf as tf

CASES: list[tuple[Callable[..., Any], list[Any], Any]] = [
    (lambda x: tf.strings.length(x), [["ab", ""]], [2, 0]),
    (lambda x: tf.strings.length(x, unit="UTF8_CHAR"), [["\u00e9a", ""]], [2, 0]),
    (lambda x: tf.strings.lower(x), [["Ab", ""]], ["ab", ""]),
    (lambda x: tf.strings.upper(x, encoding="utf-8"), [["\u00e9"]], ["\u00c9"]),
    (lambda x: tf.strings.strip(x), [[" a ", "b\n"]], ["a", "b"]),
    (lambda x: tf.strings.join([x, "!"], separator=" "), [["a", "b"]], ["a !", "b !"]),
    (lambda x: tf.strings.reduce_join(x, axis=0, separator=","), [["a", "b"]], "a,b"),
    (lambda x: tf.strings.split(x), ["a  b"], ["a", "b"]),
    (lambda x: tf.strings.to_number(x, tf.int64), [["1", "-2"]], np.array([1, -2])),
    (lambda x: tf.strings.regex_replace(x, "a(.)", r"\1\1"), [["ab", "c"]], ["bb", "c"]),
    (lambda x: tf.strings.regex_full_match(x, "a.*"), [["ab", "ba"]], [True, False]),
    (lambda x: tf.strings.substr(x, 1, 2), [["abcd", "efgh"]], ["bc", "fg"]),
    (lambda x: tf.strings.as_string(x, precision=2), [[1.5, -2.0]], ["1.50", "-2.00"]),
]


@pytest.mark.parametrize(("function", "args", "expected"), CASES)
def test_values_are_those_of_tensorflow(function: Callable[..., Any], args: list[Any], expected: Any):
    assert_operation(function, args, tf.constant(expected))


def test_strings_of_any_rank_are_split_into_bytes():
    assert tf.strings.bytes_split("ab").numpy().tolist() == [b"a", b"b"]
    split = tf.strings.bytes_split([["ab", ""], ["c", "d"]])
    assert split.to_list() == [[[b"a", b"b"], []], [[b"c"], [b"d"]]]
    assert split.shape.as_list() == [2, 2, None]


def test_as_string_formats_complex_numbers_and_pads_strings():
    assert tf.strings.as_string(tf.constant([1.5 - 2j]), precision=1).numpy().tolist() == [b"(1.5,-2.0)"]
    assert tf.strings.as_string("ab", width=4).numpy() == b"  ab"
    for options in ({"fill": "ab"}, {"precision": 1}, {"scientific": True}):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.strings.as_string([1], **options)


def test_substr_takes_positions_and_lengths_of_one_shape():
    with pytest.raises(tf.errors.InvalidArgumentError, match="same shape"):
        tf.strings.substr(b"abc", [0, 1], 1)
    with pytest.raises(tf.errors.UnimplementedError, match="2 dimensions"):
        tf.strings.substr([[["abc"]]], [0, 1], [1, 1])
