"""Ordinary operations on ragged tensors; ``interop/tf`` compares many more of them with TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest

import penstock.tf as tf

RAGGED = tf.ragged.constant([[3, 1, 4], [], [5, 9]])
DEEP = tf.ragged.constant([[[1, 2], []], [[3]], []])


def test_an_operation_on_each_element_keeps_the_rows() -> None:
    assert (RAGGED * 2 - 1).to_list() == [[5, 1, 7], [], [9, 17]]
    assert tf.cast(RAGGED > 3, tf.int32).to_list() == [[0, 0, 1], [], [1, 1]]
    assert tf.strings.upper(tf.ragged.constant([["a"], ["b", "c"]])).to_list() == [[b"A"], [b"B", b"C"]]


def test_a_dense_tensor_broadcasts_to_rows() -> None:
    assert (RAGGED + tf.constant([[10], [20], [30]])).to_list() == [[13, 11, 14], [], [35, 39]]


@pytest.mark.parametrize("other", [tf.ragged.constant([[1], [2], [3]]), tf.zeros([2, 1], tf.int32)])
def test_tensors_with_different_rows_do_not_combine(other: object) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes"):
        RAGGED + other


@pytest.mark.parametrize(
    ("axis", "expected"),
    [(None, 22), (0, [8, 10, 4]), (1, [8, 0, 14]), (-1, [8, 0, 14]), ([0, 1], 22)],
)
def test_reductions_run_along_any_dimension(axis: object, expected: object) -> None:
    assert tf.reduce_sum(RAGGED, axis).numpy().tolist() == expected


def test_reductions_of_two_ragged_dimensions() -> None:
    assert tf.reduce_max(DEEP, 0).to_list() == [[3, 2], []]
    assert tf.reduce_sum(DEEP, 1).to_list() == [[1, 2], [3], []]
    assert tf.reduce_sum(DEEP, 2, keepdims=True).to_list() == [[[3], [0]], [[3]], []]
    np.testing.assert_array_equal(tf.reduce_mean(DEEP, [1, 2]).numpy(), [1.5, 3, np.nan])


def test_joining_needs_no_equal_sizes() -> None:
    assert tf.concat([RAGGED, [[7]] * 3], 1).to_list() == [[3, 1, 4, 7], [7], [5, 9, 7]]
    assert tf.concat([RAGGED, RAGGED[:1]], 0).to_list() == [[3, 1, 4], [], [5, 9], [3, 1, 4]]
    assert tf.stack([RAGGED[:2], RAGGED[1:]], 1).to_list() == [[[3, 1, 4], []], [[], [5, 9]]]


def test_rows_are_selected_by_index_and_mask() -> None:
    assert tf.gather(RAGGED, [2, 0, 2]).to_list() == [[5, 9], [3, 1, 4], [5, 9]]
    assert tf.gather([10, 20, 30], tf.ragged.constant([[2], [0, 1]])).to_list() == [[30], [10, 20]]
    assert tf.boolean_mask(RAGGED, RAGGED > 3).to_list() == [[4], [], [5, 9]]
    assert tf.boolean_mask(RAGGED, [False, True, True]).to_list() == [[], [5, 9]]


def test_a_traced_function_gives_the_same_results_as_eager_calls() -> None:
    words = tf.constant(["a bc", "", "d"])

    def lengths(text: object) -> object:
        parts = tf.strings.split([text, text])
        return tf.reduce_sum(tf.strings.length(parts) + 1, axis=1), tf.concat([parts, parts], 1)

    for element, text in zip(tf.data.Dataset.from_tensor_slices(words).map(lengths), words, strict=True):
        sums, joined = lengths(text)  # type: ignore[misc]
        assert element[0].numpy().tolist() == sums.numpy().tolist()
        assert element[1].to_list() == joined.to_list()
